#include "orbit/server/routes_frozen.hpp"

#include "orbit/bundle/bundle.hpp"

namespace orbit::server {
namespace {

constexpr std::size_t max_known = 2048;
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

}  // namespace orbit::server
