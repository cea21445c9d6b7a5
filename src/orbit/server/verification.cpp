#include "orbit/server/verification.hpp"

#include <unordered_map>

#include "orbit/base/text.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::server {
namespace {

// That we could not look now is no statement about what was to be looked at.
bool says_nothing(const Error& error) {
  return error.code == ErrorCode::unavailable || error.code == ErrorCode::exhausted;
}

class Verification {
 public:
  Verification(const RunView& view, StoreReader& reader, BlobStore& blobs, const BackendRegistry& backends)
      : view_(view), reader_(reader), blobs_(blobs), backends_(backends) {}

  Result<wire::VerifyReport> run() {
    report_.run = view_.run.id.str();
    check_template();
    ORBIT_TRY(check_bundle());
    for (const Attempt& attempt : view_.attempts) ORBIT_TRY(check_attempt(attempt));
    report_.ok = report_.findings.empty();
    return std::move(report_);
  }

 private:
  void found(const char* part, std::string subject, std::string problem) {
    report_.findings.push_back({part, to_valid_utf8(subject), to_valid_utf8(problem)});
  }

  void check_template() {
    const Digest now = digest_of(view_.run.resolved_from);
    if (now != view_.run.template_digest)
      found("template", view_.run.resolved_from.id,
            fmt::format("changed: digest {}, expected {}", now.hex(), view_.run.template_digest.hex()));
  }

  // The text of a blob, digest checked here and not only by whoever stores it. Nothing: a finding was made.
  Result<std::optional<std::string>> text_of(const Digest& digest, std::size_t limit, const char* part,
                                             const std::string& subject) {
    auto text = blobs_.get(digest, limit);
    if (!text) {
      if (says_nothing(text.error())) return fail(std::move(text).error());
      found(part, subject, text.error().code == ErrorCode::not_found ? "missing" : text.error().message);
      return std::optional<std::string>();
    }
    if (const Digest now = Sha256::of(*text); now != digest) {
      found(part, subject, fmt::format("changed: digest {}, expected {}", now.hex(), digest.hex()));
      return std::optional<std::string>();
    }
    return std::optional(std::move(*text));
  }

  // What is wrong with a blob; empty: nothing. Each is read once, however many files have that content.
  Result<std::string> problem_of_blob(const Digest& digest) {
    if (const auto it = looked_at_.find(digest); it != looked_at_.end()) return it->second;
    std::string problem;
    auto path = blobs_.path(digest);
    auto now = path ? platform::digest_of_file(*path) : Result<Digest>(fail(path.error()));
    if (!now) {
      if (says_nothing(now.error())) return fail(std::move(now).error());
      problem = now.error().code == ErrorCode::not_found ? "missing" : now.error().message;
    } else if (*now != digest) {
      problem = fmt::format("changed: digest {}, expected {}", now->hex(), digest.hex());
    }
    looked_at_[digest] = problem;
    return problem;
  }

  Result<void> check_bundle() {
    const Run& run = view_.run;
    ORBIT_TRY_ASSIGN(const auto text, text_of(run.bundle, bundle::max_manifest_bytes, "bundle", "bundle.json"));
    if (!text) return {};
    auto manifest = bundle::parse_manifest(*text);
    if (!manifest) {
      found("bundle", "bundle.json", manifest.error().text());
      return {};
    }
    const FileEntry* job = nullptr;
    const FileEntry* patch = nullptr;
    for (const FileEntry& file : manifest->files) {
      ++report_.bundle_files;
      report_.bytes += file.size_bytes;
      ORBIT_TRY_ASSIGN(const std::string problem, problem_of_blob(file.sha256));
      if (!problem.empty()) found("bundle", file.path, problem);
      if (file.path == "job.json") job = &file;
      if (file.path == "inputs/patch.diff") patch = &file;
      if (!file.path.starts_with("inputs/code/")) continue;
      const auto key_file = run.code.key_files.find(file.path.substr(std::string_view("inputs/code/").size()));
      if (key_file != run.code.key_files.end() && key_file->second != file.sha256)
        found("record", file.path, "the recorded fingerprint is not that of the frozen file");
    }
    if (run.code.patch.has_value() != (patch != nullptr) || (patch != nullptr && *run.code.patch != patch->sha256))
      found("record", "inputs/patch.diff", "the recorded patch is not the frozen one");
    return check_job(job);
  }

  Result<void> check_job(const FileEntry* file) {
    if (file == nullptr) {
      found("bundle", "job.json", "missing");
      return {};
    }
    if (!looked_at_[file->sha256].empty()) return {};  // said already
    ORBIT_TRY_ASSIGN(const auto text, text_of(file->sha256, bundle::max_job_bytes, "bundle", "job.json"));
    if (!text) return {};
    auto job = bundle::parse_job(*text);
    if (!job) {
      found("bundle", "job.json", job.error().text());
      return {};
    }
    const Run& run = view_.run;
    if (json::encode(job->data) != json::encode(run.data))
      found("record", "data", "the recorded fingerprints are not those of job.json");
    if (json::encode(job->environment) != json::encode(run.environment))
      found("record", "environment", "the recorded profile is not that of job.json");
    if (job->task != run.task) found("record", "task", "the recorded task is not that of job.json");
    return {};
  }

  Result<void> check_attempt(const Attempt& attempt) {
    const std::string name = fmt::format("attempt {}", attempt.number);
    if (attempt.artifacts.empty()) {
      if (attempt.state == AttemptState::succeeded)
        found("record", name, "succeeded, but has no manifest of artifacts");
      return {};  // it left nothing that could be verified
    }
    if (attempt.result && attempt.result->artifacts != attempt.artifacts)
      found("record", name, "the manifest is not the one its runner named");
    ORBIT_TRY_ASSIGN(const auto text, text_of(attempt.artifacts, bundle::max_manifest_bytes, "artifact",
                                              name + ": runtime/artifacts.json"));
    if (!text) return {};
    auto manifest = bundle::parse_artifact_manifest(*text);
    if (!manifest) {
      found("artifact", name + ": runtime/artifacts.json", manifest.error().text());
      return {};
    }
    std::int64_t bytes = 0;
    for (const Artifact& artifact : manifest->artifacts) bytes += artifact.size_bytes;
    const auto count = static_cast<std::int64_t>(manifest->artifacts.size());
    if (count != attempt.artifact_count || bytes != attempt.artifact_bytes)
      found("record", name,
            fmt::format("records {} artifacts of {} bytes, the manifest has {} of {}", attempt.artifact_count,
                        attempt.artifact_bytes, count, bytes));
    report_.artifacts += count;
    report_.bytes += bytes;
    ORBIT_TRY(check_artifacts(attempt, name, *manifest));
    return check_checkpoints(attempt, name, *manifest);
  }

  Result<void> check_artifacts(const Attempt& attempt, const std::string& name, const ArtifactManifest& manifest) {
    auto backend = backends_.find(attempt.placement, attempt.launch);
    if (!backend) return fail(ErrorCode::unavailable, backend.error().message, name);
    auto broken = (*backend)->verify_artifacts(attempt.handle, manifest);
    if (!broken) {
      if (says_nothing(broken.error())) return fail(std::move(broken).error());
      found("artifact", name,
            broken.error().code == ErrorCode::not_found ? "its directory is gone" : broken.error().text());
      return {};
    }
    for (const auto& [path, problem] : *broken) found("artifact", name + ": artifacts/" + path, problem);
    return {};
  }

  // What was announced as a checkpoint is what lies there. One the workload removed again (most keep the last few) is
  // no fault.
  Result<void> check_checkpoints(const Attempt& attempt, const std::string& name, const ArtifactManifest& manifest) {
    ORBIT_TRY_ASSIGN(const auto checkpoints, reader_.checkpoints(attempt.id));
    for (const CheckpointRecord& checkpoint : checkpoints) {
      const std::string prefix = checkpoint.path + "/";
      std::vector<FileEntry> files;
      for (const Artifact& artifact : manifest.artifacts)
        if (artifact.kind == ArtifactKind::file && artifact.path.starts_with(prefix))
          files.push_back(
              {artifact.path.substr(prefix.size()), (artifact.mode & 0100) != 0, artifact.size_bytes, artifact.sha256});
      if (files.empty()) continue;
      if (const Digest now = bundle::digest_of_list(files); now != checkpoint.sha256)
        found(
            "checkpoint", name + ": artifacts/" + checkpoint.path,
            fmt::format("changed after it was announced: digest {}, expected {}", now.hex(), checkpoint.sha256.hex()));
    }
    return {};
  }

  const RunView& view_;
  StoreReader& reader_;
  BlobStore& blobs_;
  const BackendRegistry& backends_;
  wire::VerifyReport report_;
  std::unordered_map<Digest, std::string> looked_at_;
};

}  // namespace

Result<wire::VerifyReport> verify_run(const RunView& run, StoreReader& reader, BlobStore& blobs,
                                      const BackendRegistry& backends) {
  return Verification(run, reader, blobs, backends).run();
}

}  // namespace orbit::server
