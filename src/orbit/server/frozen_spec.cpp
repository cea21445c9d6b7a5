#include "orbit/server/frozen_spec.hpp"

#include "orbit/bundle/bundle.hpp"

namespace orbit::server {
namespace {

constexpr std::size_t max_manifest_bytes = 192UL << 20;
constexpr std::size_t max_job_bytes = 16UL << 20;

}  // namespace

Result<wire::RunSpecObject> frozen_spec(const Run& run, BlobStore& blobs) {
  wire::RunSpecObject out;
  out.submission = run.submission;
  out.resolved_from = run.resolved_from;
  out.template_digest = run.template_digest;
  out.request = run.request;
  out.bundle_digest = run.bundle;
  ORBIT_TRY_ASSIGN(const std::string manifest, blobs.get(run.bundle, max_manifest_bytes));
  ORBIT_TRY_ASSIGN(out.bundle, bundle::parse_manifest(manifest));
  for (const FileEntry& file : out.bundle.files) {
    if (file.path != "job.json") continue;
    ORBIT_TRY_ASSIGN(const std::string job, blobs.get(file.sha256, max_job_bytes));
    ORBIT_TRY_ASSIGN(out.job, bundle::parse_job(job));
    return out;
  }
  return fail(ErrorCode::corrupt, "the bundle has no job.json", run.bundle.hex());
}

}  // namespace orbit::server
