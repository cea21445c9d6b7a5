#include "orbit/server/diff.hpp"

#include <algorithm>
#include <map>

#include "orbit/bundle/bundle.hpp"
#include "orbit/server/flatten.hpp"
#include "orbit/server/frozen_spec.hpp"

namespace orbit::server {
namespace {

using Values = std::map<std::string, std::string>;

constexpr std::size_t max_items_of_a_list = 1000;  // files, artifacts: beyond it only their number is said

std::optional<std::string> value_at(const Values& values, const std::string& key) {
  const auto it = values.find(key);
  return it == values.end() ? std::nullopt : std::optional(it->second);
}

void compare(const std::string& part, const Values& left, const Values& right, std::vector<wire::DiffItem>& out) {
  std::vector<wire::DiffItem> found;
  for (const auto& [key, value] : left) {
    const auto other = value_at(right, key);
    if (other != value) found.push_back({part, key, value, other});
  }
  for (const auto& [key, value] : right)
    if (!left.contains(key)) found.push_back({part, key, std::nullopt, value});
  std::sort(found.begin(), found.end(), [](const wire::DiffItem& a, const wire::DiffItem& b) { return a.key < b.key; });
  out.insert(out.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
}

// As compare(), for what may be very long.
void compare_list(const std::string& part, const std::string& what, const Values& left, const Values& right,
                  std::vector<wire::DiffItem>& out) {
  std::vector<wire::DiffItem> found;
  compare(part, left, right, found);
  const std::size_t all = found.size();
  if (all > max_items_of_a_list) {
    found.resize(max_items_of_a_list);
    found.push_back(
        {part, fmt::format("{} more {} differ", all - max_items_of_a_list, what), std::nullopt, std::nullopt});
  }
  out.insert(out.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
}

// What was asked. Params and inputs as they took effect; the name, which differs by definition, is left out.
Values request_of(const Run& run, const JobSpec& job) {
  Submission asked = run.submission;
  asked.name.reset();
  asked.params = job.params;
  asked.inputs = job.inputs;
  asked.environment.reset();  // a part of its own
  Values out = flattened(asked);
  if (!job.code_entry.empty()) out["entry"] = job.code_entry;
  return out;
}

Values template_of(const Run& run) {
  Values out = flattened(run.resolved_from);
  out["digest"] = run.template_digest.hex();
  flatten(json::from(run.request), "resolved", out);
  return out;
}

Values code_of(const Run& run) {
  Values out = flattened(run.code);
  out["bundle"] = run.bundle.hex();
  return out;
}

Values files_of(const BundleManifest& manifest) {
  Values out;
  for (const FileEntry& file : manifest.files)
    if (file.path.starts_with("inputs/")) out[file.path] = file.sha256.hex() + (file.executable ? " 0755" : " 0644");
  return out;
}

Values data_of(const Run& run) {
  Values out;
  for (const DataFingerprint& data : run.data) {
    Values members = flattened(data);
    members.erase("input");
    for (auto& [key, value] : members) out[data.input + "." + key] = std::move(value);
  }
  return out;
}

const Attempt* attempt_that_counts(const RunView& view) {
  const Attempt* out = nullptr;
  for (const Attempt& attempt : view.attempts) {
    const bool succeeded = attempt.state == AttemptState::succeeded;
    if (out == nullptr || succeeded || out->state != AttemptState::succeeded) out = &attempt;
  }
  return out;
}

// What was asked for, and what the machine had.
Values environment_of(const RunView& view) {
  Values out = flattened(view.run.environment);
  const Attempt* attempt = attempt_that_counts(view);
  if (attempt != nullptr && attempt->result)
    for (const auto& [check, found] : attempt->result->environment) out["found." + check] = found;
  return out;
}

struct Outcome {
  Values values;
  Values artifacts;
};

Result<Outcome> result_of(const RunView& view, StoreReader& reader, BlobStore& blobs) {
  Outcome out;
  const Attempt* attempt = attempt_that_counts(view);
  if (attempt == nullptr) return out;
  out.values["attempt.state"] = json::name_of(attempt->state);
  if (attempt->reason) out.values["attempt.reason"] = json::name_of(*attempt->reason);
  if (attempt->exit_code) out.values["attempt.exit_code"] = std::to_string(*attempt->exit_code);
  if (attempt->signal) out.values["attempt.signal"] = std::to_string(*attempt->signal);
  if (attempt->resume) out.values["attempt.resumed_from"] = attempt->resume->checkpoint;
  if (attempt->started_at && attempt->ended_at)
    out.values["attempt.duration_s"] = std::to_string((attempt->ended_at->ms - attempt->started_at->ms) / 1000);

  ORBIT_TRY_ASSIGN(const auto points, reader.metrics(attempt->id, ""));
  std::map<std::string, MetricPoint> last;
  for (const MetricPoint& point : points)
    if (const auto [it, is_new] = last.emplace(point.name, point); !is_new && it->second.step <= point.step)
      it->second = point;
  for (const auto& [name, point] : last)
    out.values["metric." + name] = fmt::format("{} (step {})", point.value, point.step);

  if (!attempt->artifacts.empty()) {
    ORBIT_TRY_ASSIGN(const std::string text, blobs.get(attempt->artifacts, bundle::max_manifest_bytes));
    ORBIT_TRY_ASSIGN(const ArtifactManifest manifest, bundle::parse_artifact_manifest(text));
    for (const Artifact& artifact : manifest.artifacts)
      out.artifacts["artifact." + artifact.path] =
          artifact.kind == ArtifactKind::symlink ? "-> " + artifact.target.value_or("") : artifact.sha256.hex();
  }
  return out;
}

}  // namespace

Result<wire::DiffReport> diff_runs(const RunView& left, const RunView& right, StoreReader& reader, BlobStore& blobs) {
  wire::DiffReport out;
  out.left = left.run.id.str();
  out.right = right.run.id.str();
  if (left.run.id == right.run.id) return out;
  ORBIT_TRY_ASSIGN(const wire::RunSpecObject left_spec, frozen_spec(left.run, blobs));
  ORBIT_TRY_ASSIGN(const wire::RunSpecObject right_spec, frozen_spec(right.run, blobs));
  compare("request", request_of(left.run, left_spec.job), request_of(right.run, right_spec.job), out.items);
  compare("template", template_of(left.run), template_of(right.run), out.items);
  compare("code", code_of(left.run), code_of(right.run), out.items);
  compare_list("code", "files", files_of(left_spec.bundle), files_of(right_spec.bundle), out.items);
  compare("environment", environment_of(left), environment_of(right), out.items);
  compare("data", data_of(left.run), data_of(right.run), out.items);
  ORBIT_TRY_ASSIGN(const Outcome left_result, result_of(left, reader, blobs));
  ORBIT_TRY_ASSIGN(const Outcome right_result, result_of(right, reader, blobs));
  compare("result", left_result.values, right_result.values, out.items);
  compare_list("result", "artifacts", left_result.artifacts, right_result.artifacts, out.items);
  return out;
}

}  // namespace orbit::server
