// Processes: telling them apart, starting them, watching those that are not our children, ending everything a workload started.
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

// The environment variable that marks everything a workload starts, holding the attempt id: how its processes are found when there is no cgroup.
constexpr const char* attempt_mark = "ORBIT_ATTEMPT_ID";

// All processes of a workload, wherever they went: by cgroup where there is one, else by session, parentage and environment mark.
class ProcessTree {
 public:
  // Takes a cgroup v2 where this process may make one: its own delegated one, else below /sys/fs/cgroup/unified or /sys/fs/cgroup; none otherwise.
  // Same attempt, same cgroup: an adopting runner finds it again.
  static ProcessTree for_attempt(const AttemptId& attempt);

  // To be called in the child between fork and exec: async-signal-safe. Puts the calling process into the cgroup, if any.
  int cgroup_procs_fd() const;
  bool has_cgroup() const { return !cgroup_.empty(); }

  // Every living process of the workload except `except`; zombies excluded.
  std::vector<ProcessIdentity> members(const std::vector<pid_t>& except) const;
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
};

struct SpawnRequest {
  std::vector<std::string> argv;  // argv[0] is an absolute path
  std::filesystem::path directory;
  std::map<std::string, std::string> environment;  // complete: nothing is inherited
  int stdin_fd = -1;  // -1: /dev/null
  int stdout_fd = -1;
  int stderr_fd = -1;
  bool new_session = true;  // setsid
  int cgroup_procs_fd = -1;
};
// fork + exec; all other descriptors closed, signal mask and dispositions reset, umask 022. An exec that fails is an error here (errno through a
// close-on-exec pipe), not an exit code 127.
Result<pid_t> spawn(const SpawnRequest& request);
// Starts a process that is not our child (double fork, new session): returns its identity.
Result<ProcessIdentity> spawn_detached(const SpawnRequest& request);

// A pidfd of exactly that process; `not_found` when it is gone. Readable (poll) when it ends.
Result<Fd> open_pidfd(const ProcessIdentity& identity);

}  // namespace orbit::platform
