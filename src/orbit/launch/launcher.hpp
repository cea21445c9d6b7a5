// How an entry is started on this machine and what became of it: one Launcher per LaunchMode, chosen through the
// registry below. The runner knows only these two interfaces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/domain/runtime_files.hpp"

namespace orbit::launch {

namespace fs = std::filesystem;

struct LaunchRequest {
  AttemptId attempt;
  fs::path directory;                              // of the bundle, absolute
  std::vector<std::string> argv;                   // argv[0] absolute
  std::map<std::string, std::string> environment;  // complete
  std::optional<std::string> image;
  std::vector<std::string> gpu_uuids;
};

// How the entry ended; neither: it is gone and how cannot be known.
struct Exit {
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;
};

struct Usage {
  std::int64_t processes = 0;
  std::int64_t rss_bytes = 0;
  std::int64_t cpu_ms = 0;  // of those alive
};

// What was started, with everything it started in turn.
class Workload {
 public:
  virtual ~Workload() = default;

  // The entry; absent when an earlier runner started it and it left no trace.
  virtual const std::optional<ProcessIdentity>& process() const = 0;
  // Readable when end() may have something new to say; -1: never.
  virtual int event_fd() const = 0;
  // Once the entry ended. Does not block. Also to be called after SIGCHLD and, rarely, just so.
  virtual std::optional<Exit> end() = 0;

  // Processes other than the entry's keeper that are still there.
  virtual std::vector<ProcessIdentity> members() const = 0;
  virtual int signal_all(int signal) = 0;
  virtual Result<int> kill_all() = 0;
  virtual Usage usage() const = 0;
  // The kernel's OOM killer hit it; false where that cannot be seen.
  virtual bool host_oom() const = 0;
  // Nothing lives any more: what was made for it (cgroup, container) is given back.
  virtual void release() = 0;
};

enum class Fate { never_started, start_failed, running, ended, unknown };

struct Found {
  Fate fate = Fate::unknown;
  Exit exit;
  std::string detail;
  std::unique_ptr<Workload> workload;  // always: also a workload whose entry is gone may have left something behind
};

// What the journal of the earlier runner says about the workload.
struct Evidence {
  std::optional<ProcessIdentity> process;  // workload_started
  std::string boot_id;                     // of the runner that was to start it
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  // What this mode needs of the machine beyond the bundle: engine, image …
  virtual std::vector<PrecheckItem> precheck(const Order& order) = 0;
  // stdout and stderr go to artifacts/stdout and artifacts/stderr. At most once per attempt: the caller has it in its
  // journal before. Must be called while no other thread of the process runs.
  virtual Result<std::unique_ptr<Workload>> launch(const LaunchRequest& request) = 0;
  // After another runner's death.
  virtual Result<Found> find(const LaunchRequest& request, const Evidence& evidence) = 0;
};

// `unsupported`, naming the mode, where this program has no launcher for it.
Result<std::unique_ptr<Launcher>> make_launcher(LaunchMode mode);

}  // namespace orbit::launch
