#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "orbit/base/json.hpp"
#include "orbit/base/text.hpp"
#include "orbit/launch/runtime_file.hpp"
#include "orbit/platform/process.hpp"
#include "orbit/runner/audit.hpp"
#include "orbit/runner/collect.hpp"
#include "orbit/runner/driver.hpp"
#include "orbit/runner/environment.hpp"
#include "orbit/runner/prechecks.hpp"

namespace orbit::runner {

namespace action = decide::runner_action;
namespace input = decide::runner_input;

void Driver::act(const action::RunPrechecks&) {
  PrecheckRequest request;
  request.directory = directory_;
  request.order = order_;
  request.launcher = launcher_.get();
  request.launcher_error = launcher_error_;
  request.now = clock_.now().wall;
  jobs_->add([this, request]() -> Jobs::Done {
    return [this, outcome = run_prechecks(request)]() mutable {
      for (const auto& item : outcome.report.items) {
        if (item.ok)
          log_.say("precheck {}: ok, {}", item.check, item.found);
        else
          log_.say("precheck {}: FAILED, wanted {}, found {}", item.check, item.wanted, item.found);
      }
      const auto written = launch::write_runtime_file(runtime_ / "precheck.json", json::encode(outcome.report) + "\n");
      if (!written) log_.say("precheck.json is not written: {}", written.error().text());
      if (outcome.job) job_ = std::move(outcome.job);
      environment_ = std::move(outcome.report.environment);
      feed(input::Prechecked{outcome.failed, outcome.detail});
    };
  });
}

launch::LaunchRequest Driver::find_request() const {
  launch::LaunchRequest request;
  request.attempt = order_.attempt;
  request.directory = directory_;
  request.argv = {job_ ? (directory_ / job_->entry).string() : "the entry"};
  return request;
}

Result<launch::LaunchRequest> Driver::launch_request() const {
  if (!job_) return fail(ErrorCode::corrupt, "cannot be read", "job.json");
  launch::LaunchRequest request = find_request();
  ORBIT_TRY_ASSIGN(request.environment, workload_environment(order_, directory_));
  request.image = order_.image;
  request.gpu_uuids = order_.gpu_uuids;
  return request;
}

Result<void> Driver::write_params() const {
  std::string text = "{";
  for (const auto& [name, value] : job_->params) {
    if (text.size() > 1) text += ",";
    text += json::dump(json::Value(name)) + ":" + value;
  }
  return launch::write_runtime_file(runtime_ / "params.json", text + "}\n");
}

void Driver::act(const action::Launch&) {
  // Without its intent on disk it is not started: a crash would start it twice.
  if (look_for_loss()) return;
  if (sync_error_) return feed(input::LaunchFailed{"the journal cannot be written: " + sync_error_->text()});
  const auto launch = [&]() -> Result<void> {
    ORBIT_TRY_ASSIGN(const auto request, launch_request());
    ORBIT_TRY(write_params());
    jobs_->quiesce();
    ORBIT_TRY_ASSIGN(workload_, launcher_->launch(request));
    return {};
  };
  if (const auto launched = launch(); !launched) return feed(input::LaunchFailed{launched.error().text()});
  feed(input::Launched{*workload_->process()});
}

launch::Evidence Driver::evidence() const {
  launch::Evidence out;
  std::string boot;
  for (const auto& record : journal_.past()) {
    if (record.kind == JournalKind::runner_started && record.process) boot = record.process->boot_id;
    if (record.kind == JournalKind::workload_launching) out.boot_id = boot;
    if (record.kind == JournalKind::workload_started) out.process = record.process;
  }
  return out;
}

bool Driver::may_have_started() const {
  return std::any_of(journal_.past().begin(), journal_.past().end(),
                     [](const auto& record) { return record.kind == JournalKind::workload_launching; });
}

void Driver::act(const action::Find&) {
  const auto find = [&]() -> Result<launch::Found> {
    if (!launcher_) return fail(ErrorCode::unsupported, launcher_error_);
    return launcher_->find(find_request(), evidence());
  };
  auto found = find();
  if (!found) {
    // Not being able to look says nothing about the workload.
    constexpr std::int64_t again_ms = 5'000;
    log_.say("the workload cannot be looked for, trying again: {}", found.error().text());
    timers_->set(Deadline::find, in_ms(again_ms));
    return;
  }
  workload_ = std::move(found->workload);
  input::Found out;
  out.fate = static_cast<input::Fate>(found->fate);
  static_assert(static_cast<int>(input::Fate::unknown) == static_cast<int>(launch::Fate::unknown));
  static_assert(static_cast<int>(input::Fate::running) == static_cast<int>(launch::Fate::running));
  out.process = workload_->process();
  out.exit_code = found->exit.exit_code;
  out.signal = found->exit.signal;
  out.detail = found->detail;
  log_.say("the workload of the earlier runner: {}{}", json::name_of(out.fate),
           out.detail.empty() ? "" : ", " + out.detail);
  feed(std::move(out));
}

void Driver::act(const action::Watch& watched) {
  if (workload_->event_fd() >= 0) watch(workload_->event_fd(), [this] { look_for_end(); });
  if (order_.resources.time_limit_s) {
    const std::int64_t limit_ms = std::clamp<std::int64_t>(*order_.resources.time_limit_s, 0, 1'000'000'000) * 1000;
    timers_->set(Deadline::time_limit, MonoTime{platform::started_at(watched.process).ms + limit_ms});
  }
  make_scanner();
  look_for_checkpoints();
  sample_usage();
  look_for_end();
}

void Driver::act(const action::SignalAll& signal) {
  const int sent = workload_->signal_all(signal.signal);
  log_.say("signal {} sent to {}", signal.signal, counted(sent, "process"));
}

void Driver::act(const action::StartGrace&) {
  timers_->set(Deadline::grace, in_ms(std::clamp<std::int64_t>(order_.stop_grace_s, 0, 86'400) * 1000));
}

void Driver::act(const action::CancelTimers&) {
  timers_->cancel(Deadline::grace);
  timers_->cancel(Deadline::time_limit);
  timers_->cancel(Deadline::audit);
}

void Driver::act(const action::KillAll&) {
  const auto killed = workload_->kill_all();
  if (!killed) log_.say("{}", killed.error().text());
}

void Driver::act(const action::CountLeftovers&) {
  if (!workload_ && launcher_ && may_have_started()) {
    // Adopted after the end: only what was left behind matters now.
    if (auto found = launcher_->find(find_request(), evidence())) workload_ = std::move(found->workload);
  }
  std::vector<ProcessIdentity> left;
  if (workload_) left = workload_->members();
  // What ends by itself within a moment, such as a `tee` that still empties its pipe, is no leftover.
  constexpr std::int64_t moment_ms = 300;
  const MonoTime moment = in_ms(moment_ms);
  while (!left.empty() && !state_.grace_running && !state_.killed && clock_.now().mono < moment) {
    const auto fd = platform::open_pidfd(left.front());
    pollfd ended{fd ? fd->get() : -1, POLLIN, 0};
    if (fd) poll(&ended, 1, static_cast<int>(std::max<std::int64_t>(1, moment.ms - clock_.now().mono.ms)));
    left = workload_->members();
  }
  if (leftover_) unwatch(leftover_.get());
  leftover_.reset();
  bool all_gone = true;
  for (const auto& each : left) {
    auto fd = platform::open_pidfd(each);
    if (!fd) {
      all_gone = all_gone && fd.error().code == ErrorCode::not_found;
      continue;
    }
    // When the first of them ends, they are counted again.
    all_gone = false;
    leftover_ = std::move(*fd);
    watch(leftover_.get(), [this] {
      unwatch(leftover_.get());
      leftover_.reset();
      if (state_.phase == decide::RunnerPhase::leftovers) act(action::CountLeftovers{});
    });
    break;
  }
  feed(input::LeftoversCounted{all_gone ? 0 : static_cast<std::int32_t>(left.size())});
}

void Driver::act(const action::Collect&) {
  if (look_for_loss()) return;  // else artifacts/ would be made anew there
  // Before the runner itself waits for room.
  constexpr std::int64_t no_room_bytes = 1 << 20;
  if (const auto free = platform::free_bytes(directory_); free && *free < no_room_bytes) disk_full_ = true;
  make_scanner();
  if (leftover_) unwatch(leftover_.get());
  leftover_.reset();
  std::vector<std::string> complete;
  if (state_.workload_started && scanner_) complete = scanner_->scan();
  if (scanner_) unwatch(scanner_->event_fd());
  const std::vector<std::string> outputs = job_ && state_.workload_started ? job_->outputs : std::vector<std::string>{};
  jobs_->add([this, complete, outputs]() -> Jobs::Done {
    std::vector<std::pair<std::string, Result<CheckpointRecord>>> checkpoints;
    for (const auto& path : complete)
      checkpoints.emplace_back(path, describe_checkpoint(directory_ / "artifacts", path));
    auto collection = collect(directory_, outputs);
    return [this, checkpoints = std::move(checkpoints), collection = std::move(collection)]() mutable {
      for (auto& [path, record] : checkpoints) {
        if (!record) {
          log_.say("checkpoint {} cannot be read: {}", path, record.error().text());
          continue;
        }
        record->at = clock_.now().wall;
        feed(input::CheckpointComplete{std::move(*record)});
      }
      step();
      collected(std::move(collection));
    };
  });
}

void Driver::collected(Collection collection) {
  if (collection.exhausted) {
    // No room, no descriptors: a lack that passes must not cost a finished run its artifacts.
    log_.say("collection has to wait: {}", *collection.error);
    collect_again_ = true;
    return retry_later();
  }
  collection_ = std::move(collection);
  write_artifacts();
}

void Driver::write_artifacts() {
  if (look_for_loss()) return;
  if (!collection_->error) {
    if (const auto written = write_manifest(directory_, *collection_); !written) {
      if (retry_ms_ == 0) log_.say("artifacts.json has to wait: {}", written.error().text());
      return retry_later();
    }
  }
  retry_ms_ = 0;
  Collection collection = *std::exchange(collection_, std::nullopt);
  for (const auto& name : collection.skipped) log_.say("not collected: {}", name);
  for (const auto& name : collection.missing_outputs) log_.say("expected output {} is missing", name);
  if (collection.error) log_.say("collection failed: {}", *collection.error);
  // The last line: from here on the sizes of the streams are final, and a result tells them.
  log_.say("collected {}, {} bytes", counted(collection.artifact_count, "artifact"), collection.artifact_bytes);
  input::Collected out;
  out.missing_outputs = std::move(collection.missing_outputs);
  out.collect_error = std::move(collection.error);
  out.artifact_count = collection.artifact_count;
  out.artifacts = collection.artifacts;
  out.host_oom = workload_ && workload_->host_oom();
  out.disk_full = disk_full_;
  out.environment = environment_;
  log_.close();
  out.log_sizes_bytes = log_sizes(directory_);
  feed(std::move(out));
}

void Driver::act(action::WriteResult written) {
  result_ = std::move(written.result);
  result_->detail = to_valid_utf8(result_->detail);
  if (result_->collect_error) result_->collect_error = to_valid_utf8(*result_->collect_error);
  write_result();
}

void Driver::write_result() {
  if (look_for_loss()) return;
  const auto write = [&]() -> Result<void> {
    ORBIT_TRY(journal_.sync());
    return launch::write_runtime_file_durably(runtime_ / "result.json", json::encode(*result_) + "\n");
  };
  if (!write()) return retry_later();
  feed(input::ResultWritten{});
}

// Of a workload whose directory is lost. Nothing else matters any more, so that the loop may stand still meanwhile.
void Driver::end_everything() {
  jobs_->quiesce();
  if (!workload_ && launcher_ && may_have_started()) {
    // By the mark and the cgroup: the files that named its processes are lost.
    if (auto found = launcher_->find(find_request(), evidence())) workload_ = std::move(found->workload);
  }
  if (!workload_) return;
  const auto wait_for = [&](const ProcessIdentity& process, std::int64_t most_ms) {
    const auto fd = platform::open_pidfd(process);
    pollfd ended{fd ? fd->get() : -1, POLLIN, 0};
    poll(&ended, 1, static_cast<int>(most_ms));
    workload_->end();  // reaps
  };
  constexpr std::int64_t look_ms = 200;
  workload_->signal_all(SIGTERM);
  const MonoTime grace = in_ms(std::clamp<std::int64_t>(order_.stop_grace_s, 0, 86'400) * 1000);
  for (auto left = workload_->members(); !left.empty(); left = workload_->members()) {
    const std::int64_t still_ms = grace.ms - clock_.now().mono.ms;
    if (still_ms <= 0) break;
    wait_for(left.front(), std::min(still_ms, look_ms));
  }
  // Until the kernel lets go of the last one.
  for (auto left = workload_->members(); !left.empty(); left = workload_->members()) {
    if (const auto killed = workload_->kill_all(); !killed) wait_for(left.front(), look_ms);
  }
  workload_->release();
}

void Driver::act(const action::Finish&) {
  if (workload_) workload_->release();
  finished_ = true;
}

}  // namespace orbit::runner
