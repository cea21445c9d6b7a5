#include "orbit/platform/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace orbit::platform {
namespace {

// Files of /proc have no size: read until the end.
Result<std::string> read_proc(const std::string& path) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return fail_errno(errno, "cannot be opened", path);
  std::string out;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "cannot be read", path);
    if (got == 0) return out;
    out.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

template <class T>
bool parse_number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

Result<std::string> boot_id() {
  ORBIT_TRY_ASSIGN(std::string id, read_proc("/proc/sys/kernel/random/boot_id"));
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

Result<ProcessStat> process_stat(pid_t pid) {
  const std::string path = fmt::format("/proc/{}/stat", pid);
  auto text = read_proc(path);
  if (!text) return fail(ErrorCode::not_found, fmt::format("there is no process {}", pid));
  // "pid (name) state ppid …": the name may hold anything, also spaces and parentheses; the last ')' ends it.
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos || name_end + 2 > text->size())
    return fail(ErrorCode::corrupt, "has an unknown format", path);
  std::array<std::string_view, 50> fields{};  // fields[i] is field i + 3 of proc(5)
  std::size_t count = 0;
  std::string_view rest = std::string_view(*text).substr(name_end + 2);
  while (!rest.empty() && count < fields.size()) {
    const std::size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    fields[count++] = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  ProcessStat stat;
  stat.pid = pid;
  std::int64_t user_ticks = 0, system_ticks = 0, rss_pages = 0;
  if (count < 22 || fields[0].size() != 1 || !parse_number(fields[1], stat.parent) ||
      !parse_number(fields[3], stat.session) || !parse_number(fields[11], user_ticks) ||
      !parse_number(fields[12], system_ticks) || !parse_number(fields[19], stat.start_ticks) ||
      !parse_number(fields[21], rss_pages))
    return fail(ErrorCode::corrupt, "has an unknown format", path);
  stat.state = fields[0][0];
  stat.cpu_ms = (user_ticks + system_ticks) * 1000 / sysconf(_SC_CLK_TCK);
  stat.rss_bytes = rss_pages * sysconf(_SC_PAGESIZE);
  return stat;
}

Result<ProcessIdentity> identify(pid_t pid) {
  if (pid <= 0) return fail(ErrorCode::not_found, fmt::format("there is no process {}", pid));
  ORBIT_TRY_ASSIGN(const ProcessStat stat, process_stat(pid));
  if (stat.dead()) return fail(ErrorCode::not_found, fmt::format("process {} has ended", pid));
  ORBIT_TRY_ASSIGN(std::string boot, boot_id());
  return ProcessIdentity{pid, stat.start_ticks, std::move(boot)};
}

bool is_alive(const ProcessIdentity& identity) {
  const auto now = identify(identity.pid);
  return now && now->start_ticks == identity.start_ticks && now->boot_id == identity.boot_id;
}

MonoTime started_at(const ProcessIdentity& identity) {
  return MonoTime{identity.start_ticks * 1000 / sysconf(_SC_CLK_TCK)};
}

Result<Fd> open_pidfd(const ProcessIdentity& identity) {
  Fd fd(static_cast<int>(syscall(SYS_pidfd_open, identity.pid, 0)));
  if (!fd) {
    if (errno == ESRCH || errno == EINVAL)
      return fail(ErrorCode::not_found, fmt::format("there is no process {}", identity.pid));
    return fail_errno(errno, fmt::format("process {} cannot be watched", identity.pid));
  }
  // Asked after the descriptor was opened: what it refers to can't change any more, so this decides who it is.
  if (!is_alive(identity)) return fail(ErrorCode::not_found, fmt::format("process {} has ended", identity.pid));
  return fd;
}

// --- starting -------------------------------------------------------------------------------------------------------

void close_from(int first) noexcept {
  if (syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0) == 0) return;
  rlimit limit{};  // kernels before 5.9
  const int last = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 1'048'576
                       ? static_cast<int>(limit.rlim_cur)
                       : 1'048'576;
  for (int fd = first; fd < last; ++fd) close(fd);
}

PreparedExec::PreparedExec(const SpawnRequest& request)
    : argv_(request.argv),
      directory_(request.directory.string()),
      stdin_fd_(request.stdin_fd),
      stdout_fd_(request.stdout_fd),
      stderr_fd_(request.stderr_fd),
      cgroup_procs_fd_(request.cgroup_procs_fd),
      new_session_(request.new_session) {
  ORBIT_ASSERT(!argv_.empty());
  for (const auto& [name, value] : request.environment) environment_.push_back(name + "=" + value);
  for (auto& argument : argv_) argv_pointers_.push_back(argument.data());
  argv_pointers_.push_back(nullptr);
  for (auto& variable : environment_) environment_pointers_.push_back(variable.data());
  environment_pointers_.push_back(nullptr);
}

void PreparedExec::run(int go_fd, int error_fd) const noexcept {
  // Everything is moved out of the way of 0, 1 and 2 first, so that the order of the dup2 below cannot matter.
  constexpr int high = 10;
  const auto tell = [&](int error) { [[maybe_unused]] const ssize_t ignored = write(error_fd, &error, sizeof error); };
  const auto refuse = [&](int error) {
    tell(error);
    _exit(127);
  };
  const auto raise = [&](int fd, const char* otherwise, int flags) {
    const int from = fd >= 0 ? fd : open(otherwise, flags | O_CLOEXEC);
    const int to = from < 0 ? -1 : fcntl(from, F_DUPFD_CLOEXEC, high);
    if (to < 0) refuse(errno);
    return to;
  };
  error_fd = fcntl(error_fd, F_DUPFD_CLOEXEC, high);
  if (error_fd < 0) _exit(127);
  const int in = raise(stdin_fd_, "/dev/null", O_RDONLY);
  const int out = raise(stdout_fd_, "/dev/null", O_WRONLY);
  const int err = raise(stderr_fd_, "/dev/null", O_WRONLY);

  if (cgroup_procs_fd_ >= 0) {
    // Where the kernel refuses the move, the environment mark still finds the process.
    [[maybe_unused]] const ssize_t ignored = write(cgroup_procs_fd_, "0", 1);
  }
  if (go_fd >= 0) {
    char byte = 0;
    ssize_t got = 0;
    while ((got = read(go_fd, &byte, 1)) < 0 && errno == EINTR) {
    }
    if (got != 1) {
      tell(ECANCELED);
      _exit(125);
    }
  }
  if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) refuse(errno);
  const int last = dup2(error_fd, 3);
  if (last < 0 || fcntl(3, F_SETFD, FD_CLOEXEC) != 0) refuse(errno);
  error_fd = 3;
  close_from(4);
  if (new_session_) setsid();  // fails only for a group leader, which a fresh child is not
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action{};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  umask(022);
  if (!directory_.empty() && chdir(directory_.c_str()) != 0) refuse(errno);
  execve(argv_pointers_[0], argv_pointers_.data(), environment_pointers_.data());
  refuse(errno);
  _exit(127);
}

namespace {

void reap(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

Result<pid_t> spawn(const SpawnRequest& request) {
  const PreparedExec exec(request);
  ORBIT_TRY_ASSIGN(Pipe error, make_pipe());
  const pid_t pid = fork();
  if (pid < 0) return fail_errno(errno, "a process cannot be made");
  if (pid == 0) exec.run(-1, error.write.get());
  error.write.reset();
  int number = 0;
  if (read_exactly(error.read.get(), &number, sizeof number) == 1) {
    reap(pid);
    return fail_errno(number, "cannot be executed", request.argv[0]);
  }
  return pid;
}

Result<ProcessIdentity> spawn_detached(const SpawnRequest& request) {
  SpawnRequest detached = request;
  detached.new_session = true;
  const PreparedExec exec(detached);
  ORBIT_TRY_ASSIGN(Pipe error, make_pipe());
  ORBIT_TRY_ASSIGN(Pipe born, make_pipe());
  ORBIT_TRY_ASSIGN(Pipe go, make_pipe());
  const pid_t middle = fork();
  if (middle < 0) return fail_errno(errno, "a process cannot be made");
  if (middle == 0) {
    // Its copies of our ends would keep an end of file from ever being seen.
    close(go.write.get());
    close(error.read.get());
    close(born.read.get());
    const pid_t child = fork();
    if (child == 0) exec.run(go.read.get(), error.write.get());
    const pid_t answer = child < 0 ? -errno : child;
    [[maybe_unused]] const ssize_t ignored = write(born.write.get(), &answer, sizeof answer);
    _exit(0);
  }
  error.write.reset();
  born.write.reset();
  go.read.reset();
  pid_t child = 0;
  const bool answered = read_exactly(born.read.get(), &child, sizeof child) == 1;
  reap(middle);
  if (!answered) return fail(ErrorCode::io, "the process that was to start it was ended", request.argv[0]);
  if (child < 0) return fail_errno(-child, "a process cannot be made");
  // It waits for us: so it can be told from any other before it has had a chance to end.
  auto identity = identify(child);
  if (!identity) return identity;
  const char byte = 1;
  while (write(go.write.get(), &byte, 1) < 0 && errno == EINTR) {
  }
  int number = 0;
  if (read_exactly(error.read.get(), &number, sizeof number) == 1)
    return fail_errno(number, "cannot be executed", request.argv[0]);
  return identity;
}

}  // namespace orbit::platform
