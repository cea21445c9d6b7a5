#include "orbit/server/frozen_spec.hpp"

#include "orbit/bundle/bundle.hpp"

namespace orbit::server {

wire::RunSpecObject spec_of(const Run& run, BundleManifest manifest, JobSpec job) {
  wire::RunSpecObject out;
  out.submission = run.submission;
  out.resolved_from = run.resolved_from;
  out.template_digest = run.template_digest;
  out.request = run.request;
  out.job = std::move(job);
  out.bundle = std::move(manifest);
  out.bundle_digest = run.bundle;
  out.code = run.code;
  out.environment = run.environment;
  out.data = run.data;
  out.created_by = run.created_by;
  out.created_at = run.created_at;
  return out;
}

Result<wire::RunSpecObject> frozen_spec(const Run& run, BlobStore& blobs) {
  ORBIT_TRY_ASSIGN(BundleManifest manifest, bundle::read_manifest(blobs, run.bundle));
  ORBIT_TRY_ASSIGN(JobSpec job, bundle::read_job(blobs, manifest));
  return spec_of(run, std::move(manifest), std::move(job));
}

}  // namespace orbit::server
