// The life of one execution as a step machine: what the runner does next, given what it has done and what it sees.
// Pure: no clock, no I/O, no locks. runner/ drives it with real processes, the simulator with imagined ones. The full
// phase × input matrix is tests/golden/runner_machine.txt.
//
//   idle ─► prechecking ─► launching ─► running ─► leftovers ─► collecting ─► recording ─► finished
//     │         │              │           │  ▲         ▲           ▲
//     │         └── failed ────┴── failed ─┼──┼─────────┼───────────┤
//     │                                 stopping ───────┘           │
//     └─► finding (adopted: what became of the workload of the runner before?) ─► running, stopping, launching,
//     leftovers
#pragma once

#include <boost/describe/enum.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "orbit/domain/runtime_files.hpp"

namespace orbit::decide {

enum class RunnerPhase {
  idle,
  prechecking,
  launching,
  finding,  // adopted between launch and end: looking for the workload
  running,
  stopping,   // SIGTERM was sent; SIGKILL follows when the grace is over
  leftovers,  // the entry ended; what it left behind is ended
  collecting,
  recording,  // result.json is being written, until it is
  finished,
};
BOOST_DESCRIBE_ENUM(RunnerPhase, idle, prechecking, launching, finding, running, stopping, leftovers, collecting,
                    recording, finished)

struct RunnerState {
  RunnerPhase phase = RunnerPhase::idle;
  AttemptId attempt;
  std::int64_t epoch = 0;
  bool stop_requested = false;
  bool timed_out = false;
  bool workload_started = false;
  std::optional<ProcessIdentity> process;
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;
  std::optional<Reason> failed_check;
  std::string detail;
  std::optional<WallTime> started_at;
  std::optional<WallTime> ended_at;
  bool grace_running = false;
  std::int32_t leftovers = 0;          // the most seen at once after the entry's end
  bool killed = false;                 // SIGKILL went to everybody
  std::set<std::string> checkpoints;   // announced: each only once
  std::optional<RunnerResult> result;  // from recording on
};

namespace runner_input {

// The first input: the journal as found. Empty: a fresh start.
struct Begin {
  AttemptId attempt;
  std::int64_t epoch = 0;
  std::vector<JournalRecord> journal;
  ProcessIdentity runner;
};
struct Prechecked {
  std::optional<Reason> failed;  // the first failure decides
  std::string detail;
};
struct Launched {
  ProcessIdentity process;
};
struct LaunchFailed {
  std::string detail;
};
// What could be proven about the workload of an earlier runner.
enum class Fate {
  never_started,  // for certain: it may be started
  start_failed,   // its exec failed
  running,
  ended,    // exit_code or signal
  unknown,  // gone, or never there: cannot be known
};
BOOST_DESCRIBE_ENUM(Fate, never_started, start_failed, running, ended, unknown)
struct Found {
  Fate fate = Fate::unknown;
  std::optional<ProcessIdentity> process;
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;
  std::string detail;
};
struct StopSeen {
  std::string by;
};
struct TimeLimitReached {};
struct GraceOver {};
// Neither exit code nor signal: it is gone and how cannot be known.
struct WorkloadEnded {
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;
};
// Processes of the workload other than the entry that are still there.
struct LeftoversCounted {
  std::int32_t count = 0;
};
struct CheckpointComplete {
  CheckpointRecord checkpoint;
};
struct Collected {
  std::vector<std::string> missing_outputs;
  std::optional<std::string> collect_error;
  std::int64_t artifact_count = 0;
  Digest artifacts;
  std::map<std::string, std::int64_t> log_sizes_bytes;
  bool host_oom = false;
  bool disk_full = false;
  std::map<std::string, std::string> environment = {};
};
struct ResultWritten {};

}  // namespace runner_input

using RunnerInput =
    std::variant<runner_input::Begin, runner_input::Prechecked, runner_input::Launched, runner_input::LaunchFailed,
                 runner_input::Found, runner_input::StopSeen, runner_input::TimeLimitReached, runner_input::GraceOver,
                 runner_input::WorkloadEnded, runner_input::LeftoversCounted, runner_input::CheckpointComplete,
                 runner_input::Collected, runner_input::ResultWritten>;

namespace runner_action {

// seq is given by the journal. `sync`: durable, with everything before it, before any action after it is carried out.
struct Append {
  JournalRecord record;
  bool sync = false;
};
struct RunPrechecks {};  // answer: Prechecked
struct Launch {};        // answer: Launched or LaunchFailed
struct Find {};          // answer: Found
struct Watch {           // answer, some day: WorkloadEnded; its time limit is counted from its start: TimeLimitReached
  ProcessIdentity process;
};
struct SignalAll {
  std::int32_t signal = 0;
};
struct StartGrace {};      // answer: GraceOver, unless cancelled
struct CancelTimers {};    // grace and time limit
struct KillAll {};         // SIGKILL until nobody is left or nothing more can be done
struct CountLeftovers {};  // answer: LeftoversCounted, now and each time one of them has ended, until 0
struct Collect {};         // answer: CheckpointComplete for each found last, then Collected
struct WriteResult {       // after the whole journal is durable; retried until it is written; answer: ResultWritten
  RunnerResult result;
};
struct Finish {};

}  // namespace runner_action

using RunnerAction =
    std::variant<runner_action::Append, runner_action::RunPrechecks, runner_action::Launch, runner_action::Find,
                 runner_action::Watch, runner_action::SignalAll, runner_action::StartGrace, runner_action::CancelTimers,
                 runner_action::KillAll, runner_action::CountLeftovers, runner_action::Collect,
                 runner_action::WriteResult, runner_action::Finish>;

// Changes the state and says what to do, in this order. An input that means nothing in the present phase (a late timer,
// a stop order after the end) changes nothing.
std::vector<RunnerAction> step(RunnerState& state, const RunnerInput& input, WallTime now);

}  // namespace orbit::decide
