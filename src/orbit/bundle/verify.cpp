#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <unordered_set>

#include "orbit/bundle/bundle.hpp"
#include "orbit/bundle/digests.hpp"
#include "orbit/bundle/paths.hpp"
#include "orbit/bundle/tree.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::bundle {
namespace {

// Empty: the file holds.
Result<std::string> check_file(const fs::path& directory, const FileEntry& entry) {
  auto fd = platform::open_beneath(directory, entry.path);
  if (!fd) {
    if (fd.error().code == ErrorCode::not_found) return "missing";
    if (fd.error().code == ErrorCode::refused) return fd.error().message;
    return fail(std::move(fd).error());
  }
  auto found = measure(fd->get(), entry.path);
  if (!found) {
    if (found.error().code == ErrorCode::conflict) return "changed while it was read";
    return fail(std::move(found).error());
  }
  if (found->size_bytes != entry.size_bytes || found->sha256 != entry.sha256)
    return fmt::format("changed: digest {}, expected {}", found->sha256.hex(), entry.sha256.hex());
  const mode_t mode = entry.executable ? 0755 : 0644;
  if (found->mode != mode) return fmt::format("mode {:04o}, expected {:04o}", found->mode, mode);
  return "";
}

// Files that nobody froze, but that the entry could read or import: a compiled module beside its source, for example.
Result<void> find_strangers(const fs::path& directory, const BundleManifest& manifest, std::vector<Finding>& findings) {
  std::unordered_set<std::string_view> known;
  for (const FileEntry& file : manifest.files) known.insert(file.path);
  for (const std::string top : {"inputs", "scripts"}) {
    TreeLimits limits;
    limits.max_entries = 1'000'000;
    auto root = open_directory(directory / top);
    if (!root) {
      if (root.error().code == ErrorCode::not_found) continue;
      findings.push_back({top, root.error().message});
      continue;
    }
    ORBIT_TRY(walk_tree(root->get(), limits, [&](const TreeEntry& entry) -> Result<void> {
      const std::string path = top + "/" + entry.path;
      if (entry.kind != TreeEntry::Kind::file || known.count(path) == 0)
        findings.push_back({printable(path), "not in the manifest"});
      return {};
    }));
  }
  return {};
}

}  // namespace

Result<std::vector<Finding>> verify(const fs::path& directory, const Digest& expected) {
  std::vector<Finding> findings;
  auto text = platform::read_beneath(directory, "bundle.json", 0, max_manifest_bytes);
  if (!text) {
    if (text.error().code == ErrorCode::not_found) return std::vector<Finding>{{"bundle.json", "missing"}};
    if (text.error().code == ErrorCode::refused) return std::vector<Finding>{{"bundle.json", text.error().message}};
    return fail(std::move(text).error());
  }
  if (const Digest found = Sha256::of(*text); found != expected)
    return std::vector<Finding>{
        {"bundle.json", fmt::format("changed: digest {}, expected {}", found.hex(), expected.hex())}};
  const auto manifest = parse_manifest(*text);
  if (!manifest) return std::vector<Finding>{{"bundle.json", manifest.error().text()}};

  std::vector<std::string> problems(manifest->files.size());
  ORBIT_TRY(for_each_of(problems.size(), [&](std::size_t index) -> Result<void> {
    ORBIT_TRY_ASSIGN(problems[index], check_file(directory, manifest->files[index]));
    return {};
  }));
  std::set<std::string> named;
  for (std::size_t i = 0; i < problems.size(); ++i)
    if (!problems[i].empty()) {
      named.insert(manifest->files[i].path);
      findings.push_back({manifest->files[i].path, problems[i]});
    }
  std::vector<Finding> strangers;
  ORBIT_TRY(find_strangers(directory, *manifest, strangers));
  for (Finding& stranger : strangers)
    if (named.insert(stranger.path).second) findings.push_back(std::move(stranger));
  std::sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) { return a.path < b.path; });
  return findings;
}

}  // namespace orbit::bundle
