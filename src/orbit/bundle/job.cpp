#include <algorithm>

#include "orbit/base/json.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/bundle/paths.hpp"
#include "orbit/bundle/raw_json.hpp"

namespace orbit::bundle {
namespace {

std::string params_text(const std::map<std::string, std::string>& params) {
  std::string out = "{";
  for (const auto& [key, source] : params) {
    if (out.size() > 1) out += ',';
    out += json::dump(json::Value(key)) + ":" + source;
  }
  return out + "}";
}

Result<void> check_job(const JobSpec& job) {
  ORBIT_TRY(check_path(job.entry, "entry"));
  if (!job.code_entry.empty()) ORBIT_TRY(check_path(job.code_entry, "code_entry"));
  if (!job.metrics_file.empty()) ORBIT_TRY(check_path(job.metrics_file, "metrics_file"));
  ORBIT_TRY(check_path(job.checkpoints.directory, "checkpoints.directory"));
  ORBIT_TRY(check_path(job.checkpoints.completion_file, "checkpoints.completion_file"));
  for (std::size_t i = 0; i < job.outputs.size(); ++i)
    ORBIT_TRY(check_path(job.outputs[i], fmt::format("outputs[{}]", i)));
  for (std::size_t i = 0; i < job.data.size(); ++i) {
    const DataFingerprint& data = job.data[i];
    const std::string field = fmt::format("data[{}]", i);
    if (data.path.empty() || data.path.front() != '/' || data.path.find('\0') != std::string::npos)
      return fail(ErrorCode::invalid_argument, "the path of data that stays outside must be absolute", field + ".path");
    if (data.sha256.empty()) return fail(ErrorCode::invalid_argument, "is missing", field + ".sha256");
    if (data.files < 0 || data.size_bytes < 0)
      return fail(ErrorCode::invalid_argument, "counts cannot be negative", field);
  }
  return {};
}

Result<JobSpec> parse_checked(std::string_view text) {
  ORBIT_TRY_ASSIGN(json::Value value, json::parse(text));
  if (!value.is_object()) return fail(ErrorCode::invalid_argument, "expected a JSON object");
  ORBIT_TRY_ASSIGN(const auto members, raw_members(text));
  const auto params =
      std::find_if(members.begin(), members.end(), [](const auto& member) { return member.first == "params"; });
  value.get_object().erase("params");
  ORBIT_TRY_ASSIGN(JobSpec job, json::to<JobSpec>(value, json::From::ours));
  if (job.schema != 1)
    return fail(ErrorCode::unsupported, fmt::format("has schema {}, this version knows 1", job.schema), "schema",
                "use a newer orbit");
  if (params != members.end() && params->second != "null") {
    auto raw = raw_members(params->second);
    if (!raw) {
      raw.error().field = raw.error().field.empty() ? "params" : "params." + raw.error().field;
      return fail(std::move(raw).error());
    }
    for (auto& [key, source] : *raw) job.params.emplace(std::move(key), std::move(source));
  }
  ORBIT_TRY(check_job(job));
  return job;
}

}  // namespace

std::string job_text(const JobSpec& job) {
  json::Value value = json::from(job);
  std::vector<std::string> keys;
  for (const auto& member : value.get_object()) keys.emplace_back(member.key());
  std::sort(keys.begin(), keys.end());
  std::string out = "{";
  for (const std::string& key : keys) {
    if (out.size() > 1) out += ',';
    out += json::dump(json::Value(key)) + ":";
    out += key == "params" ? params_text(job.params) : json::canonical(value.get_object().at(key));
  }
  return out + "}";
}

Result<JobSpec> parse_job(std::string_view text) {
  if (text.size() > max_job_bytes)
    return fail(ErrorCode::too_large, fmt::format("the job has more than {} bytes", max_job_bytes), "job.json");
  auto job = parse_checked(text);
  if (!job) job.error().field = job.error().field.empty() ? "job.json" : "job.json: " + job.error().field;
  return job;
}

}  // namespace orbit::bundle
