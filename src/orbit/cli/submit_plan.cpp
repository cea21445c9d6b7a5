#include "orbit/cli/submit_plan.hpp"

#include <algorithm>

#include "orbit/base/text.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/spec/run_file.hpp"
#include "orbit/spec/template.hpp"

namespace orbit::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t run_file_limit_bytes = 1 << 20;

void take(std::optional<std::string>& target, const std::optional<std::string>& flag) {
  if (flag) target = flag;
}
void take(std::string& target, const std::optional<std::string>& flag) {
  if (flag) target = *flag;
}

Result<void> assign(std::map<std::string, std::string>& target, const std::vector<std::string>& assignments,
                    const std::string& flag) {
  std::map<std::string, std::string> given;
  for (const std::string& text : assignments) {
    ORBIT_TRY_ASSIGN(auto pair, parse_assignment(text, flag));
    if (!given.insert(pair).second)
      return fail(ErrorCode::invalid_argument, fmt::format("'{}' is given twice", to_valid_utf8(pair.first)), flag);
    target[pair.first] = pair.second;
  }
  return {};
}

}  // namespace

std::string absolute_source(const std::string& source, const fs::path& base) {
  if (is_repository_url(source)) return source;
  const fs::path path = (fs::path(source).is_absolute() ? fs::path(source) : base / source).lexically_normal();
  return path.has_filename() ? path.string() : path.parent_path().string();  // no slash at the end
}

Result<EnvironmentProfile> read_environment(const std::string& text, const fs::path& current) {
  if (text == "any") {
    EnvironmentProfile any;
    any.any = true;
    return any;
  }
  auto yaml = platform::read_file(current / text, run_file_limit_bytes);
  if (!yaml) {
    Error error = std::move(yaml).error();
    error.field = "--env";
    error.hint = "name a profile file, or write any";
    return fail(std::move(error));
  }
  return spec::parse_profile(*yaml, text);
}

bool is_repository_url(const std::string& source) {
  if (source.find("://") != std::string::npos) return true;
  const std::size_t colon = source.find(':');  // scp-like: user@host:path
  return colon != std::string::npos && source.find('@') < colon && source.find('/') > colon;
}

Result<std::pair<std::string, std::string>> parse_assignment(const std::string& text, const std::string& flag) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not key=value", to_valid_utf8(text.substr(0, 80))),
                flag, "write " + flag + " key=value");
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Result<SubmitPlan> plan_submission(const SubmitOptions& options, const std::vector<std::string>& command,
                                   const fs::path& current) {
  SubmitPlan plan;
  Submission& submission = plan.submission;
  if (options.file) {
    const fs::path path = current / *options.file;
    auto text = platform::read_file(path, run_file_limit_bytes);
    if (!text) {
      Error error = std::move(text).error();
      error.field = *options.file;
      error.hint = "-f names a run file, see examples/digits/run.yaml";
      // A directory or a huge file is a wrong argument; `refused` would end the program as a bad credential does.
      if (error.code == ErrorCode::refused || error.code == ErrorCode::too_large)
        error.code = ErrorCode::invalid_argument;
      return fail(std::move(error));
    }
    ORBIT_TRY_ASSIGN(spec::RunFile file, spec::parse_run_file(*text, *options.file));
    submission = std::move(file.submission);
    plan.source = absolute_source(file.source, path.parent_path());
    plan.revision = std::move(file.revision);
    plan.allow_dirty = file.allow_dirty;
    plan.create_project = file.create_project || options.create_project;
    for (std::size_t i = 0; i < file.key_files.size(); ++i)
      plan.key_files.push_back({file.key_files[i], fmt::format("code.key_files[{}]", i)});
  }
  take(submission.project, options.project);
  take(submission.task, options.task);
  take(submission.template_id, options.template_id);
  take(submission.name, options.name);
  take(submission.experiment, options.experiment);
  take(submission.entry, options.entry);
  take(submission.resume_argument, options.resume_argument);
  if (options.environment) {
    ORBIT_TRY_ASSIGN(submission.environment, read_environment(*options.environment, current));
  }
  ORBIT_TRY(assign(submission.params, options.params, "--param"));
  ORBIT_TRY(assign(submission.overrides, options.overrides, "--set"));
  ORBIT_TRY(assign(submission.inputs, options.inputs, "--input"));
  const std::pair<const char*, const std::optional<std::string>*> resources[] = {
      {"gpus", &options.gpus}, {"gpu_memory", &options.gpu_memory},
      {"cpus", &options.cpus}, {"memory", &options.memory},
      {"disk", &options.disk}, {"time_limit", &options.time_limit}};
  for (const auto& [key, value] : resources)
    if (*value) submission.resources[key] = **value;
  for (const std::string& tag : options.tags)
    if (std::find(submission.tags.begin(), submission.tags.end(), tag) == submission.tags.end())
      submission.tags.push_back(tag);

  if (!command.empty()) {
    if (submission.task.empty()) submission.task = "command";
    submission.command = command;
  }
  if (submission.task.empty())
    return fail(ErrorCode::invalid_argument, "is missing", "--task",
                "training, evaluation, collection or a type of your own; or put a command line behind --");
  if (submission.template_id.empty()) submission.template_id = "local-host";
  if (submission.project.empty())
    return fail(ErrorCode::invalid_argument, "is missing", "--project",
                "name the project, or use a run file: -f run.yaml");
  ORBIT_TRY(check_name(submission.project, "--project"));
  if (submission.name) ORBIT_TRY(check_name(*submission.name, "--name"));

  if (options.source) plan.source = absolute_source(*options.source, current);
  take(plan.revision, options.revision);
  plan.allow_dirty = plan.allow_dirty || options.allow_dirty;
  for (const std::string& pattern : options.key_files) plan.key_files.push_back({pattern, "--key-file"});
  return plan;
}

}  // namespace orbit::cli
