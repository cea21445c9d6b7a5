#include "orbit/server/routes_frozen.hpp"

#include <algorithm>

#include "orbit/bundle/bundle.hpp"

namespace orbit::server {
namespace {

constexpr std::size_t max_known = 2048;
constexpr std::size_t max_manifests = 8;
constexpr std::size_t manifest_limit_bytes = std::size_t{64} << 20;
constexpr std::size_t job_limit_bytes = std::size_t{4} << 20;

std::optional<std::map<std::string, std::string>> read_params(BlobStore& blobs, const Digest& bundle) {
  const auto text = blobs.get(bundle, manifest_limit_bytes);
  if (!text) return std::nullopt;
  const auto manifest = bundle::parse_manifest(*text);
  if (!manifest) return std::nullopt;
  for (const FileEntry& file : manifest->files) {
    if (file.path != "job.json") continue;
    const auto job_text = blobs.get(file.sha256, job_limit_bytes);
    if (!job_text) return std::nullopt;
    auto job = bundle::parse_job(*job_text);
    if (!job) return std::nullopt;
    return std::move(job->params);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::map<std::string, std::string>> FrozenParams::of(BlobStore& blobs, const Digest& bundle) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = known_.find(bundle); it != known_.end()) return it->second;
  }
  auto params = read_params(blobs, bundle);
  if (!params) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (known_.size() >= max_known) known_.clear();
  known_[bundle] = *params;
  return params;
}

Result<std::shared_ptr<const ArtifactManifest>> ArtifactManifests::of(BlobStore& blobs, const Digest& digest) {
  {
    const std::lock_guard lock(mutex_);
    const auto it = std::find_if(known_.begin(), known_.end(), [&](const Known& one) { return one.digest == digest; });
    if (it != known_.end()) {
      known_.splice(known_.begin(), known_, it);
      return it->manifest;
    }
  }
  ORBIT_TRY_ASSIGN(const std::string text, blobs.get(digest, manifest_limit_bytes));
  ORBIT_TRY_ASSIGN(ArtifactManifest parsed, bundle::parse_artifact_manifest(text));
  std::sort(parsed.artifacts.begin(), parsed.artifacts.end(),
            [](const Artifact& a, const Artifact& b) { return a.path < b.path; });
  std::shared_ptr<const ArtifactManifest> manifest = std::make_shared<ArtifactManifest>(std::move(parsed));
  const std::lock_guard lock(mutex_);
  // Two that read it at once may both have it here: the older goes with the next ones.
  known_.push_front({digest, manifest});
  if (known_.size() > max_manifests) known_.pop_back();
  return manifest;
}

}  // namespace orbit::server
