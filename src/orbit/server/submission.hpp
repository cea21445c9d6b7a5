// From a request to a frozen run (R1): everything is checked and every blob stored before the one durable transaction
// that records the run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "orbit/base/result.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/control/writer.hpp"
#include "orbit/ports/backend_registry.hpp"
#include "orbit/ports/blob_store.hpp"
#include "orbit/ports/clock.hpp"
#include "orbit/ports/rng.hpp"
#include "orbit/ports/store.hpp"
#include "orbit/server/spec_catalog.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::server {

// A connection for as long as the pointer lives; afterwards it goes back to whoever lent it.
using ReaderSource = std::function<Result<std::shared_ptr<StoreReader>>()>;

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

  // A further attempt with the same bundle (R8). Conflict while one lives.
  Result<Attempt> rerun(const RunView& run, const wire::RerunRequest& request, const std::string& actor);
  // A further attempt from a checkpoint of an earlier one. not_found: there is no such checkpoint; conflict: several
  // match.
  Result<Attempt> resume(const RunView& run, const wire::ResumeRequest& request, const std::string& actor);

  // As the files are now. An unreadable file is an error naming it, and spoils no other call.
  Result<std::map<std::string, Template>> templates();
  Result<std::map<std::string, spec::TaskType>> task_types();

 private:
  struct Draft;
  Result<Draft> draft(const wire::SubmitRequest& request, const std::string& actor, StoreReader& reader);
  Result<void> freeze(const Draft& draft);
  Result<std::optional<Submitted>> earlier(const RunId& id, const wire::SubmitRequest& request, StoreReader& reader);
  Result<Submitted> record(Draft draft, const wire::SubmitRequest& request, StoreReader& reader);
  Result<Attempt> add_attempt(const Run& run, const std::optional<std::string>& target,
                              std::optional<ResumeFrom> resume, const std::string& actor);
  Result<std::string> where(const ExecutionRequest& request);

  control::Writer& writer_;
  ReaderSource readers_;
  BlobStore& blobs_;
  const BackendRegistry& backends_;
  Clock& clock_;
  Rng& rng_;
  SubmissionOptions options_;
  SpecCatalog catalog_;
};

// What was frozen of a run, read back from its blobs: for GET /runs/{run}/spec, diff and verify.
Result<wire::RunSpecObject> frozen_spec(const Run& run, BlobStore& blobs);

}  // namespace orbit::server
