#include "orbit/runner/driver.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "orbit/base/json.hpp"
#include "orbit/base/text.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/platform/process.hpp"
#include "orbit/runner/audit.hpp"
#include "orbit/runner/words.hpp"

namespace orbit::runner {
namespace {

namespace input = decide::runner_input;

constexpr std::int64_t scan_interval_ms = 5'000;  // inotify is quicker where it works
constexpr std::int64_t scan_pause_ms = 500;       // but not more often, whatever the workload does
constexpr std::size_t stop_limit_bytes = 64 * 1024;

}  // namespace

Driver::Driver(std::filesystem::path directory, Order order, Journal journal, const Clock& clock)
    : directory_(std::move(directory)),
      runtime_(directory_ / "runtime"),
      order_(std::move(order)),
      journal_(std::move(journal)),
      clock_(clock),
      log_(runtime_, clock) {}

Result<bool> Driver::run() {
  ORBIT_TRY(open());
  auto launcher = launch::make_launcher(order_.launch);
  if (launcher)
    launcher_ = std::move(*launcher);
  else
    launcher_error_ = launcher.error().text();
  if (journal_.cut_bytes() > 0) log_.say("cut {} torn bytes off the journal", journal_.cut_bytes());
  read_job();
  read_prechecks();
  ORBIT_TRY_ASSIGN(const ProcessIdentity self, platform::identify(getpid()));
  feed(input::Begin{order_.attempt, order_.epoch, journal_.past(), self});
  step();
  look_for_stop();
  step();
  while (!finished_ && !leaving_ && !lost_) {
    wait();
    step();
  }
  // Nobody could adopt the workload there: SIGTERM or not.
  if (!finished_ && look_for_loss()) {
    log_.say("the bundle's directory is gone or another one: its workload is ended");
    end_everything();
    return fail(ErrorCode::not_found, "was removed, moved or replaced while its workload ran", directory_.string());
  }
  if (leaving_) {
    log_.say("runner {} leaves on SIGTERM; the workload goes on and the next runner adopts it", getpid());
    [[maybe_unused]] const auto later = journal_.sync();
  }
  return finished_;
}

Result<void> Driver::open() {
  epoll_ = platform::Fd(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return fail_errno(errno, "events cannot be waited for");
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return fail_errno(errno, "signals cannot be blocked");
  signals_ = platform::Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return fail_errno(errno, "signals cannot be waited for");
  watch(signals_.get(), [this] { on_signal(); });

  ORBIT_TRY_ASSIGN(Timers timers, Timers::make());
  timers_ = std::move(timers);
  watch(timers_->event_fd(), [this] { on_timers(); });
  ORBIT_TRY_ASSIGN(jobs_, Jobs::make());
  watch(jobs_->event_fd(), [this] { jobs_->deliver(); });

  // Where inotify's watches have run out, the scan timer looks instead.
  runtime_watch_ = platform::Fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  constexpr std::uint32_t gone = IN_DELETE_SELF | IN_MOVE_SELF;
  constexpr std::uint32_t changes = IN_MOVED_TO | IN_CREATE | IN_CLOSE_WRITE;
  // IN_DELETE: whoever removes the directory begins with its files, and DELETE_SELF waits for the keeper's descriptor.
  if (runtime_watch_ &&
      inotify_add_watch(runtime_watch_.get(), runtime_.c_str(), changes | IN_DELETE | IN_MOVED_FROM | gone) >= 0) {
    inotify_add_watch(runtime_watch_.get(), directory_.c_str(), gone);
    watch(runtime_watch_.get(), [this] { on_runtime_change(); });
  }
  // A runner that got here holds the lock, so that this is the file it holds.
  lock_ = platform::Fd(::open((runtime_ / "lock").c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW));
  if (!lock_) return fail_errno(errno, "cannot be opened", (runtime_ / "lock").string());
  timers_->set(Deadline::scan, in_ms(scan_interval_ms));
  return {};
}

void Driver::watch(int fd, std::function<void()> handler) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  handlers_[fd] = std::move(handler);
}

void Driver::unwatch(int fd) {
  if (handlers_.erase(fd) > 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Driver::wait() {
  std::array<epoll_event, 8> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
  for (int i = 0; i < count; ++i) {
    const auto handler = handlers_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (handler == handlers_.end()) continue;  // an earlier one of this round ended it
    const auto call = handler->second;
    call();
  }
}

void Driver::step() {
  while (!inputs_.empty() && !lost_) {
    const decide::RunnerInput next = std::move(inputs_.front());
    inputs_.pop_front();
    auto actions = decide::step(state_, next, clock_.now().wall);
    for (auto& action : actions)
      if (!lost_) std::visit([this](auto& value) { act(std::move(value)); }, action);
  }
  if (journal_.has_pending() && !timers_->is_set(Deadline::retry)) retry_later();
}

// --- events ---------------------------------------------------------------------------------------------------------

void Driver::on_signal() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    switch (info.ssi_signo) {
      case SIGCHLD:
        look_for_end();
        break;
      case SIGINT:
        feed(input::StopSeen{"SIGINT"});
        break;
      case SIGTERM:
        leaving_ = true;
        break;
      default:
        break;  // SIGHUP: the terminal it was started from is gone, which is no news
    }
  }
}

void Driver::on_timers() {
  for (const Deadline due : timers_->take(clock_.now().mono)) {
    switch (due) {
      case Deadline::time_limit:
        feed(input::TimeLimitReached{});
        break;
      case Deadline::grace:
        feed(input::GraceOver{});
        break;
      case Deadline::scan:
        timers_->set(Deadline::scan, in_ms(scan_interval_ms));
        if (look_for_loss()) return;
        look_for_stop();
        look_for_end();
        look_for_checkpoints();
        break;
      case Deadline::audit:
        sample_usage();
        break;
      case Deadline::retry:
        if (result_)
          write_result();
        else if (!journal_.flush())
          retry_later();
        else if (collection_)
          write_artifacts();
        else if (std::exchange(collect_again_, false))
          act(decide::runner_action::Collect{});
        else
          retry_ms_ = 0;
        break;
      case Deadline::find:
        act(decide::runner_action::Find{});
        break;
    }
  }
}

void Driver::retry_later() {
  constexpr std::int64_t longest_ms = 30'000;
  retry_ms_ = retry_ms_ == 0 ? 500 : std::min(retry_ms_ * 2, longest_ms);
  timers_->set(Deadline::retry, in_ms(retry_ms_));
}

void Driver::on_runtime_change() {
  alignas(inotify_event) std::array<char, 4096> buffer;
  while (read(runtime_watch_.get(), buffer.data(), buffer.size()) > 0) {
  }
  if (look_for_loss()) return;
  look_for_stop();
}

bool Driver::look_for_loss() {
  if (lost_) return true;
  struct stat ours{};
  struct stat there{};
  if (fstat(lock_.get(), &ours) != 0) return false;
  if (stat((runtime_ / "lock").c_str(), &there) == 0)
    lost_ = ours.st_dev != there.st_dev || ours.st_ino != there.st_ino;
  else
    // Anything else, such as a file server that does not answer, proves nothing.
    lost_ = errno == ENOENT || errno == ENOTDIR || errno == ESTALE;
  return lost_;
}

void Driver::look_for_stop() {
  if (state_.stop_requested) return;
  const auto text = platform::read_file(runtime_ / "stop.json", stop_limit_bytes);
  if (!text && text.error().code == ErrorCode::not_found) return;
  // Its presence is the order; who gave it is for the record.
  std::string by = "unknown";
  if (text)
    if (const auto stop = json::decode<StopOrder>(*text, json::From::ours)) by = stop->by;
  feed(input::StopSeen{by});
}

void Driver::look_for_end() {
  if (!workload_ || end_seen_) return;
  if (state_.phase != decide::RunnerPhase::running && state_.phase != decide::RunnerPhase::stopping) return;
  const auto end = workload_->end();
  if (!end) return;
  end_seen_ = true;
  if (workload_->event_fd() >= 0) unwatch(workload_->event_fd());
  timers_->cancel(Deadline::audit);
  feed(input::WorkloadEnded{end->exit_code, end->signal});
}

void Driver::look_for_checkpoints() {
  if (!scanner_) return;
  const MonoTime now = clock_.now().mono;
  if (now.ms - last_scan_.ms < scan_pause_ms) {
    timers_->set(Deadline::scan, MonoTime{last_scan_.ms + scan_pause_ms});
    return;
  }
  last_scan_ = now;
  for (auto& path : scanner_->scan()) {
    jobs_->add([this, path]() -> Jobs::Done {
      auto record = describe_checkpoint(directory_ / "artifacts", path);
      return [this, path, record = std::move(record)]() mutable {
        if (record) {
          record->at = clock_.now().wall;
          feed(input::CheckpointComplete{std::move(*record)});
        } else if (scanner_) {
          log_.say("checkpoint {} is not read yet: {}", path, record.error().text());
          scanner_->again(path);
        }
      };
    });
  }
}

void Driver::sample_usage() {
  if (!workload_ || end_seen_) return;
  append_audit_sample(runtime_, workload_->usage(), clock_.now().wall);
  timers_->set(Deadline::audit, in_ms(audit_interval_ms));
}

void Driver::read_job() {
  const auto text = platform::read_file(directory_ / "job.json", bundle::max_job_bytes);
  if (!text) return;  // the precheck says so
  if (auto job = bundle::parse_job(*text)) job_ = std::move(*job);
}

// Of a runner before this one.
void Driver::read_prechecks() {
  const auto text = platform::read_file(runtime_ / "precheck.json", bundle::max_job_bytes);
  if (!text) return;
  if (auto report = json::decode<PrecheckReport>(*text, json::From::ours))
    environment_ = std::move(report->environment);
}

void Driver::make_scanner() {
  if (scanner_ || !job_) return;
  scanner_ = std::make_unique<CheckpointScanner>(directory_ / "artifacts", job_->checkpoints, state_.checkpoints);
  if (scanner_->event_fd() >= 0)
    watch(scanner_->event_fd(), [this] {
      scanner_->drain();
      look_for_checkpoints();
    });
}

void Driver::act(decide::runner_action::Append action) {
  // Error messages name files, and those are the workload's: a journal line stays JSON whatever they are called.
  if (action.record.detail) action.record.detail = to_valid_utf8(*action.record.detail);
  log_.line(in_words(action.record));
  journal_.append(std::move(action.record));
  sync_error_.reset();
  if (!action.sync) return;
  if (auto synced = journal_.sync(); !synced) sync_error_ = std::move(synced).error();
}

}  // namespace orbit::runner
