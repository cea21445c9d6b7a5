// From a request to a frozen run (R1): everything is checked and every blob stored before the one durable transaction
// that records the run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "orbit/base/result.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/control/writer.hpp"
#include "orbit/ports/backend_registry.hpp"
#include "orbit/ports/blob_store.hpp"
#include "orbit/ports/clock.hpp"
#include "orbit/ports/rng.hpp"
#include "orbit/server/spec_catalog.hpp"
#include "orbit/server/store_pool.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::server {

struct SubmissionOptions {
  std::filesystem::path templates;   // directory of *.yaml, read again when a file changed
  std::filesystem::path task_types;  // likewise; may be missing
  bool allow_command_tasks = false;
  bundle::Limits limits;
};

struct Submitted {
  RunView run;
  bool created = false;  // false: the same request was made before, this is its run
};

// Thread-safe.
class SubmissionService {
 public:
  SubmissionService(control::Writer& writer, ReaderSource readers, BlobStore& blobs, const BackendRegistry& backends,
                    Clock& clock, Rng& rng, SubmissionOptions options);

  Result<Submitted> submit(const wire::SubmitRequest& request, const std::string& actor);
  // The same checks, but nothing is recorded; only blobs (job.json, scripts, bundle.json) are written.
  Result<wire::SubmitPreview> preview(const wire::SubmitRequest& request, const std::string& actor);

  SpecCatalog& catalog() { return catalog_; }

 private:
  struct Draft;
  Result<Draft> draft(const wire::SubmitRequest& request, const std::string& actor, StoreReader& reader);
  Result<Project> project_of(const wire::SubmitRequest& request, const std::string& actor, StoreReader& reader,
                             std::optional<Project>& made);
  Result<void> freeze(const Draft& draft);
  Result<std::optional<Submitted>> earlier(const RunId& id, const wire::SubmitRequest& request, StoreReader& reader);
  Result<Submitted> record(Draft draft, const wire::SubmitRequest& request, StoreReader& reader);

  control::Writer& writer_;
  ReaderSource readers_;
  BlobStore& blobs_;
  const BackendRegistry& backends_;
  Clock& clock_;
  Rng& rng_;
  SubmissionOptions options_;
  SpecCatalog catalog_;
};

}  // namespace orbit::server
