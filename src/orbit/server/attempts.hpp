// Further attempts of a run that is frozen already (R8): from the beginning, or from a checkpoint.
#pragma once

#include <optional>
#include <string>

#include "orbit/base/result.hpp"
#include "orbit/control/writer.hpp"
#include "orbit/ports/backend_registry.hpp"
#include "orbit/ports/blob_store.hpp"
#include "orbit/ports/clock.hpp"
#include "orbit/ports/rng.hpp"
#include "orbit/server/store_pool.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::server {

// Thread-safe.
class AttemptService {
 public:
  AttemptService(control::Writer& writer, ReaderSource readers, BlobStore& blobs, const BackendRegistry& backends,
                 Clock& clock, Rng& rng);

  // With the same bundle. conflict: one of the run lives.
  Result<Attempt> rerun(const RunView& run, const wire::RerunRequest& request, const std::string& actor);
  // From a checkpoint of an earlier attempt. not_found: there is no such checkpoint; conflict: several match, or one of
  // the run lives.
  Result<Attempt> resume(const RunView& run, const wire::ResumeRequest& request, const std::string& actor);

 private:
  Result<Attempt> add(const Run& run, const std::optional<std::string>& target, std::optional<ResumeFrom> resume,
                      const std::string& actor);

  control::Writer& writer_;
  ReaderSource readers_;
  BlobStore& blobs_;
  const BackendRegistry& backends_;
  Clock& clock_;
  Rng& rng_;
};

}  // namespace orbit::server
