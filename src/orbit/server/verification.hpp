// R16: recomputes every digest of a run and of what it made, and says what does not hold.
#pragma once

#include "orbit/base/result.hpp"
#include "orbit/ports/backend_registry.hpp"
#include "orbit/ports/blob_store.hpp"
#include "orbit/ports/store.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::server {

// Reads everything; takes as long as reading the artifacts takes. What does not hold is a finding, never an error of
// this call; errors are only for what could not be looked at now (`unavailable`).
Result<wire::VerifyReport> verify_run(const RunView& run, StoreReader& reader, BlobStore& blobs,
                                      const BackendRegistry& backends);

}  // namespace orbit::server
