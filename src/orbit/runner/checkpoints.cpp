#include "orbit/runner/checkpoints.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "orbit/base/text.hpp"
#include "orbit/bundle/bundle.hpp"

namespace orbit::runner {
namespace {

namespace fs = std::filesystem;

// A directory below artifacts/, which is the workload's: no link of it leads us anywhere.
platform::Fd open_directory_beneath(const fs::path& root, const std::string& relative) {
  const platform::Fd root_fd(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!root_fd) return {};
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  return platform::Fd(static_cast<int>(syscall(SYS_openat2, root_fd.get(), relative.c_str(), &how, sizeof how)));
}

// "step-00400" -> 400
std::optional<std::int64_t> step_of(std::string_view path) {
  std::size_t start = path.size();
  while (start > 0 && path[start - 1] >= '0' && path[start - 1] <= '9') --start;
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(path.data() + start, path.data() + path.size(), step);
  if (start == path.size() || error != std::errc{}) return std::nullopt;
  return step;
}

}  // namespace

Result<CheckpointRecord> describe_checkpoint(const fs::path& artifacts, const std::string& path) {
  ORBIT_TRY_ASSIGN(const auto files, bundle::list_files(artifacts, path));
  CheckpointRecord record;
  record.path = path;
  record.step = step_of(path);
  record.files = static_cast<std::int64_t>(files.size());
  for (const auto& file : files) record.size_bytes += file.size_bytes;
  record.sha256 = bundle::digest_of_list(files);
  return record;
}

CheckpointScanner::CheckpointScanner(fs::path artifacts, CheckpointRule rule, std::set<std::string> known)
    : artifacts_(std::move(artifacts)),
      rule_(std::move(rule)),
      known_(std::move(known)),
      watch_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

std::vector<std::string> CheckpointScanner::scan() {
  std::vector<std::string> out;
  // The watches come before the look, so that nothing is missed between them.
  watch(artifacts_);
  fs::path above = artifacts_;
  for (const auto& part : fs::path(rule_.directory)) watch(above /= part);

  platform::Fd directory = open_directory_beneath(artifacts_, rule_.directory);
  if (!directory) return out;
  DIR* listing = fdopendir(directory.get());
  if (listing == nullptr) return out;
  const int directory_fd = directory.release();  // the listing's now
  while (const dirent* entry = readdir(listing)) {
    const std::string name = entry->d_name;
    const std::string path = rule_.directory + "/" + name;
    // A workload that makes them without end must not fill the journal.
    constexpr std::size_t most = 10'000;
    if (known_.size() >= most) break;
    if (name == "." || name == ".." || known_.contains(path) || !bundle::check_path(path, "checkpoint")) continue;
    struct stat stat{};
    if (fstatat(directory_fd, name.c_str(), &stat, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(stat.st_mode)) continue;
    watch(artifacts_ / path);
    if (fstatat(directory_fd, (name + "/" + rule_.completion_file).c_str(), &stat, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(stat.st_mode))
      continue;
    known_.insert(path);
    out.push_back(path);
  }
  closedir(listing);
  // A directory has no order; several that became complete since the last look are told in the order of their steps.
  std::sort(out.begin(), out.end(), [](const std::string& a, const std::string& b) {
    return std::pair(step_of(a), std::string_view(a)) < std::pair(step_of(b), std::string_view(b));
  });
  return out;
}

void CheckpointScanner::watch(const fs::path& directory) {
  if (!watch_ || watched_.contains(directory.string())) return;
  constexpr std::size_t most =
      1000;  // a hostile workload must not use up the machine's watches; the rest is seen by the timer
  if (watched_.size() >= most) return;
  if (inotify_add_watch(watch_.get(), directory.c_str(), IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW) >= 0)
    watched_.insert(directory.string());
}

void CheckpointScanner::drain() {
  alignas(inotify_event) char buffer[4096];
  while (read(watch_.get(), buffer, sizeof buffer) > 0) {
  }
}

}  // namespace orbit::runner
