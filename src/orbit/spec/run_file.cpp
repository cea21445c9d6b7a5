#include "orbit/spec/run_file.hpp"

#include "orbit/base/json.hpp"
#include "orbit/spec/checks.hpp"
#include "orbit/spec/profile.hpp"
#include "orbit/spec/template.hpp"
#include "orbit/spec/template_keys.hpp"
#include "orbit/spec/yaml.hpp"

namespace orbit::spec {
namespace {

struct CodeText {
  std::optional<std::string> source, entry, revision, allow_dirty;
  std::vector<std::string> key_files;
};
BOOST_DESCRIBE_STRUCT(CodeText, (), (source, entry, revision, allow_dirty, key_files))

struct RunFileText {
  std::optional<std::string> project, create_project, task, name, experiment;
  std::vector<std::string> tags;
  std::optional<std::string> template_;  // see spelled()
  std::optional<CodeText> code;
  std::map<std::string, json::Value> params;  // read apart: numbers as written
  std::map<std::string, std::string> inputs;
  std::map<std::string, std::string> resources;
  std::map<std::string, json::Value> overrides;
  std::optional<json::Value> environment;
  std::vector<std::string> command;
  std::optional<std::string> resume_argument;
};
BOOST_DESCRIBE_STRUCT(RunFileText, (),
                      (project, create_project, task, name, experiment, tags, template_, code, params, inputs,
                       resources, overrides, environment, command, resume_argument))

// `template` is a word of C++: the struct's member is called template_. Both ways, so that an error says what the file
// says.
json::Value spelled(json::Value value) {
  json::Object* object = value.if_object();
  if (object == nullptr) return value;
  json::Object out;
  for (auto& item : *object) {
    if (item.key() == "template")
      out["template_"] = std::move(item.value());
    else if (item.key() == "template_")
      out["template__"] = std::move(item.value());
    else
      out[item.key()] = std::move(item.value());
  }
  return out;
}
Error spelled(Error error) {
  for (std::string* text : {&error.field, &error.message, &error.hint})
    for (std::size_t at = 0; (at = text->find("template_", at)) != std::string::npos; ++at) text->erase(at + 8, 1);
  return error;
}

// Overrides may be written flat ("resources.gpus: 2") or nested, as in a template.
Result<void> flatten(const json::Value& value, const std::string& key, std::map<std::string, std::string>& out) {
  const std::string field = "overrides." + key;
  if (value.is_object()) {
    for (const auto& item : value.get_object())
      ORBIT_TRY(flatten(item.value(), key + "." + std::string(item.key()), out));
    return {};
  }
  if (!value.is_string()) return json::detail::wrong_kind(value, "a value", field);
  if (!out.emplace(key, std::string(value.get_string())).second)
    return fail(ErrorCode::invalid_argument, "is given twice", field, "leave one of them");
  if (!is_template_key(key)) return unknown_key(key, field);
  return {};
}

Result<bool> read_bool(const std::string& text, const std::string& field) {
  if (text != "true" && text != "false")
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is not true or false", to_valid_utf8(text.substr(0, 60))), field);
  return text == "true";
}

Result<void> read_code(const CodeText& code, RunFile& out) {
  if (code.source) {
    ORBIT_TRY(check_words(*code.source, "code.source", 4096));
    out.source = *code.source;
  }
  out.submission.entry = code.entry;
  out.revision = code.revision;
  if (code.revision) ORBIT_TRY(check_words(*code.revision, "code.revision", 256));
  if (code.allow_dirty) {
    ORBIT_TRY_ASSIGN(out.allow_dirty, read_bool(*code.allow_dirty, "code.allow_dirty"));
  }
  out.key_files = code.key_files;
  for (std::size_t i = 0; i < out.key_files.size(); ++i) {
    const std::string field = fmt::format("code.key_files[{}]", i);
    ORBIT_TRY(relative_path(out.key_files[i], field, "the code folder"));
  }
  return {};
}

Result<RunFile> read_run_file(const YamlDocument& document) {
  ORBIT_TRY_ASSIGN(const RunFileText text, json::to<RunFileText>(spelled(document.to_json(true)), json::From::user));
  RunFile out;
  Submission& submission = out.submission;
  if (text.project) ORBIT_TRY(check_name(*text.project, "project"));
  if (text.create_project) {
    ORBIT_TRY_ASSIGN(out.create_project, read_bool(*text.create_project, "create_project"));
  }
  if (text.task) ORBIT_TRY(check_name(*text.task, "task"));
  if (text.name) ORBIT_TRY(check_name(*text.name, "name"));
  if (text.experiment) ORBIT_TRY(check_name(*text.experiment, "experiment"));
  if (text.template_) ORBIT_TRY(check_name(*text.template_, "template"));
  for (std::size_t i = 0; i < text.tags.size(); ++i) ORBIT_TRY(check_name(text.tags[i], fmt::format("tags[{}]", i)));
  submission.project = text.project.value_or("");
  submission.task = text.task.value_or("");
  submission.name = text.name;
  submission.experiment = text.experiment;
  submission.tags = text.tags;
  submission.template_id = text.template_.value_or("");
  if (text.code) ORBIT_TRY(read_code(*text.code, out));
  for (auto& [key, source] : document.source_texts("params")) {
    ORBIT_TRY(check_param_key(key, "params." + key));
    submission.params[key] = std::move(source);
  }
  submission.inputs = text.inputs;
  for (const auto& [key, value] : text.resources) {
    if (!is_template_key("resources." + key)) {
      std::vector<std::string> known;
      for (const std::string& name : template_keys())
        if (name.starts_with("resources.")) known.push_back(name.substr(10));
      return json::detail::unknown_member(key, known, "resources");
    }
    submission.resources[key] = value;
  }
  for (const auto& [key, value] : text.overrides) ORBIT_TRY(flatten(value, key, submission.overrides));
  if (text.environment) {
    ORBIT_TRY_ASSIGN(submission.environment, read_environment(*text.environment, "environment"));
    ORBIT_TRY(check_profile(*submission.environment, "environment"));
  }
  submission.command = text.command;
  submission.resume_argument = text.resume_argument;
  return out;
}

}  // namespace

Result<RunFile> parse_run_file(std::string_view text, const std::string& file_name) {
  ORBIT_TRY_ASSIGN(const YamlDocument document, YamlDocument::parse(text, file_name));
  auto out = read_run_file(document);
  if (!out) return fail(document.locate(spelled(std::move(out).error())));
  return out;
}

}  // namespace orbit::spec
