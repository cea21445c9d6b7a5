// What is recorded: projects, experiments, runs (frozen), attempts (with a life), events, intents, timers, tokens.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/digest.hpp"
#include "orbit/base/json.hpp"
#include "orbit/base/time.hpp"
#include "orbit/domain/attempt_state.hpp"
#include "orbit/domain/bundle_spec.hpp"
#include "orbit/domain/execution.hpp"
#include "orbit/domain/ids.hpp"
#include "orbit/domain/runtime_files.hpp"

namespace orbit {

struct Project {
  std::string name;
  std::string description;
  std::optional<std::string> source;              // folder or repository URL
  std::optional<std::string> entry;               // default entry, below the source
  std::map<std::string, std::string> params;      // default params, JSON source text
  std::optional<EnvironmentProfile> environment;  // used where the run declares none
  std::vector<std::string> key_files;             // patterns to fingerprint beside entry and lock files
  WallTime created_at;
  std::string created_by;
  std::int64_t version = 1;
};
BOOST_DESCRIBE_STRUCT(Project, (),
                      (name, description, source, entry, params, environment, key_files, created_at, created_by,
                       version))

struct Experiment {
  std::string project;
  std::string name;
  std::string variable;  // what is varied
  std::string hypothesis;
  std::optional<std::string> conclusion;
  WallTime created_at;
  std::string created_by;
  std::optional<WallTime> concluded_at;
  std::int64_t version = 1;
};
BOOST_DESCRIBE_STRUCT(Experiment, (),
                      (project, name, variable, hypothesis, conclusion, created_at, created_by, concluded_at, version))

// What was asked, as asked (R1): disjoint parts, all text, so that nothing is lost in reading.
struct Submission {
  std::string project;
  std::string task;
  std::optional<std::string> name;  // generated when absent
  std::optional<std::string> experiment;
  std::vector<std::string> tags;
  std::string template_id;
  std::map<std::string, std::string> params;     // key -> JSON source text, or bare text which the schema types
  std::map<std::string, std::string> resources;  // gpus, gpu_memory, cpus, memory, disk, time_limit -> as typed
  std::map<std::string, std::string> overrides;  // template key -> as typed
  std::map<std::string, std::string> inputs;     // dataset, output, model, … as the task type declares
  std::optional<std::string> entry;
  std::vector<std::string> command;  // task `command` only
  std::optional<EnvironmentProfile> environment;
  std::optional<std::string> resume_argument;  // flag by which the entry is told a checkpoint, e.g. --resume
};
BOOST_DESCRIBE_STRUCT(Submission, (),
                      (project, task, name, experiment, tags, template_id, params, resources, overrides, inputs, entry,
                       command, environment, resume_argument))

// A run: written once, refused any change by the store.
struct Run {
  RunId id;
  std::int64_t seq = 0;  // order of submission
  std::string project;
  std::string name;  // unique in its project
  std::optional<std::string> experiment;
  std::vector<std::string> tags;
  std::string task;
  Submission submission;
  Template resolved_from;  // snapshot of the template as it was
  Digest template_digest;
  ExecutionRequest request;
  Digest bundle;
  CodeRevision code;
  EnvironmentProfile environment;
  std::vector<DataFingerprint> data;
  WallTime created_at;
  std::string created_by;
};
BOOST_DESCRIBE_STRUCT(Run, (),
                      (id, seq, project, name, experiment, tags, task, submission, resolved_from, template_digest,
                       request, bundle, code, environment, data, created_at, created_by))

struct Attempt {
  AttemptId id;
  std::int64_t seq = 0;  // order of creation, given by the writer: the order of the queue
  RunId run;
  std::string project;
  std::int32_t number = 1;  // 1..n within the run
  AttemptState state = AttemptState::submitted;
  Reachability reachability = Reachability::live;
  ArchiveState archive = ArchiveState::none;
  Desired desired = Desired::run;
  std::string desired_by;
  std::optional<Reason> reason;  // final states only
  std::string detail;            // a sentence: why it ended, or what it waits for
  std::int64_t epoch = 1;        // fencing token of this attempt's copies; grows when a copy is superseded
  std::int64_t version = 1;      // grows with every change: compare-and-set
  PlacementKind placement = PlacementKind::local;
  LaunchMode launch = LaunchMode::host_process;
  std::string target;  // node, machine …; empty for local
  std::string handle;  // JSON text of the placement's own; empty until provisioned
  std::optional<ResumeFrom> resume;
  std::string created_by;
  WallTime created_at;
  std::optional<WallTime> started_at;  // of the workload
  std::optional<WallTime> ended_at;
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;
  std::int64_t journal_seq = 0;        // last journal record acted upon
  std::optional<RunnerResult> result;  // what the runner saw, once it said so
  Digest artifacts;                    // manifest (a blob), once collected
  std::int64_t artifact_count = 0;
  std::int64_t artifact_bytes = 0;
};
BOOST_DESCRIBE_STRUCT(Attempt, (),
                      (id, seq, run, project, number, state, reachability, archive, desired, desired_by, reason, detail,
                       epoch, version, placement, launch, target, handle, resume, created_by, created_at, started_at,
                       ended_at, exit_code, signal, journal_seq, result, artifacts, artifact_count, artifact_bytes))

struct Checkpoint {
  AttemptId attempt;
  CheckpointRecord record;
};
BOOST_DESCRIBE_STRUCT(Checkpoint, (), (attempt, record))

struct MetricPoint {
  std::string name;
  std::int64_t step = 0;
  double value = 0;
  WallTime at;
};
BOOST_DESCRIBE_STRUCT(MetricPoint, (), (name, step, value, at))

enum class EventKind {
  project_created,
  project_updated,
  experiment_created,
  experiment_concluded,
  run_submitted,
  attempt_created,
  attempt_state,         // from, to, reason, evidence
  attempt_reachability,  // from, to as text in evidence
  attempt_stop_requested,
  attempt_checkpoint,
  attempt_adopted,        // its runner was lost, another one goes on
  attempt_late_evidence,  // an outdated copy spoke; recorded, nothing changed
  token_created,
  token_revoked,
  server_started,
};
BOOST_DESCRIBE_ENUM(EventKind, project_created, project_updated, experiment_created, experiment_concluded,
                    run_submitted, attempt_created, attempt_state, attempt_reachability, attempt_stop_requested,
                    attempt_checkpoint, attempt_adopted, attempt_late_evidence, token_created, token_revoked,
                    server_started)

// The versioned feed: `seq` is given by the writer and never reused.
struct Event {
  std::int64_t seq = 0;
  WallTime at;
  EventKind kind = EventKind::attempt_state;
  std::string actor;  // token name, "orbit" for the reconciler, "runner" …
  std::optional<std::string> project;
  RunId run;
  AttemptId attempt;
  std::optional<AttemptState> from;
  std::optional<AttemptState> to;
  std::optional<Reason> reason;
  std::string evidence;  // a sentence or JSON text
};
BOOST_DESCRIBE_STRUCT(Event, (), (seq, at, kind, actor, project, run, attempt, from, to, reason, evidence))

// A side effect, written in the transaction that decided it, carried out at least once, idempotent by key.
enum class IntentKind {
  provision,  // make a place                       Placement::provision
  start,      // send bundle and order, start the runner; also starts a runner that adopts   Placement::start
  stop,       // ask for the end                    Placement::stop
  collect,    // logs to their end, manifest, verification
  release,    // give the place back                Placement::release
};
BOOST_DESCRIBE_ENUM(IntentKind, provision, start, stop, collect, release)

struct Intent {
  std::string key;  // "<attempt>/<kind>/<n>": the same decision made twice has the same key
  IntentKind kind = IntentKind::provision;
  AttemptId attempt;
  std::int64_t epoch = 0;  // of the attempt when decided
  std::int32_t tries = 0;  // failed ones so far
  WallTime not_before;     // back-off
  WallTime created_at;
};
BOOST_DESCRIBE_STRUCT(Intent, (), (key, kind, attempt, epoch, tries, not_before, created_at))

enum class TimerKind {
  start_deadline,  // a started runner has until then for its first word
  lost_deadline,   // a place that lost what its runner wrote has until then to show it again
};
BOOST_DESCRIBE_ENUM(TimerKind, start_deadline, lost_deadline)
// A due time as a row, not a sleeping thread. UTC on disk; counted on CLOCK_BOOTTIME once loaded.
struct Timer {
  std::string key;  // "<attempt>/<kind>"
  TimerKind kind = TimerKind::start_deadline;
  AttemptId attempt;
  WallTime due;
};
BOOST_DESCRIBE_STRUCT(Timer, (), (key, kind, attempt, due))

enum class Role { viewer, member, operator_, admin };  // each may do what those before may
BOOST_DESCRIBE_ENUM(Role, viewer, member, operator_, admin)
std::string_view role_name(Role role);  // "operator", not "operator_"
std::optional<Role> parse_role(std::string_view name);

struct Token {
  TokenId id;
  std::string name;  // who: recorded as actor
  Role role = Role::viewer;
  Digest secret;  // SHA-256 of the token's text; the text itself is shown once and kept nowhere
  WallTime created_at;
  std::string created_by;
  std::optional<WallTime> expires_at;
  std::optional<WallTime> revoked_at;
};
BOOST_DESCRIBE_STRUCT(Token, (), (id, name, role, secret, created_at, created_by, expires_at, revoked_at))

}  // namespace orbit

// clang-format off
#define ORBIT_RECORD_TYPES(X) \
  X(Project) X(Experiment) X(Submission) X(Run) X(Attempt) X(Checkpoint) X(MetricPoint) X(Event) X(Intent) \
  X(Timer) X(Token)
// clang-format on
namespace orbit::json {
ORBIT_RECORD_TYPES(ORBIT_JSON_EXTERN)
}  // namespace orbit::json
