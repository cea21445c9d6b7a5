#include "orbit/server/routes_frozen.hpp"

#include <algorithm>

#include "orbit/bundle/bundle.hpp"

namespace orbit::server {
namespace {

constexpr std::size_t max_known = 2048;
constexpr std::size_t max_manifests = 8;

Result<std::map<std::string, std::string>> read_params(BlobStore& blobs, const Digest& bundle) {
  ORBIT_TRY_ASSIGN(const BundleManifest manifest, bundle::read_manifest(blobs, bundle));
  ORBIT_TRY_ASSIGN(JobSpec job, bundle::read_job(blobs, manifest));
  return std::move(job.params);
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
  return std::move(*params);
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
  ORBIT_TRY_ASSIGN(const std::string text, blobs.get(digest, bundle::max_manifest_bytes));
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
