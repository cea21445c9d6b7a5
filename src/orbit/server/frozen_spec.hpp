// What was frozen of a run, read back from its blobs: for GET /runs/{run}/spec, diff and verify.
#pragma once

#include "orbit/base/result.hpp"
#include "orbit/domain/bundle_spec.hpp"
#include "orbit/domain/records.hpp"
#include "orbit/ports/blob_store.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::server {

wire::RunSpecObject spec_of(const Run& run, BundleManifest manifest, JobSpec job);
// corrupt: a blob is missing or is not what it says.
Result<wire::RunSpecObject> frozen_spec(const Run& run, BlobStore& blobs);

}  // namespace orbit::server
