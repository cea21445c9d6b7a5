// R16: how two runs differ, in the parts request, template, code, environment, data and result. Only what differs is
// listed.
#pragma once

#include "orbit/base/result.hpp"
#include "orbit/ports/blob_store.hpp"
#include "orbit/ports/store.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::server {

// The result part compares each run's last succeeded attempt, or its latest where none did.
Result<wire::DiffReport> diff_runs(const RunView& left, const RunView& right, StoreReader& reader, BlobStore& blobs);

}  // namespace orbit::server
