#include <algorithm>

#include "orbit/bundle/bundle.hpp"

namespace orbit::bundle {

Result<BundleManifest> read_manifest(BlobStore& blobs, const Digest& bundle) {
  ORBIT_TRY_ASSIGN(const std::string text, blobs.get(bundle, max_manifest_bytes));
  return parse_manifest(text);
}

Result<JobSpec> read_job(BlobStore& blobs, const BundleManifest& manifest) {
  const auto file = std::find_if(manifest.files.begin(), manifest.files.end(),
                                 [](const FileEntry& each) { return each.path == "job.json"; });
  if (file == manifest.files.end()) return fail(ErrorCode::corrupt, "the bundle has no job.json", "job.json");
  ORBIT_TRY_ASSIGN(const std::string text, blobs.get(file->sha256, max_job_bytes));
  return parse_job(text);
}

}  // namespace orbit::bundle
