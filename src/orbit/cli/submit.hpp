// The steps of a submission after its plan: read the code, fingerprint data, send what the server lacks, record the run
// once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orbit/bundle/source.hpp"
#include "orbit/cli/api.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/cli/logs.hpp"
#include "orbit/cli/submit_plan.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::cli {

// Tries again what may be sent twice while the server cannot be reached, for about half a minute.
constexpr Backoff submit_backoff{200, 4'000, 30'000};

template <class F>
auto retried(const Backoff& backoff, F&& call) -> decltype(call()) {
  std::int64_t waited_ms = 0;
  for (int failures = 1;; ++failures) {
    auto result = call();
    if (result || result.error().code != ErrorCode::unavailable) return result;
    const std::int64_t wait_ms = backoff.wait_ms(failures);
    waited_ms += wait_ms;
    if (waited_ms > backoff.give_up_ms) return result;
    pause_for(wait_ms, {});
  }
}

// Names of the task's inputs that are data, by the server's own task types.
Result<std::vector<std::string>> data_inputs(Api& api, const std::string& task);
// Fingerprints of those that are absolute paths on this machine: they stay where they are and are checked again before
// the start.
Result<std::vector<DataFingerprint>> fingerprint_data(const Submission& submission,
                                                      const std::vector<std::string>& names);

struct Content {  // bytes by digest: a file, or text in memory
  std::filesystem::path file;
  std::string bytes;
  std::int64_t size_bytes = 0;
};
struct CodeContents {
  Digest files;                        // of the list: SubmitRequest::files
  std::map<Digest, Content> contents;  // the list itself among them; each once
};
CodeContents contents_of(std::vector<bundle::SourceFile> files);

struct UploadCount {
  std::int64_t blobs = 0;
  std::int64_t bytes = 0;
};
// Sends what the server does not have yet.
Result<UploadCount> upload_missing(Api& api, Context& context, const CodeContents& code, const Backoff& backoff);

// POST /runs with the request's own id, so that sending it again after a cut connection makes no second run. The
// answer's text.
Result<std::string> post_run(Api& api, const wire::SubmitRequest& request, const Backoff& backoff);

Result<int> run_submit(Context& context, const SubmitOptions& options);

}  // namespace orbit::cli
