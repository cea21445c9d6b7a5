#include "orbit/decide/runner_machine.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "orbit/base/text.hpp"

namespace orbit::decide {
namespace {

using namespace runner_input;
using namespace runner_action;

constexpr std::int32_t term = SIGTERM;
constexpr std::int32_t kill = SIGKILL;

class Step {
 public:
  Step(RunnerState& state, WallTime now) : s_(state), now_(now) {}

  std::vector<RunnerAction> take() { return std::move(actions_); }

  void on(const Begin& begin) {
    if (s_.phase != RunnerPhase::idle) return;
    s_.attempt = begin.attempt;
    s_.epoch = begin.epoch;
    JournalRecord started = record(JournalKind::runner_started);
    started.process = begin.runner;
    if (begin.journal.empty()) {
      append(std::move(started));
      precheck();
      return;
    }
    started.detail = "adopted";
    append(std::move(started));
    resume(replay(begin.journal));
  }

  void on(const Prechecked& checked) {
    if (s_.phase != RunnerPhase::prechecking) return;
    if (checked.failed) {
      fail_check(*checked.failed, checked.detail);
      return;
    }
    append(record(JournalKind::precheck_passed));
    if (s_.stop_requested)
      conclude_unstarted();
    else
      launch();
  }

  void on(const Launched& launched) {
    if (s_.phase != RunnerPhase::launching) return;
    started(launched.process);
    watch();
  }

  void on(const LaunchFailed& failed) {
    if (s_.phase != RunnerPhase::launching) return;
    fail_check(Reason::start_failed, failed.detail);
  }

  void on(const Found& found) {
    if (s_.phase != RunnerPhase::finding) return;
    switch (found.fate) {
      case Fate::never_started:
        if (s_.workload_started)  // the journal knows better
          ended({}, {});
        else if (s_.stop_requested)
          conclude_unstarted();
        else
          launch();
        return;
      case Fate::start_failed:
        if (s_.workload_started)
          ended({}, {});
        else
          fail_check(Reason::start_failed, found.detail);
        return;
      case Fate::running:
        if (!found.process) {
          ended({}, {});
          return;
        }
        if (!s_.workload_started) started(*found.process);
        s_.process = found.process;
        watch();
        return;
      case Fate::ended:
        if (!s_.workload_started) started(found.process);
        ended(found.exit_code, found.signal);
        return;
      case Fate::unknown:
        // It was about to be started. Nothing tells whether it was, so it must not be started again.
        if (!s_.workload_started) {
          s_.workload_started = true;
          s_.started_at = now_;
        }
        ended({}, {});
        return;
    }
  }

  void on(const StopSeen& stop) {
    if (s_.stop_requested) return;
    switch (s_.phase) {
      case RunnerPhase::prechecking:
      case RunnerPhase::launching:
      case RunnerPhase::finding:
      case RunnerPhase::stopping:  // by the time limit; the grace already runs
        note_stop(stop.by, {});
        return;
      case RunnerPhase::running:
        note_stop(stop.by, {});
        terminate();
        return;
      default:
        return;  // too late: it ended by itself, or nothing has begun
    }
  }

  void on(const TimeLimitReached&) {
    if (s_.phase != RunnerPhase::running) return;
    note_stop("timeout", Reason::timeout);
    terminate();
  }

  void on(const GraceOver&) {
    if (!s_.grace_running) return;
    s_.grace_running = false;
    if (s_.phase != RunnerPhase::stopping && s_.phase != RunnerPhase::leftovers) return;
    s_.killed = true;
    signalled(kill);
    actions_.push_back(KillAll{});
    if (s_.phase == RunnerPhase::leftovers) actions_.push_back(CountLeftovers{});
  }

  void on(const WorkloadEnded& end) {
    if (s_.phase != RunnerPhase::running && s_.phase != RunnerPhase::stopping) return;
    ended(end.exit_code, end.signal);
  }

  void on(const LeftoversCounted& counted) {
    if (s_.phase != RunnerPhase::leftovers) return;
    s_.leftovers = std::max(s_.leftovers, counted.count);
    if (counted.count > 0 && !s_.killed) {
      // A stop has sent SIGTERM already; its grace goes on.
      if (!s_.grace_running) {
        signalled(term);
        actions_.push_back(SignalAll{term});
        start_grace();
      }
      return;
    }
    if (s_.leftovers > 0) {
      JournalRecord gone = record(JournalKind::leftovers_ended);
      gone.detail = counted.count == 0 ? orbit::counted(s_.leftovers, "process") + " outlived the entry"
                                       : fmt::format("{} of {} outlived the entry and could not be ended",
                                                     counted.count, orbit::counted(s_.leftovers, "process"));
      append(std::move(gone));
    }
    collect();
  }

  void on(const CheckpointComplete& complete) {
    switch (s_.phase) {
      case RunnerPhase::running:
      case RunnerPhase::stopping:
      case RunnerPhase::leftovers:
      case RunnerPhase::collecting:
        break;
      default:
        return;
    }
    if (!s_.checkpoints.insert(complete.checkpoint.path).second) return;
    JournalRecord announced = record(JournalKind::checkpoint);
    announced.checkpoint = complete.checkpoint;
    append(std::move(announced));
  }

  void on(const Collected& collected) {
    if (s_.phase != RunnerPhase::collecting) return;
    JournalRecord done = record(JournalKind::collected);
    done.detail = collected.collect_error ? *collected.collect_error
                                          : fmt::format("{} artifact{}", collected.artifact_count,
                                                        collected.artifact_count == 1 ? "" : "s");
    append(std::move(done));

    RunnerResult result;
    result.attempt = s_.attempt;
    result.epoch = s_.epoch;
    result.workload_started = s_.workload_started;
    result.exit_code = s_.exit_code;
    result.signal = s_.signal;
    result.stop_requested = s_.stop_requested;
    result.timed_out = s_.timed_out;
    result.host_oom = collected.host_oom;
    result.disk_full = collected.disk_full;
    result.environment = collected.environment;
    result.failed_check = s_.failed_check;
    result.missing_outputs = collected.missing_outputs;
    result.collect_error = collected.collect_error;
    result.detail = sentence();
    result.started_at = s_.started_at;
    result.ended_at = s_.ended_at.value_or(now_);
    result.log_sizes_bytes = collected.log_sizes_bytes;
    result.artifacts = collected.artifacts;
    s_.result = result;
    s_.phase = RunnerPhase::recording;
    actions_.push_back(WriteResult{std::move(result)});
  }

  void on(const ResultWritten&) {
    if (s_.phase != RunnerPhase::recording) return;
    s_.phase = RunnerPhase::finished;
    append(record(JournalKind::finished));
    actions_.push_back(Finish{});
  }

 private:
  struct Past {
    bool precheck_over = false;
    bool launching = false;
    bool ended = false;
  };

  JournalRecord record(JournalKind kind) const {
    JournalRecord out;
    out.at = now_;
    out.kind = kind;
    return out;
  }
  void append(JournalRecord record, bool sync = false) { actions_.push_back(Append{std::move(record), sync}); }
  void signalled(std::int32_t signal) {
    JournalRecord sent = record(JournalKind::signalled);
    sent.signal = signal;
    append(std::move(sent));
  }
  void start_grace() {
    s_.grace_running = true;
    actions_.push_back(StartGrace{});
  }

  Past replay(const std::vector<JournalRecord>& journal) {
    Past past;
    for (const auto& entry : journal) {
      switch (entry.kind) {
        case JournalKind::precheck_passed:
          past.precheck_over = true;
          break;
        case JournalKind::precheck_failed:
          s_.failed_check = entry.reason.value_or(Reason::precheck_failed);
          s_.detail = entry.detail.value_or("");
          s_.ended_at = entry.at;
          break;
        case JournalKind::workload_launching:
          past.launching = true;
          break;
        case JournalKind::workload_started:
          s_.workload_started = true;
          s_.process = entry.process;
          s_.started_at = entry.at;
          break;
        case JournalKind::stop_requested:
          (entry.reason == Reason::timeout ? s_.timed_out : s_.stop_requested) = true;
          break;
        case JournalKind::workload_ended:
          past.ended = true;
          s_.workload_started = true;
          s_.exit_code = entry.exit_code;
          s_.signal = entry.signal;
          s_.ended_at = entry.at;
          break;
        case JournalKind::checkpoint:
          if (entry.checkpoint) s_.checkpoints.insert(entry.checkpoint->path);
          break;
        case JournalKind::runner_started:
        case JournalKind::signalled:
        case JournalKind::leftovers_ended:
        case JournalKind::collected:
        case JournalKind::finished:
          break;
      }
    }
    return past;
  }

  void resume(const Past& past) {
    if (past.ended) {
      count_leftovers();
    } else if (s_.failed_check) {
      collect();
    } else if (s_.workload_started || past.launching) {
      s_.phase = RunnerPhase::finding;
      actions_.push_back(Find{});
    } else if (s_.stop_requested && past.precheck_over) {
      conclude_unstarted();
    } else {
      precheck();
    }
  }

  void precheck() {
    s_.phase = RunnerPhase::prechecking;
    actions_.push_back(RunPrechecks{});
  }
  void launch() {
    s_.phase = RunnerPhase::launching;
    append(record(JournalKind::workload_launching), true);
    actions_.push_back(Launch{});
  }
  void fail_check(Reason reason, const std::string& detail) {
    s_.failed_check = reason;
    s_.detail = detail;
    s_.ended_at = now_;
    JournalRecord failed = record(JournalKind::precheck_failed);
    failed.reason = reason;
    failed.detail = detail;
    append(std::move(failed));
    collect();
  }
  void conclude_unstarted() {
    s_.ended_at = now_;
    collect();
  }
  void started(const std::optional<ProcessIdentity>& process) {
    s_.workload_started = true;
    s_.process = process;
    s_.started_at = now_;
    JournalRecord entry = record(JournalKind::workload_started);
    entry.process = process;
    append(std::move(entry));
  }
  void watch() {
    s_.phase = RunnerPhase::running;
    actions_.push_back(Watch{*s_.process});
    if (s_.stop_requested || s_.timed_out) terminate();
  }
  void note_stop(const std::string& by, std::optional<Reason> reason) {
    (reason ? s_.timed_out : s_.stop_requested) = true;
    JournalRecord stop = record(JournalKind::stop_requested);
    stop.detail = by;
    stop.reason = reason;
    append(std::move(stop));
  }
  void terminate() {
    s_.phase = RunnerPhase::stopping;
    signalled(term);
    actions_.push_back(SignalAll{term});
    start_grace();
  }
  void ended(std::optional<std::int32_t> exit_code, std::optional<std::int32_t> signal) {
    s_.exit_code = exit_code;
    s_.signal = signal;
    s_.ended_at = now_;
    JournalRecord end = record(JournalKind::workload_ended);
    end.exit_code = exit_code;
    end.signal = signal;
    if (!exit_code && !signal) end.detail = "it is gone and how it ended cannot be known";
    append(std::move(end));
    count_leftovers();
  }
  void count_leftovers() {
    s_.phase = RunnerPhase::leftovers;
    actions_.push_back(CountLeftovers{});
  }
  void collect() {
    s_.phase = RunnerPhase::collecting;
    s_.grace_running = false;
    actions_.push_back(CancelTimers{});
    actions_.push_back(Collect{});
  }

  std::string sentence() const {
    if (s_.failed_check) return s_.detail;
    if (!s_.workload_started) return "it was stopped before the workload started";
    std::string how = "how the workload ended cannot be known";
    if (s_.exit_code)
      how = fmt::format("the workload ended with exit code {}", *s_.exit_code);
    else if (s_.signal)
      how = fmt::format("the workload was ended by signal {}", *s_.signal);
    if (s_.timed_out) how += ", after its time limit was reached";
    if (s_.stop_requested) how += ", after a stop was asked for";
    return how;
  }

  RunnerState& s_;
  WallTime now_;
  std::vector<RunnerAction> actions_;
};

}  // namespace

std::vector<RunnerAction> step(RunnerState& state, const RunnerInput& input, WallTime now) {
  Step run(state, now);
  std::visit([&](const auto& value) { run.on(value); }, input);
  return run.take();
}

}  // namespace orbit::decide
