#include "orbit/launch/host_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "orbit/base/json.hpp"
#include "orbit/launch/keeper.hpp"
#include "orbit/launch/runtime_file.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/platform/process.hpp"

namespace orbit::launch {
namespace {

using platform::Fd;
using platform::ProcessTree;

constexpr std::size_t record_limit_bytes = 64 * 1024;

template <class T>
std::optional<T> read_record(const fs::path& path) {
  const auto text = platform::read_file(path, record_limit_bytes);
  if (!text) return std::nullopt;
  auto record = json::decode<T>(*text, json::From::ours);
  if (!record) return std::nullopt;
  return std::move(*record);
}

Exit from_status(int status) {
  if (WIFEXITED(status)) return Exit{WEXITSTATUS(status), std::nullopt};
  return Exit{std::nullopt, WTERMSIG(status)};
}

// The exit the keeper wrote, if it is this entry's.
std::optional<ExitRecord> proven_exit(const fs::path& runtime, const AttemptId& attempt, std::int32_t pid) {
  auto record = read_record<ExitRecord>(runtime / exit_file);
  if (record && record->attempt == attempt && record->pid == pid) return record;
  return std::nullopt;
}

class HostWorkload : public Workload {
 public:
  HostWorkload(fs::path runtime, AttemptId attempt, ProcessTree tree)
      : runtime_(std::move(runtime)), attempt_(std::move(attempt)), tree_(std::move(tree)) {}

  // Started by this process.
  Result<void> watch_own(Keeper keeper) {
    entry_ = keeper.entry;
    keeper_ = keeper.keeper;
    reports_ = std::move(keeper.reports);
    ORBIT_TRY(open_events());
    add(reports_);
    watch_processes();
    set_tree();
    return {};
  }

  // Started by an earlier runner.
  Result<void> watch_adopted(const ProcessIdentity& entry, const std::optional<ProcessIdentity>& keeper) {
    entry_ = entry;
    keeper_ = keeper;
    ORBIT_TRY(open_events());
    // Before exit.json is looked for, so that it cannot appear unseen. Where watches have run out, the caller's next
    // look finds it.
    runtime_watch_ = Fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (runtime_watch_ && inotify_add_watch(runtime_watch_.get(), runtime_.c_str(), IN_MOVED_TO) >= 0)
      add(runtime_watch_);
    watch_processes();
    set_tree();
    return {};
  }

  void nothing_to_watch(const std::optional<ProcessIdentity>& entry, const std::optional<ProcessIdentity>& keeper) {
    entry_ = entry;
    keeper_ = keeper;
    set_tree();
  }

  const std::optional<ProcessIdentity>& process() const override { return entry_; }
  int event_fd() const override { return events_.get(); }

  std::optional<Exit> end() override {
    reap();
    if (end_ || !entry_) return end_;
    read_reports();
    drain(runtime_watch_);
    if (end_) return end_;
    const bool entry_gone = gone(entry_watch_, entry_);
    const bool keeper_gone = gone(keeper_watch_, keeper_);
    // In this order: seen gone first, asked for the proof after, which the keeper wrote before it went.
    if (entry_gone && !reports_) {
      reap();
      if (end_) return end_;
      if (const auto proof = proven_exit(runtime_, attempt_, entry_->pid))
        end_ = Exit{proof->exit_code, proof->signal};
      else if (keeper_gone)
        end_ = Exit{};
    }
    return end_;
  }

  std::vector<ProcessIdentity> members() const override { return tree_.members(except()); }
  int signal_all(int signal) override { return tree_.signal_all(signal, except()); }
  Result<int> kill_all() override { return tree_.kill_all(except()); }

  Usage usage() const override {
    Usage usage;
    for (const auto& member : tree_.members_quickly(except())) {
      const auto stat = platform::process_stat(member.pid);
      if (!stat || stat->start_ticks != member.start_ticks) continue;
      ++usage.processes;
      usage.rss_bytes += stat->rss_bytes;
      usage.cpu_ms += stat->cpu_ms;
    }
    return usage;
  }

  bool host_oom() const override { return tree_.oom_kills().value_or(0) > 0; }

  void release() override {
    reap();
    tree_.remove();
  }

 private:
  std::vector<pid_t> except() const {
    std::vector<pid_t> out{getpid()};
    if (keeper_ && platform::is_alive(*keeper_)) out.push_back(keeper_->pid);
    return out;
  }

  void set_tree() {
    std::vector<ProcessIdentity> roots;
    if (auto self = platform::identify(getpid())) roots.push_back(std::move(*self));
    if (keeper_) roots.push_back(*keeper_);
    tree_.set_roots(std::move(roots));
    if (entry_) tree_.set_leader(*entry_);
  }

  Result<void> open_events() {
    events_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    if (!events_) return fail_errno(errno, "events cannot be waited for");
    return {};
  }
  void add(const Fd& fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd.get();
    epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd.get(), &event);
  }
  void watch_processes() {
    if (auto fd = platform::open_pidfd(*entry_)) {
      entry_watch_ = std::move(*fd);
      add(entry_watch_);
    }
    if (keeper_) {
      if (auto fd = platform::open_pidfd(*keeper_)) {
        keeper_watch_ = std::move(*fd);
        add(keeper_watch_);
      }
    }
  }

  static bool gone(Fd& watch, const std::optional<ProcessIdentity>& who) {
    return watch ? has_ended(watch) : !who || !platform::is_alive(*who);
  }
  // A pidfd stays readable for ever: once seen it is closed, else the loop would never sleep again.
  static bool has_ended(Fd& watch) {
    pollfd poll_for{watch.get(), POLLIN, 0};
    if (poll(&poll_for, 1, 0) <= 0) return false;
    watch.reset();
    return true;
  }

  static void drain(const Fd& fd) {
    if (!fd) return;
    alignas(inotify_event) char buffer[4096];
    while (read(fd.get(), buffer, sizeof buffer) > 0) {
    }
  }

  // The keeper's pipe is the quick way; its end without a word means that the keeper was killed.
  void read_reports() {
    while (reports_) {
      KeeperReport report;
      const ssize_t got = read(reports_.get(), &report, sizeof report);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return;
      if (got != sizeof report) {
        reports_.reset();
      } else if (report.kind == KeeperReport::ended) {
        end_ = from_status(report.value);
        reports_.reset();
      }
    }
  }

  // Children of ours: the keeper; after its death all it kept, also the entry, because this process is a subreaper.
  void reap() {
    for (;;) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid <= 0) return;
      if (entry_ && pid == entry_->pid && !end_) end_ = from_status(status);
    }
  }

  fs::path runtime_;
  AttemptId attempt_;
  ProcessTree tree_;
  std::optional<ProcessIdentity> entry_;
  std::optional<ProcessIdentity> keeper_;
  std::optional<Exit> end_;
  Fd events_;
  Fd reports_;
  Fd runtime_watch_;
  Fd entry_watch_;
  Fd keeper_watch_;
};

Result<Fd> open_stream(const fs::path& path) {
  Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd) return fail_errno(errno, "cannot be opened", path.string());
  return fd;
}

class HostProcess : public Launcher {
 public:
  std::vector<PrecheckItem> precheck(const Order&) override { return {}; }

  Result<std::unique_ptr<Workload>> launch(const LaunchRequest& request) override {
    const fs::path runtime = request.directory / "runtime";
    const fs::path artifacts = request.directory / "artifacts";
    ORBIT_TRY(platform::make_directories(artifacts));
    ORBIT_TRY_ASSIGN(const Fd out, open_stream(artifacts / "stdout"));
    ORBIT_TRY_ASSIGN(const Fd err, open_stream(artifacts / "stderr"));
    ProcessTree tree = ProcessTree::for_attempt(request.attempt);

    platform::SpawnRequest spawn;
    spawn.argv = request.argv;
    spawn.directory = request.directory;
    spawn.environment = request.environment;
    spawn.environment[platform::attempt_mark] = request.attempt.str();
    spawn.stdout_fd = out.get();
    spawn.stderr_fd = err.get();
    spawn.cgroup_procs_fd = tree.cgroup_procs_fd();
    const auto record = [&](const ProcessIdentity& keeper, const ProcessIdentity& entry) {
      const WorkloadRecord seen{request.attempt, entry, keeper, tree.cgroup().string()};
      // It need only outlive this process: after a crash of the machine nothing of the workload is left to be found.
      return write_runtime_file(runtime / workload_file, json::encode(seen) + "\n");
    };
    auto keeper = start_keeper(spawn, request.attempt, runtime, record);
    if (!keeper) {
      tree.remove();
      return Failure(keeper.error());
    }
    auto workload = std::make_unique<HostWorkload>(runtime, request.attempt, std::move(tree));
    if (auto watched = workload->watch_own(std::move(*keeper)); !watched) {
      // Not watched is not run.
      workload->kill_all();
      workload->release();
      return Failure(watched.error());
    }
    return workload;
  }

  Result<Found> find(const LaunchRequest& request, const Evidence& evidence) override {
    const fs::path runtime = request.directory / "runtime";
    ORBIT_TRY_ASSIGN(const std::string boot, platform::boot_id());
    const auto record = read_record<WorkloadRecord>(runtime / workload_file);
    const bool ours = record && record->attempt == request.attempt;
    auto workload = std::make_unique<HostWorkload>(
        runtime, request.attempt,
        ProcessTree::for_attempt(request.attempt, ours ? fs::path(record->cgroup) : fs::path()));
    Found found;
    std::optional<ProcessIdentity> entry = evidence.process;
    std::optional<ProcessIdentity> keeper;
    if (ours) {
      keeper = record->keeper;
      if (!entry) entry = record->entry;
    }
    if (!entry) {
      // The entry waits for its start until workload.json is written. Across a reboot the file may have been lost.
      workload->nothing_to_watch(entry, keeper);
      found.fate = evidence.boot_id == boot ? Fate::never_started : Fate::unknown;
      found.detail = found.fate == Fate::unknown ? "the machine was restarted" : "the entry had not been started";
      found.workload = std::move(workload);
      return found;
    }
    if (entry->boot_id == boot) {
      ORBIT_TRY(workload->watch_adopted(*entry, keeper));
    } else {
      workload->nothing_to_watch(entry, keeper);
    }
    const auto proof = proven_exit(runtime, request.attempt, entry->pid);
    const bool lives =
        entry->boot_id == boot && (platform::is_alive(*entry) || (keeper && platform::is_alive(*keeper)));
    if (proof && proof->exec_errno) {
      found.fate = Fate::start_failed;
      found.detail = fail_errno(*proof->exec_errno, "cannot be executed", request.argv[0]).value().text();
    } else if (proof) {
      found.fate = Fate::ended;
      found.exit = Exit{proof->exit_code, proof->signal};
    } else if (lives) {
      // Also when only the keeper lives: it is about to write how the entry ended.
      found.fate = Fate::running;
    } else if (const auto late = proven_exit(runtime, request.attempt, entry->pid)) {
      found.fate = late->exec_errno ? Fate::start_failed : Fate::ended;
      found.exit = Exit{late->exit_code, late->signal};
      if (late->exec_errno)
        found.detail = fail_errno(*late->exec_errno, "cannot be executed", request.argv[0]).value().text();
    } else {
      found.fate = Fate::unknown;
      found.detail = entry->boot_id == boot ? "entry and keeper are gone without a word" : "the machine was restarted";
    }
    found.workload = std::move(workload);
    return found;
  }
};

}  // namespace

std::unique_ptr<Launcher> make_host_process() {
  return std::make_unique<HostProcess>();
}

}  // namespace orbit::launch
