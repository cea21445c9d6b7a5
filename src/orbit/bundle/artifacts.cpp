#include <algorithm>
#include <limits>

#include "orbit/base/json.hpp"
#include "orbit/base/text.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/bundle/digests.hpp"
#include "orbit/bundle/paths.hpp"
#include "orbit/bundle/tree.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::bundle {
namespace {

constexpr std::int64_t max_artifacts = 1'000'000;

// Through a descriptor opened beneath the root: what was a file when it was listed and is a link now is not followed.
Result<Measured> measure_beneath(const fs::path& root, const std::string& path) {
  auto fd = platform::open_beneath(root, path);
  if (!fd) {
    if (fd.error().code == ErrorCode::not_found || fd.error().code == ErrorCode::refused)
      return fail(ErrorCode::conflict, "changed while the directory was read: " + fd.error().message, path);
    return fail(std::move(fd).error());
  }
  return measure(fd->get(), path);
}

}  // namespace

Result<ArtifactManifest> list_artifacts(const fs::path& artifacts, bool without_digests) {
  ArtifactManifest manifest;
  ORBIT_TRY_ASSIGN(const platform::Fd root, open_directory(artifacts));
  TreeLimits limits;
  limits.max_entries = max_artifacts;
  const auto visit = [&](const TreeEntry& entry) -> Result<void> {
    const auto skip = [&](std::string_view why) {
      manifest.skipped.push_back(fmt::format("{} ({})", printable(entry.path), why));
      return Result<void>();
    };
    if (entry.kind == TreeEntry::Kind::other || entry.kind == TreeEntry::Kind::unreachable) return skip(entry.what);
    if (const auto checked = check_path(entry.path, ""); !checked) return skip(checked.error().message);
    Artifact artifact;
    artifact.path = entry.path;
    if (entry.kind == TreeEntry::Kind::symlink) {
      if (!is_valid_utf8(entry.target)) return skip("a symbolic link whose target is not valid UTF-8");
      artifact.kind = ArtifactKind::symlink;
      artifact.mode = 0777;
      artifact.size_bytes = static_cast<std::int64_t>(entry.target.size());
      artifact.target = entry.target;
    } else {
      artifact.mode = static_cast<std::int32_t>(entry.mode);
      artifact.size_bytes = entry.size_bytes;
    }
    manifest.artifacts.push_back(std::move(artifact));
    return {};
  };
  ORBIT_TRY(walk_tree(root.get(), limits, visit));
  std::sort(manifest.artifacts.begin(), manifest.artifacts.end(),
            [](const Artifact& a, const Artifact& b) { return a.path < b.path; });
  // A rename during the walk can show one name twice.
  manifest.artifacts.erase(std::unique(manifest.artifacts.begin(), manifest.artifacts.end(),
                                       [](const Artifact& a, const Artifact& b) { return a.path == b.path; }),
                           manifest.artifacts.end());
  std::sort(manifest.skipped.begin(), manifest.skipped.end());
  if (without_digests) return manifest;
  ORBIT_TRY(for_each_of(manifest.artifacts.size(), [&](std::size_t index) -> Result<void> {
    Artifact& artifact = manifest.artifacts[index];
    if (artifact.kind != ArtifactKind::file) return {};
    ORBIT_TRY_ASSIGN(const Measured measured, measure_beneath(artifacts, artifact.path));
    artifact.sha256 = measured.sha256;
    artifact.size_bytes = measured.size_bytes;
    artifact.mode = static_cast<std::int32_t>(measured.mode);
    return {};
  }));
  return manifest;
}

Result<std::vector<FileEntry>> list_files(const fs::path& root, const std::string& below) {
  if (!below.empty()) ORBIT_TRY(check_path(below, printable(below)));
  ORBIT_TRY_ASSIGN(const platform::Fd directory, open_directory_beneath(root, below));
  std::vector<FileEntry> files;
  TreeLimits limits;
  limits.max_entries = max_artifacts;
  const auto visit = [&](const TreeEntry& entry) -> Result<void> {
    const std::string shown = printable(below.empty() ? entry.path : below + "/" + entry.path);
    if (entry.kind == TreeEntry::Kind::symlink)
      return fail(ErrorCode::refused, "is a symbolic link: only files can be part of this", shown);
    if (entry.kind != TreeEntry::Kind::file) return fail(ErrorCode::refused, "is " + entry.what, shown);
    ORBIT_TRY(check_path(below.empty() ? entry.path : below + "/" + entry.path, shown));
    FileEntry file;
    file.path = entry.path;
    files.push_back(std::move(file));
    return {};
  };
  ORBIT_TRY(walk_tree(directory.get(), limits, visit));
  std::sort(files.begin(), files.end(), [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; });
  ORBIT_TRY(for_each_of(files.size(), [&](std::size_t index) -> Result<void> {
    FileEntry& file = files[index];
    ORBIT_TRY_ASSIGN(const Measured measured,
                     measure_beneath(root, below.empty() ? file.path : below + "/" + file.path));
    file.sha256 = measured.sha256;
    file.size_bytes = measured.size_bytes;
    file.executable = (measured.mode & 0100U) != 0;
    return {};
  }));
  return files;
}

std::string artifact_manifest_text(const ArtifactManifest& manifest) {
  return json::canonical(json::from(manifest));
}

Result<ArtifactManifest> parse_artifact_manifest(std::string_view text) {
  constexpr std::size_t max_text_bytes = 512UL << 20;
  constexpr const char* file = "artifacts.json";
  if (text.size() > max_text_bytes)
    return fail(ErrorCode::too_large, fmt::format("the manifest has more than {} bytes", max_text_bytes), file);
  auto parsed = json::decode<ArtifactManifest>(text, json::From::ours);
  if (!parsed) {
    parsed.error().field = parsed.error().field.empty() ? file : fmt::format("{}: {}", file, parsed.error().field);
    return parsed;
  }
  if (parsed->schema != 1)
    return fail(ErrorCode::unsupported, fmt::format("the manifest has schema {}, this version knows 1", parsed->schema),
                file, "use a newer orbit");
  if (static_cast<std::int64_t>(parsed->artifacts.size()) > max_artifacts)
    return fail(ErrorCode::too_large, fmt::format("more than {} artifacts", max_artifacts), file);
  const Artifact* before = nullptr;
  for (const Artifact& artifact : parsed->artifacts) {
    const auto refuse = [&](std::string_view why) {
      return fail(ErrorCode::invalid_argument, std::string(why), fmt::format("{}: {}", file, printable(artifact.path)));
    };
    if (const auto checked = check_path(artifact.path, ""); !checked) return refuse(checked.error().message);
    if (before != nullptr && artifact.path == before->path) return refuse("is listed twice");
    if (before != nullptr && artifact.path < before->path) return refuse("is out of order: the list is sorted by path");
    before = &artifact;
    if (artifact.size_bytes < 0) return refuse("has a negative size");
    if (artifact.mode < 0 || artifact.mode > 07777) return refuse("has an impossible mode");
    if (artifact.kind == ArtifactKind::symlink && (!artifact.target || !artifact.sha256.empty()))
      return refuse("a symbolic link has a target and no digest");
    if (artifact.kind == ArtifactKind::file && artifact.target) return refuse("a file has no target");
  }
  return parsed;
}

}  // namespace orbit::bundle
