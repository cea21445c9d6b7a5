// Durable operations, as values. A decision answers with a list of them; a store carries out a list in one transaction
// or not at all. Each that changes a row names the version it saw: if somebody else was first, the transaction is a
// conflict and nothing happened.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "orbit/domain/records.hpp"

namespace orbit {

struct AddProject {
  Project project;
};
struct UpdateProject {  // description, source, entry, params, environment, key_files; project.version is the one seen
  Project project;
};
struct AddExperiment {
  Experiment experiment;
};
struct ConcludeExperiment {  // conclusion, concluded_at; experiment.version is the one seen
  Experiment experiment;
};
struct AddRun {  // run.seq is given by the writer
  Run run;
};
struct AddAttempt {  // attempt.seq is given by the writer
  Attempt attempt;
  ExecutionRequest request;  // of its run, for the world in memory; stored with the run, not here
  Digest bundle;             // likewise
};
// The whole record after the change; `seen_version` and `seen_state` are what it is based on. The new record has
// version seen_version + 1. Refused when seen_state is final (write-once).
struct UpdateAttempt {
  Attempt attempt;
  std::int64_t seen_version = 0;
  AttemptState seen_state = AttemptState::submitted;
};
struct AddCheckpoint {  // idempotent by (attempt, path)
  Checkpoint checkpoint;
};
// Points parsed from bytes [from_offset, to_offset) of the attempt's metrics file; refused unless from_offset is where
// the last one ended.
struct AddMetrics {
  AttemptId attempt;
  std::int64_t from_offset = 0;
  std::int64_t to_offset = 0;
  std::vector<MetricPoint> points;
};
struct AddIntent {  // idempotent by key
  Intent intent;
};
struct RetryIntent {  // tries, not_before
  Intent intent;
};
struct FinishIntent {
  std::string key;
};
struct SetTimer {  // insert or replace by key
  Timer timer;
};
struct DropTimer {
  std::string key;
};
struct AddToken {
  Token token;
};
struct RevokeToken {
  TokenId id;
  WallTime at;
};

using Change = std::variant<AddProject, UpdateProject, AddExperiment, ConcludeExperiment, AddRun, AddAttempt,
                            UpdateAttempt, AddCheckpoint, AddMetrics, AddIntent, RetryIntent, FinishIntent, SetTimer,
                            DropTimer, AddToken, RevokeToken>;

// The answer of a decision.
struct Effects {
  std::vector<Change> changes;
  std::vector<Event> events;  // seq 0: the writer numbers them

  bool empty() const { return changes.empty() && events.empty(); }
  void append(Effects other) {
    for (auto& change : other.changes) changes.push_back(std::move(change));
    for (auto& event : other.events) events.push_back(std::move(event));
  }
};

}  // namespace orbit
