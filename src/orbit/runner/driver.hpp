// Drives decide/runner_machine.hpp with real files and processes: one epoll loop, which sleeps until something happens.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "orbit/decide/runner_machine.hpp"
#include "orbit/domain/bundle_spec.hpp"
#include "orbit/launch/launcher.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/ports/clock.hpp"
#include "orbit/runner/checkpoints.hpp"
#include "orbit/runner/collect.hpp"
#include "orbit/runner/execution_log.hpp"
#include "orbit/runner/jobs.hpp"
#include "orbit/runner/journal.hpp"
#include "orbit/runner/timers.hpp"

namespace orbit::runner {

class Driver {
 public:
  Driver(std::filesystem::path directory, Order order, Journal journal, const Clock& clock);

  // Until the result is recorded: true. False: told to leave before (SIGTERM). `not_found`: the directory was removed,
  // moved or replaced meanwhile; the workload was ended, and nobody can be told.
  Result<bool> run();

 private:
  // The loop.
  Result<void> open();
  void wait();
  void watch(int fd, std::function<void()> handler);
  void unwatch(int fd);
  void feed(decide::RunnerInput input) { inputs_.push_back(std::move(input)); }
  void step();

  // Events.
  void on_signal();
  void on_timers();
  void on_runtime_change();
  void look_for_stop();
  void look_for_end();
  void look_for_checkpoints();
  void sample_usage();
  bool look_for_loss();

  // Actions.
  void act(decide::runner_action::Append action);
  void act(const decide::runner_action::RunPrechecks&);
  void act(const decide::runner_action::Launch&);
  void act(const decide::runner_action::Find&);
  void act(const decide::runner_action::Watch& action);
  void act(const decide::runner_action::SignalAll& action);
  void act(const decide::runner_action::StartGrace&);
  void act(const decide::runner_action::CancelTimers&);
  void act(const decide::runner_action::KillAll&);
  void act(const decide::runner_action::CountLeftovers&);
  void act(const decide::runner_action::Collect&);
  void act(decide::runner_action::WriteResult action);
  void act(const decide::runner_action::Finish&);

  void write_result();
  void collected(Collection collection);
  void write_artifacts();
  void end_everything();
  void read_job();
  void read_prechecks();
  void make_scanner();
  void retry_later();
  launch::LaunchRequest find_request() const;  // enough to find the workload of an earlier runner
  Result<launch::LaunchRequest> launch_request() const;
  launch::Evidence evidence() const;
  bool may_have_started() const;
  Result<void> write_params() const;
  MonoTime in_ms(std::int64_t ms) const { return MonoTime{clock_.now().mono.ms + ms}; }

  std::filesystem::path directory_;
  std::filesystem::path runtime_;
  Order order_;
  Journal journal_;
  const Clock& clock_;
  ExecutionLog log_;

  decide::RunnerState state_;
  std::deque<decide::RunnerInput> inputs_;
  std::optional<Error> sync_error_;  // of the last Append that was to be durable
  std::optional<RunnerResult> result_;
  std::optional<Collection> collection_;  // whose manifest is still to be written
  bool collect_again_ = false;
  bool disk_full_ = false;
  std::int64_t retry_ms_ = 0;
  std::optional<JobSpec> job_;
  std::map<std::string, std::string> environment_;  // found by the prechecks
  std::unique_ptr<launch::Launcher> launcher_;
  std::string launcher_error_;
  std::unique_ptr<launch::Workload> workload_;
  std::unique_ptr<CheckpointScanner> scanner_;
  MonoTime last_scan_;
  bool end_seen_ = false;
  bool leaving_ = false;
  bool lost_ = false;  // the directory is not the one in which this runner began
  bool finished_ = false;

  platform::Fd epoll_;
  std::map<int, std::function<void()>> handlers_;
  platform::Fd signals_;
  platform::Fd runtime_watch_;
  platform::Fd lock_;  // O_PATH: which file runtime/lock was
  platform::Fd leftover_;
  std::optional<Timers> timers_;
  std::unique_ptr<Jobs> jobs_;  // last: its thread uses the others
};

}  // namespace orbit::runner
