#include "orbit/launch/keeper.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

namespace orbit::launch {
namespace {

using platform::Fd;
using platform::make_pipe;
using platform::Pipe;
using platform::read_exactly;

void pause_s(long seconds) noexcept {
  timespec left{seconds, 0};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

// Text in a fixed buffer: no allocation after the fork.
class Text {
 public:
  void add(const char* text) noexcept {
    while (*text != 0 && size_ < buffer_.size()) buffer_[size_++] = *text++;
  }
  void add(std::int64_t number) noexcept {
    std::array<char, 24> digits;
    std::size_t count = 0;
    const bool negative = number < 0;
    if (negative) number = -number;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    if (negative) digits[count++] = '-';
    while (count > 0 && size_ < buffer_.size()) buffer_[size_++] = digits[--count];
  }
  const char* data() const noexcept { return buffer_.data(); }
  std::size_t size() const noexcept { return size_; }

 private:
  std::array<char, 512> buffer_{};
  std::size_t size_ = 0;
};

bool write_all(int fd, const char* data, std::size_t size) noexcept {
  while (size > 0) {
    const ssize_t put = write(fd, data, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    data += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

enum class Written { yes, not_now, never };

// Nobody reads what is written into a directory that was removed, nor can it be.
bool is_removed(int directory_fd) noexcept {
  struct stat stat{};
  return fstat(directory_fd, &stat) != 0 || stat.st_nlink == 0;
}

Written why_not(int runtime_fd, int error) noexcept {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ESTALE:
    case EISDIR:  // a directory in its place that is not empty
    case EEXIST:
    case ENOTEMPTY:
      return Written::never;
    default:
      return is_removed(runtime_fd) ? Written::never : Written::not_now;
  }
}

// The workload can put anything there. A directory with something in it stays: emptying one takes more than may be done
// after a fork.
void clear_the_way(int runtime_fd, const char* name) noexcept {
  struct stat stat{};
  if (fstatat(runtime_fd, name, &stat, AT_SYMLINK_NOFOLLOW) != 0) return;
  unlinkat(runtime_fd, name, S_ISDIR(stat.st_mode) ? AT_REMOVEDIR : 0);
}

Written write_durably(int runtime_fd, const Text& text) noexcept {
  constexpr const char* temp = ".exit.json.keeper";
  clear_the_way(runtime_fd, temp);
  const int fd = openat(runtime_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return why_not(runtime_fd, errno);
  if (!write_all(fd, text.data(), text.size()) || fsync(fd) != 0) {
    const int error = errno;
    close(fd);
    return why_not(runtime_fd, error);
  }
  close(fd);
  if (renameat(runtime_fd, temp, runtime_fd, exit_file) == 0) return Written::yes;
  clear_the_way(runtime_fd, exit_file);
  if (renameat(runtime_fd, temp, runtime_fd, exit_file) == 0) return Written::yes;
  return why_not(runtime_fd, errno);
}

bool has_result(int runtime_fd) noexcept {
  struct stat stat{};
  return fstatat(runtime_fd, "result.json", &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(stat.st_mode);
}

// Everything the keeper needs, made before the fork.
struct KeeperPlan {
  const char* attempt;
  int report_fd;
  int go_fd;  // the entry's
  int runtime_fd;
};

void report(int fd, KeeperReport::Kind kind, std::int32_t value) noexcept {
  const KeeperReport out{kind, value};
  write_all(fd, reinterpret_cast<const char*>(&out), sizeof out);  // nobody there any more: nothing to do
}

void record_exit(const KeeperPlan& plan, std::int32_t pid, const char* key, std::int32_t value) noexcept {
  Text text;
  text.add("{\"attempt\":\"");
  text.add(plan.attempt);
  text.add("\",\"pid\":");
  text.add(pid);
  text.add(",\"");
  text.add(key);
  text.add("\":");
  text.add(value);
  text.add("}\n");
  // A full disk: until there is room, until the runner has recorded the end itself, or until there is nowhere to write.
  for (long wait_s = 1; write_durably(plan.runtime_fd, text) == Written::not_now;
       wait_s = wait_s < 16 ? wait_s * 2 : 16) {
    if (has_result(plan.runtime_fd)) return;
    pause_s(wait_s);
  }
}

// Keeps only what is in `keep` (in any order) and gives each its place there: descriptors 3, 4, 5 …
void keep_only(std::array<int*, 3> keep) noexcept {
  constexpr int high = 16;
  for (int* fd : keep) *fd = fcntl(*fd, F_DUPFD_CLOEXEC, high);
  int next = 3;
  for (int* fd : keep) {
    dup2(*fd, next);
    fcntl(next, F_SETFD, FD_CLOEXEC);
    *fd = next++;
  }
  platform::close_from(next);
}

[[noreturn]] void run_keeper(KeeperPlan plan, const platform::PreparedExec& exec) noexcept {
  setsid();
  prctl(PR_SET_NAME, "orbit-keeper");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action{};
    action.sa_handler =
        signal == SIGCHLD || signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT ? SIG_DFL : SIG_IGN;
    sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);

  std::array<int, 2> exec_pipe{};
  if (pipe2(exec_pipe.data(), O_CLOEXEC) != 0) {
    report(plan.report_fd, KeeperReport::fork_failed, errno);
    _exit(1);
  }
  const pid_t entry = fork();
  if (entry < 0) {
    report(plan.report_fd, KeeperReport::fork_failed, errno);
    _exit(1);
  }
  if (entry == 0) exec.run(plan.go_fd, exec_pipe[1]);

  // The lock and the journal above all: a keeper that held the runner's lock would keep every later runner out.
  keep_only({&plan.report_fd, &plan.runtime_fd, &exec_pipe[0]});
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0)
    for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  if (null > 2) close(null);
  [[maybe_unused]] const int ignored = chdir("/");

  report(plan.report_fd, KeeperReport::forked, entry);
  std::int32_t exec_errno = 0;
  const int failed = read_exactly(exec_pipe[0], &exec_errno, sizeof exec_errno);
  close(exec_pipe[0]);
  if (failed != 1) report(plan.report_fd, KeeperReport::exec_done, 0);

  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) _exit(0);  // nobody left
    if (pid != entry) continue;
    if (failed == 1) {
      // Never told to go: no workload.json either, or the runner is alive and knows. A later start must not find this
      // one's exit.
      if (exec_errno == ECANCELED) _exit(0);
      record_exit(plan, entry, "exec_errno", exec_errno);
      report(plan.report_fd, KeeperReport::exec_failed, exec_errno);
    } else {
      report(plan.report_fd, KeeperReport::ended, status);
      if (WIFEXITED(status))
        record_exit(plan, entry, "exit_code", WEXITSTATUS(status));
      else
        record_exit(plan, entry, "signal", WTERMSIG(status));
    }
    close(plan.report_fd);
  }
}

Result<KeeperReport> next_report(int fd) {
  KeeperReport out;
  const int got = read_exactly(fd, &out, sizeof out);
  if (got == 1) return out;
  return fail(ErrorCode::io, "the process that keeps the workload was ended while it started it");
}

void reap(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

Result<Keeper> start_keeper(
    const platform::SpawnRequest& request, const AttemptId& attempt, const std::filesystem::path& runtime,
    const std::function<Result<void>(const ProcessIdentity& keeper, const ProcessIdentity& entry)>& before_exec) {
  const platform::PreparedExec exec(request);
  ORBIT_TRY_ASSIGN(Pipe reports, make_pipe());
  ORBIT_TRY_ASSIGN(Pipe go, make_pipe());
  const Fd runtime_fd(open(runtime.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!runtime_fd) return fail_errno(errno, "cannot be opened", runtime.string());
  const KeeperPlan plan{attempt.str().c_str(), reports.write.get(), go.read.get(), runtime_fd.get()};

  const pid_t keeper = fork();
  if (keeper < 0) return fail_errno(errno, "a process cannot be made");
  if (keeper == 0) {
    // Else the entry would hold the writing end itself and never see that the runner is gone.
    close(go.write.get());
    close(reports.read.get());
    run_keeper(plan, exec);
  }
  reports.write.reset();
  go.read.reset();
  const auto give_up = [&](Failure failure) {
    go.write.reset();
    reap(keeper);
    return failure;
  };

  Keeper out;
  const auto first = next_report(reports.read.get());
  if (!first) return give_up(Failure(first.error()));
  if (first->kind != KeeperReport::forked) return give_up(fail_errno(first->value, "a process cannot be made"));
  const auto keeper_identity = platform::identify(keeper);
  if (!keeper_identity) return give_up(Failure(keeper_identity.error()));
  const auto entry_identity = platform::identify(first->value);
  if (!entry_identity) return give_up(Failure(entry_identity.error()));
  out.keeper = *keeper_identity;
  out.entry = *entry_identity;
  if (const auto ready = before_exec(out.keeper, out.entry); !ready) return give_up(Failure(ready.error()));

  const char byte = 1;
  while (write(go.write.get(), &byte, 1) < 0 && errno == EINTR) {
  }
  go.write.reset();
  const auto second = next_report(reports.read.get());
  if (second && second->kind == KeeperReport::exec_failed) {
    reap(keeper);
    return fail_errno(second->value, "cannot be executed", request.argv[0]);
  }
  // No report: the keeper was killed in this very moment. The entry may run, and is watched like one whose keeper died
  // later.
  out.reports = std::move(reports.read);
  fcntl(out.reports.get(), F_SETFL, O_NONBLOCK);
  return out;
}

}  // namespace orbit::launch
