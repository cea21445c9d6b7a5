// The keeper: a forked child of the runner (no exec, a few pages of its own) that is the entry's parent and so the only
// process that can prove how it ended. It lives in a session of its own and ignores every signal that can be ignored;
// when the runner is killed the keeper stays, and writes runtime/exit.json for whoever adopts the attempt.
//
//   runner ── fork ──► keeper (setsid, subreaper) ── fork ──► entry (setsid, cgroup, waits for go, exec)
//
// It does only what is safe after a fork: waits and plain system calls on memory made before. As a subreaper it
// inherits what the entry orphans, so that nobody escapes by a double fork; it ends when it has no children any more.
// If the keeper alone is killed, the runner, a subreaper too, inherits the entry and reaps it itself.
#pragma once

#include <boost/describe.hpp>
#include <filesystem>
#include <functional>

#include "orbit/domain/runtime_files.hpp"
#include "orbit/platform/process.hpp"

namespace orbit::launch {

constexpr const char* workload_file = "workload.json";
constexpr const char* exit_file = "exit.json";

// runtime/workload.json: written by the runner before the entry may exec. Without it the entry has never begun.
struct WorkloadRecord {
  AttemptId attempt;
  ProcessIdentity entry;
  ProcessIdentity keeper;
  std::string cgroup;  // empty: none
};
BOOST_DESCRIBE_STRUCT(WorkloadRecord, (), (attempt, entry, keeper, cgroup))

// runtime/exit.json: written by the keeper.
struct ExitRecord {
  AttemptId attempt;
  std::int32_t pid = 0;
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;
  std::optional<std::int32_t> exec_errno;  // the entry's exec failed: it never ran
};
BOOST_DESCRIBE_STRUCT(ExitRecord, (), (attempt, pid, exit_code, signal, exec_errno))

// From the keeper to the runner through a pipe, each in one write.
struct KeeperReport {
  enum Kind : std::int32_t { forked, fork_failed, exec_failed, exec_done, ended };
  std::int32_t kind = forked;
  std::int32_t value = 0;  // pid, errno or wait status
};

struct Keeper {
  ProcessIdentity keeper;
  ProcessIdentity entry;
  platform::Fd reports;  // KeeperReports from now on: `ended`
};

// Forks the keeper and the entry, calls `before_exec` while the entry waits, then lets it exec. An error: nothing runs.
Result<Keeper> start_keeper(
    const platform::SpawnRequest& request, const AttemptId& attempt, const std::filesystem::path& runtime,
    const std::function<Result<void>(const ProcessIdentity& keeper, const ProcessIdentity& entry)>& before_exec);

}  // namespace orbit::launch
