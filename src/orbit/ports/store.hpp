// The record of everything: one writer commits batches, readers have connections of their own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/domain/change.hpp"
#include "orbit/domain/records.hpp"

namespace orbit {

struct Batch {
  BatchId id;  // its row tells afterwards whether a commit whose answer was lost took place
  std::int64_t leader_epoch = 0;
  std::vector<Change> changes;
  std::vector<Event> events;  // numbered
};

// Everything that lives: read once at start.
struct LiveState {
  std::int64_t last_event_seq = 0;
  std::int64_t last_run_seq = 0;
  std::int64_t last_attempt_seq = 0;
  std::vector<Attempt> attempts;               // not final, or with an intent still open
  std::map<RunId, ExecutionRequest> requests;  // of those attempts' runs
  std::map<RunId, Digest> bundles;
  std::vector<Intent> intents;
  std::vector<Timer> timers;
};

struct Page {
  std::int64_t before_seq = 0;  // 0: from the newest
  std::int32_t limit = 100;
};

struct RunFilter {
  std::optional<std::string> project;
  std::optional<std::string> experiment;
  std::optional<std::string> tag;
  std::optional<AttemptState> state;  // of the latest attempt
  std::optional<std::string> created_by;
};

// A run as lists show it: the frozen record and the attempts so far, oldest first.
struct RunView {
  Run run;
  std::vector<Attempt> attempts;
};

class StoreReader {
 public:
  virtual ~StoreReader() = default;

  virtual Result<std::optional<Project>> project(const std::string& name) = 0;
  virtual Result<std::vector<Project>> projects() = 0;
  virtual Result<std::optional<Experiment>> experiment(const std::string& project, const std::string& name) = 0;
  virtual Result<std::vector<Experiment>> experiments(const std::optional<std::string>& project) = 0;

  virtual Result<std::optional<RunView>> run(const RunId& id) = 0;
  // All runs of that name; names are unique only within a project.
  virtual Result<std::vector<RunId>> runs_named(const std::string& name, const std::optional<std::string>& project) = 0;
  virtual Result<std::vector<RunView>> runs(const RunFilter& filter, Page page) = 0;  // newest first
  virtual Result<std::optional<Attempt>> attempt(const AttemptId& id) = 0;
  virtual Result<std::vector<CheckpointRecord>> checkpoints(const AttemptId& attempt) = 0;  // by time announced

  // Points of one attempt by (name, step); empty name: all.
  virtual Result<std::vector<MetricPoint>> metrics(const AttemptId& attempt, const std::string& name) = 0;
  virtual Result<std::int64_t> metrics_offset(const AttemptId& attempt) = 0;

  // Events with seq > after_seq, oldest first; filtered by run when given.
  virtual Result<std::vector<Event>> events(std::int64_t after_seq, std::int32_t limit, const RunId& run) = 0;

  virtual Result<std::optional<Token>> token_by_secret(const Digest& secret) = 0;
  virtual Result<std::vector<Token>> tokens() = 0;
  virtual Result<std::map<std::string, std::int64_t>> attempt_counts_by_state() = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  // Takes leadership: epoch = max(stored + 1, unix time); every later commit of an older epoch is refused. Returns the
  // epoch.
  virtual Result<std::int64_t> take_leadership(WallTime now) = 0;
  virtual Result<LiveState> load_live() = 0;

  // All or nothing, durable when it answers. Errors: `conflict` (a compare-and-set lost, a name is taken, a final state
  // would change, the epoch is outdated: the message says which), `exhausted` (disk full), `unavailable` (the outcome
  // may be unknown: ask committed()).
  virtual Result<void> commit(const Batch& batch) = 0;
  virtual Result<bool> committed(const BatchId& id) = 0;

  // A connection for one thread at a time.
  virtual Result<std::unique_ptr<StoreReader>> reader() = 0;
};

}  // namespace orbit
