// Processes: telling them apart, starting them, watching those that are not our children, ending everything a workload
// started.
#pragma once

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/domain/runtime_files.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::platform {

Result<std::string> boot_id();
// Identity of a living process; `not_found` if there is none (zombies count as none).
Result<ProcessIdentity> identify(pid_t pid);
// Is exactly that process still there (same pid, start time and boot)?
bool is_alive(const ProcessIdentity& identity);

// What /proc/<pid>/stat says that Orbit wants to know.
struct ProcessStat {
  pid_t pid = 0;
  char state = '?';
  pid_t parent = 0;
  pid_t session = 0;
  std::int64_t start_ticks = 0;
  std::int64_t cpu_ms = 0;  // user and system time
  std::int64_t rss_bytes = 0;
  bool dead() const { return state == 'Z' || state == 'X'; }
};
Result<ProcessStat> process_stat(pid_t pid);
// When a process of this boot started, on CLOCK_BOOTTIME.
MonoTime started_at(const ProcessIdentity& identity);

// The environment variable that marks everything a workload starts, holding the attempt id: how its processes are found
// when there is no cgroup.
constexpr const char* attempt_mark = "ORBIT_ATTEMPT_ID";

// All processes of a workload, wherever they went: by cgroup where there is one, and by session, parentage and
// environment mark.
class ProcessTree {
 public:
  // Takes a cgroup v2 where this process may make one: its own delegated one, else below /sys/fs/cgroup/unified or
  // /sys/fs/cgroup; none otherwise. Same attempt, same cgroup: an adopting runner finds it again, `known` being where
  // it was last seen.
  static ProcessTree for_attempt(const AttemptId& attempt, const std::filesystem::path& known = {});
  // Without a cgroup, as on machines where none may be made.
  static ProcessTree without_cgroup(const AttemptId& attempt);

  // To be called in the child between fork and exec: async-signal-safe. Puts the calling process into the cgroup, if
  // any.
  int cgroup_procs_fd() const;
  bool has_cgroup() const { return !cgroup_.empty(); }
  const std::filesystem::path& cgroup() const { return cgroup_; }

  // Descendants of these belong to the workload; they themselves do not. Subreapers, so that nobody escapes by a double
  // fork.
  void set_roots(std::vector<ProcessIdentity> roots) { roots_ = std::move(roots); }
  // The session of this process belongs to the workload, as long as it lives.
  void set_leader(ProcessIdentity leader) { leader_ = std::move(leader); }

  // Every living process of the workload except `except`; zombies excluded.
  std::vector<ProcessIdentity> members(const std::vector<pid_t>& except) const;
  // The same at the cost of one small file where there is a cgroup: for sampling, not for ending.
  std::vector<ProcessIdentity> members_quickly(const std::vector<pid_t>& except) const;
  // Sends the signal to each of them; verified against pid reuse (pidfd_send_signal).
  int signal_all(int signal, const std::vector<pid_t>& except) const;
  // SIGKILL until nobody is left (cgroup.kill where there is one), at most ~10 s. Returns how many were found.
  Result<int> kill_all(const std::vector<pid_t>& except) const;
  // Processes of this cgroup the kernel's OOM killer ended so far (memory.events, oom_kill); empty where unknown.
  std::optional<std::int64_t> oom_kills() const;
  // Removes the (empty) cgroup.
  void remove();

 private:
  std::string attempt_;
  std::filesystem::path cgroup_;
  Fd procs_;
  std::vector<ProcessIdentity> roots_;
  std::optional<ProcessIdentity> leader_;
};

struct SpawnRequest {
  std::vector<std::string> argv;  // argv[0] is an absolute path
  std::filesystem::path directory;
  std::map<std::string, std::string> environment;  // complete: nothing is inherited
  int stdin_fd = -1;                               // -1: /dev/null
  int stdout_fd = -1;
  int stderr_fd = -1;
  bool new_session = true;  // setsid
  int cgroup_procs_fd = -1;
};

// The half of spawn() that runs between fork and exec, everything that needs memory made before the fork.
class PreparedExec {
 public:
  explicit PreparedExec(const SpawnRequest& request);
  PreparedExec(const PreparedExec&) = delete;
  PreparedExec& operator=(const PreparedExec&) = delete;
  // In the child only; async-signal-safe. Waits for one byte on go_fd first (-1: does not wait; end of file: ECANCELED
  // to error_fd, exit with 125, never an exec). If the exec fails, errno is written to error_fd, which a successful
  // exec closes, and the process exits with 127.
  [[noreturn]] void run(int go_fd, int error_fd) const noexcept;

 private:
  std::vector<std::string> argv_;
  std::string directory_;
  std::vector<std::string> environment_;
  std::vector<char*> argv_pointers_;
  std::vector<char*> environment_pointers_;
  int stdin_fd_, stdout_fd_, stderr_fd_, cgroup_procs_fd_;
  bool new_session_;
};

// fork + exec; all other descriptors closed, signal mask and dispositions reset, umask 022. An exec that fails is an
// error here (errno through a close-on-exec pipe), not an exit code 127.
Result<pid_t> spawn(const SpawnRequest& request);
// Starts a process that is not our child (double fork, new session): returns its identity.
Result<ProcessIdentity> spawn_detached(const SpawnRequest& request);

// A pidfd of exactly that process; `not_found` when it is gone. Readable (poll) when it ends.
Result<Fd> open_pidfd(const ProcessIdentity& identity);

// Closes every descriptor from `first` on. Async-signal-safe.
void close_from(int first) noexcept;

}  // namespace orbit::platform
