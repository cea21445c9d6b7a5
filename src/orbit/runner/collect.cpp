#include "orbit/runner/collect.hpp"

#include <sys/stat.h>

#include "orbit/bundle/bundle.hpp"
#include "orbit/domain/runtime_files.hpp"
#include "orbit/launch/runtime_file.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::runner {
namespace {

namespace fs = std::filesystem;

std::int64_t size_of(const platform::Fd& fd) {
  struct stat stat{};
  return fstat(fd.get(), &stat) == 0 ? stat.st_size : 0;
}

// There as a file or link of that name, or as a directory with something in it.
bool is_there(const ArtifactManifest& manifest, const std::string& output) {
  const std::string below = output + "/";
  for (const auto& artifact : manifest.artifacts)
    if (artifact.path == output || artifact.path.starts_with(below)) return true;
  return false;
}

}  // namespace

Collection collect(const fs::path& directory, const std::vector<std::string>& outputs) {
  Collection out;
  const fs::path artifacts = directory / "artifacts";
  const auto failed = [&](const Error& error) {
    out.error = error.text();
    out.exhausted = error.code == ErrorCode::exhausted;
    return out;
  };
  if (const auto made = platform::make_directories(artifacts); !made) return failed(made.error());
  const auto manifest = bundle::list_artifacts(artifacts, false);
  if (!manifest) return failed(manifest.error());
  for (const auto& output : outputs)
    if (!is_there(*manifest, output)) out.missing_outputs.push_back(output);
  out.skipped = manifest->skipped;
  out.artifact_count = static_cast<std::int64_t>(manifest->artifacts.size());
  for (const auto& artifact : manifest->artifacts) out.artifact_bytes += artifact.size_bytes;
  out.manifest = bundle::artifact_manifest_text(*manifest);
  out.artifacts = Sha256::of(out.manifest);
  return out;
}

Result<void> write_manifest(const fs::path& directory, const Collection& collection) {
  // The directory is synced with result.json, which comes after and names this file's digest.
  const fs::path file = directory / "runtime" / "artifacts.json";
  ORBIT_TRY(launch::write_runtime_file(file, collection.manifest));
  return platform::sync_file(file);
}

std::map<std::string, std::int64_t> log_sizes(const fs::path& directory) {
  std::map<std::string, std::int64_t> out;
  for (const Stream stream : all_streams) {
    const std::string name(stream_name(stream));
    const bool ours = stream == Stream::execution;
    const auto fd = platform::open_beneath(directory / (ours ? "runtime" : "artifacts"), ours ? "execution.log" : name);
    out[name] = fd ? size_of(*fd) : 0;
  }
  return out;
}

}  // namespace orbit::runner
