#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <map>
#include <set>

#include "orbit/base/text.hpp"
#include "orbit/platform/process.hpp"

namespace orbit::platform {
namespace {

std::vector<pid_t> all_pids() {
  std::vector<pid_t> out;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return out;
  while (const dirent* entry = readdir(proc)) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc{} && end == name.data() + name.size()) out.push_back(pid);
  }
  closedir(proc);
  return out;
}

// Where cgroups can be made: this process's own, on each mounted hierarchy of version 2.
std::vector<fs::path> cgroup_bases() {
  std::string own;
  std::ifstream memberships("/proc/self/cgroup");
  for (std::string line; std::getline(memberships, line);)
    if (line.starts_with("0::/")) own = line.substr(3);
  std::vector<fs::path> out;
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    const auto fields = split(line, ' ');
    if (fields.size() < 3 || fields[2] != "cgroup2" || own.empty()) continue;
    out.push_back(fs::path(fields[1]) / own.substr(1));
    if (own != "/") out.emplace_back(fields[1]);
  }
  return out;
}

bool is_cgroup(const fs::path& path) {
  struct stat stat{};
  return lstat((path / "cgroup.procs").c_str(), &stat) == 0 && S_ISREG(stat.st_mode);
}

void read_members(const fs::path& cgroup, std::set<pid_t>& out) {
  std::ifstream file(cgroup / "cgroup.procs");
  for (pid_t pid = 0; file >> pid;)
    if (pid > 0) out.insert(pid);
  std::error_code error;
  for (fs::directory_iterator it(cgroup, error), end; !error && it != end; it.increment(error))
    if (it->is_directory(error) && !it->is_symlink(error)) read_members(it->path(), out);
}

// Also removes what the workload made inside.
void remove_cgroup(const fs::path& cgroup) {
  std::error_code error;
  for (fs::directory_iterator it(cgroup, error), end; !error && it != end; it.increment(error))
    if (it->is_directory(error) && !it->is_symlink(error)) remove_cgroup(it->path());
  rmdir(cgroup.c_str());
}

bool has_mark(pid_t pid, const std::string& mark) {
  const Fd fd(open(fmt::format("/proc/{}/environ", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return false;
  std::string environment(128 * 1024, '\0');
  std::size_t size = 0;
  while (size < environment.size()) {
    const ssize_t got = read(fd.get(), environment.data() + size, environment.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  std::string_view rest(environment.data(), size);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    if (rest.substr(0, end) == mark) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

// A signal to exactly that process: the descriptor is opened, then proved, then used.
bool send_signal(const ProcessIdentity& identity, int signal) {
  const auto fd = open_pidfd(identity);
  return fd && syscall(SYS_pidfd_send_signal, fd->get(), signal, nullptr, 0) == 0;
}

bool contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

}  // namespace

ProcessTree ProcessTree::without_cgroup(const AttemptId& attempt) {
  ORBIT_ASSERT(!attempt.empty());
  ProcessTree tree;
  tree.attempt_ = attempt.str();
  return tree;
}

ProcessTree ProcessTree::for_attempt(const AttemptId& attempt, const fs::path& known) {
  ProcessTree tree = without_cgroup(attempt);
  const std::string name = "orbit-" + attempt.str();
  const auto take = [&](const fs::path& path) {
    if (!is_cgroup(path)) return false;
    Fd procs(open((path / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!procs) return false;
    tree.cgroup_ = path;
    tree.procs_ = std::move(procs);
    return true;
  };
  if (!known.empty() && known.filename() == name && take(known)) return tree;
  const auto bases = cgroup_bases();
  for (const auto& base : bases)
    if (take(base / name)) return tree;
  for (const auto& base : bases) {
    if (mkdir((base / name).c_str(), 0755) != 0 && errno != EEXIST) continue;
    if (take(base / name)) return tree;
    rmdir((base / name).c_str());
  }
  return tree;
}

int ProcessTree::cgroup_procs_fd() const {
  return procs_.get();
}

std::vector<ProcessIdentity> ProcessTree::members(const std::vector<pid_t>& except) const {
  const auto boot = boot_id();
  if (!boot) return {};
  std::set<pid_t> in_cgroup;
  if (has_cgroup()) read_members(cgroup_, in_cgroup);

  std::map<pid_t, ProcessStat> alive;
  for (const pid_t pid : all_pids())
    if (const auto stat = process_stat(pid); stat && !stat->dead()) alive.emplace(pid, *stat);

  std::set<pid_t> roots;
  for (const auto& root : roots_)
    if (const auto it = alive.find(root.pid);
        it != alive.end() && it->second.start_ticks == root.start_ticks && root.boot_id == *boot)
      roots.insert(root.pid);
  const auto descends = [&](pid_t pid) {
    for (int depth = 0; depth < 10'000; ++depth) {
      const auto it = alive.find(pid);
      if (it == alive.end() || it->second.parent <= 1) return it != alive.end() && roots.contains(it->second.parent);
      pid = it->second.parent;
      if (roots.contains(pid)) return true;
    }
    return false;
  };
  const bool leader_alive = leader_ && is_alive(*leader_);
  const std::string mark = std::string(attempt_mark) + "=" + attempt_;

  std::vector<ProcessIdentity> out;
  for (const auto& [pid, stat] : alive) {
    if (contains(except, pid) || roots.contains(pid)) continue;
    if (in_cgroup.contains(pid) || (leader_alive && stat.session == leader_->pid) ||
        (!roots.empty() && descends(pid)) || has_mark(pid, mark))
      out.push_back(ProcessIdentity{pid, stat.start_ticks, *boot});
  }
  return out;
}

std::vector<ProcessIdentity> ProcessTree::members_quickly(const std::vector<pid_t>& except) const {
  if (!has_cgroup()) return members(except);
  std::set<pid_t> pids;
  read_members(cgroup_, pids);
  std::vector<ProcessIdentity> out;
  for (const pid_t pid : pids)
    if (!contains(except, pid))
      if (auto identity = identify(pid)) out.push_back(std::move(*identity));
  return out;
}

int ProcessTree::signal_all(int signal, const std::vector<pid_t>& except) const {
  int sent = 0;
  for (const auto& member : members(except))
    if (send_signal(member, signal)) ++sent;
  return sent;
}

Result<int> ProcessTree::kill_all(const std::vector<pid_t>& except) const {
  constexpr int rounds = 500;
  constexpr int pause_ms = 20;
  std::set<std::pair<pid_t, std::int64_t>> found;
  for (int round = 0; round < rounds; ++round) {
    const auto left = members(except);
    if (left.empty()) return static_cast<int>(found.size());
    for (const auto& member : left) found.emplace(member.pid, member.start_ticks);
    if (has_cgroup()) {
      // Atomic against forks; since Linux 5.14. What is not in the cgroup is ended one by one.
      const Fd kill(open((cgroup_ / "cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
      if (kill) [[maybe_unused]]
        const ssize_t ignored = write(kill.get(), "1", 1);
    }
    for (const auto& member : left) send_signal(member, SIGKILL);
    // Dying takes the kernel a moment: wait for one of them, which is nearly always for all.
    if (const auto fd = open_pidfd(left.front())) {
      pollfd poll_for{fd->get(), POLLIN, 0};
      poll(&poll_for, 1, pause_ms);
    }
  }
  const auto left = members(except);
  if (left.empty()) return static_cast<int>(found.size());
  return fail(ErrorCode::io,
              fmt::format("{} could not be ended, the first is {}",
                          counted(static_cast<std::int64_t>(left.size()), "process"), left.front().pid),
              {}, "a process in uninterruptible sleep (state D) waits for a device or a file server");
}

std::optional<std::int64_t> ProcessTree::oom_kills() const {
  if (!has_cgroup()) return std::nullopt;
  std::ifstream events(cgroup_ / "memory.events");
  std::string key;
  for (std::int64_t value = 0; events >> key >> value;)
    if (key == "oom_kill") return value;
  return std::nullopt;
}

void ProcessTree::remove() {
  if (!has_cgroup()) return;
  procs_.reset();
  remove_cgroup(cgroup_);
  cgroup_.clear();
}

}  // namespace orbit::platform
