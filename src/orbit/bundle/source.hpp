// Where code comes from: a folder, or a git repository at a commit. Runs on the client's machine: the control plane
// never runs git.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "orbit/bundle/bundle.hpp"

namespace orbit::bundle {

struct KeyPattern {
  std::string pattern;
  std::string field;  // what to name when it matches no file
};

struct SourceRequest {
  std::string source;  // folder or repository URL (https, ssh, git@…, file)
  std::optional<std::string>
      revision;              // commit, tag or branch; absent: what is checked out (folder) or the default branch
  bool allow_dirty = false;  // freeze uncommitted changes, and the patch, instead of refusing
  std::vector<std::string> key_files;  // paths or patterns to fingerprint, beside lock files, where there are any
  std::vector<KeyPattern> demanded_key_files;  // each must match a file
  fs::path work;                               // where clones may be put
};

struct Source {
  CodeRevision revision;
  std::vector<SourceFile> files;  // below inputs/code, and inputs/patch.diff when dirty
};

// A folder inside a git work tree is frozen from git: exactly the tracked files of that folder at HEAD (or at
// `revision`), with git's own modes, so that two clones of one commit give the same digest under any umask, checkout
// time or ignored clutter. Uncommitted changes or untracked (not ignored) files in the folder: refused naming the first
// few, unless allow_dirty, which freezes the work tree's files and the patch. A folder that is no work tree is frozen
// as it lies. Submodules are an error naming them; symbolic links as in scan(). git runs with a scrubbed environment
// (GIT_ALLOW_PROTOCOL=https:ssh:file, no system or user config, no hooks, no prompts).
Result<Source> read_source(const SourceRequest& request, const Limits& limits);

}  // namespace orbit::bundle
