#include "orbit/cli/frozen_view.hpp"

#include <algorithm>
#include <string_view>

#include "orbit/base/text.hpp"
#include "orbit/cli/views.hpp"

namespace orbit::cli {
namespace {

constexpr std::size_t shown_digits = 12;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_./=:,+@%").find(c) != std::string_view::npos;
}

}  // namespace

std::string command_line(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words)
    out.push_back(!word.empty() && std::all_of(word.begin(), word.end(), is_plain) ? word : shell_quote(word));
  return join(out, " ");
}

void add_values(Fields& fields, const TemplateValues& values) {
  const Resources& resources = values.resources;
  fields.add("image", values.image.value_or(""));
  fields.add("target", values.target.value_or(""));
  fields.add("gpus", std::to_string(resources.gpus));
  if (resources.gpu_memory_bytes) fields.add("memory per gpu", human_bytes(*resources.gpu_memory_bytes));
  if (resources.cpus) fields.add("cpus", std::to_string(*resources.cpus));
  if (resources.memory_bytes) fields.add("memory", human_bytes(*resources.memory_bytes));
  if (resources.disk_bytes) fields.add("disk", human_bytes(*resources.disk_bytes));
  if (resources.time_limit_s) fields.add("time limit", human_duration(*resources.time_limit_s));
  for (const auto& [key, text] : values.runtime_env) fields.add("env " + escape(key), text);
  fields.add("stop grace", human_duration(values.stop_grace_s));
  fields.add("metrics file", values.metrics_file);
  fields.add("checkpoints", values.checkpoints.directory + "/*/" + values.checkpoints.completion_file);
}

void add_inputs(Fields& fields, const wire::RunSpecObject& spec) {
  for (const auto& [key, value] : spec.job.inputs) fields.add("input " + escape(key), value);
  fields.add("outputs", join(spec.job.outputs, ", "));
  fields.add("command", command_line(spec.submission.command));
}

void add_data(Fields& fields, const std::vector<DataFingerprint>& data) {
  for (const DataFingerprint& item : data)
    fields.add("data " + escape(item.input),
               fmt::format("{} ({}, {}, {})", item.path, counted(item.files, "file"), human_bytes(item.size_bytes),
                           item.sha256.hex().substr(0, shown_digits)));
}

void add_frozen(Fields& fields, const wire::RunSpecObject& spec, const CodeRevision& code) {
  const Submission& submission = spec.submission;
  fields.add("project", submission.project);
  fields.add("experiment", submission.experiment.value_or(""));
  fields.add("tags", join(submission.tags, ", "));
  fields.add("task", spec.job.task);
  fields.add("bundle digest", spec.bundle_digest.hex());
  std::int64_t bytes = 0;
  for (const FileEntry& file : spec.bundle.files) bytes += file.size_bytes;
  fields.add("frozen files", fmt::format("{}, {}", spec.bundle.files.size(), human_bytes(bytes)));
  fields.add("code", describe_code(code));
  if (code.patch) fields.add("patch", code.patch->hex());
  fields.add("entry", spec.job.code_entry);
  for (const auto& [path, digest] : code.key_files)
    fields.add("key file " + escape(path), digest.hex().substr(0, shown_digits));
  for (const auto& [key, value] : spec.job.params) fields.add("param " + escape(key), value);
  add_inputs(fields, spec);
  add_data(fields, spec.job.data);
  fields.add("resume argument", submission.resume_argument.value_or(""));
  fields.add("environment", describe_environment(spec.job.environment));
  fields.add("template", submission.template_id);
  fields.add("template digest", spec.template_digest.hex());
  fields.add("backend", backend_key(spec.request.placement, spec.request.launch));
  for (const auto& [key, value] : submission.overrides) fields.add("override " + escape(key), value);
  add_values(fields, spec.request.values);
}

}  // namespace orbit::cli
