// Checkpoints announced by a completion file (P3): found here, each once.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "orbit/domain/execution.hpp"
#include "orbit/domain/runtime_files.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::runner {

// Digests of the checkpoint's files: takes as long as reading them. An error: it changes while it is read; look again
// later.
Result<CheckpointRecord> describe_checkpoint(const std::filesystem::path& artifacts, const std::string& path);

class CheckpointScanner {
 public:
  // `known`: paths that were announced before.
  CheckpointScanner(std::filesystem::path artifacts, CheckpointRule rule, std::set<std::string> known);

  // Paths below artifacts/ of complete checkpoints not given out before.
  std::vector<std::string> scan();
  // It could not be described: scan() gives it out again.
  void again(const std::string& path) { known_.erase(path); }

  // inotify: readable when a scan may find something; -1 where watching is not possible.
  int event_fd() const { return watch_.get(); }
  void drain();

 private:
  void watch(const std::filesystem::path& directory);

  std::filesystem::path artifacts_;
  CheckpointRule rule_;
  std::set<std::string> known_;
  platform::Fd watch_;
  std::set<std::string> watched_;
};

}  // namespace orbit::runner
