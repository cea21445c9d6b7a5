// Walking a directory that somebody hostile may be changing: by descriptors, never by paths, following no link.
// Internal to bundle/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "orbit/base/result.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::bundle {

struct TreeEntry {
  enum class Kind { file, symlink, other, unreachable };
  Kind kind = Kind::file;
  std::string path;  // below the root; not checked: may be any bytes
  std::string what;  // of other and unreachable: "a FIFO", "more than 64 levels deep"
  std::int64_t size_bytes = 0;
  unsigned mode = 0;   // permission bits
  std::string target;  // of a symlink
};

struct TreeLimits {
  std::int64_t max_entries = 1'000'000;  // of all kinds, directories too: more is `too_large`
  int max_depth = 64;                    // directories below are reported as unreachable
};

// The directory itself, no link: `refused` when it is one, or no directory.
Result<platform::Fd> open_directory(const std::filesystem::path& path);
// A directory below, each component opened without following links. `below` must have passed check_path; empty: root
// itself.
Result<platform::Fd> open_directory_beneath(const std::filesystem::path& root, const std::string& below);

// Calls `visit` for everything but directories, in no particular order. What disappears meanwhile is passed over.
Result<void> walk_tree(int root, const TreeLimits& limits, const std::function<Result<void>(const TreeEntry&)>& visit);

}  // namespace orbit::bundle
