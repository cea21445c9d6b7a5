// Task types (R4): they shape and check a request; the execution core never sees them. The built-in ones are files too,
// compiled in.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "orbit/base/json.hpp"
#include "orbit/base/result.hpp"
#include "orbit/domain/bundle_spec.hpp"
#include "orbit/domain/records.hpp"

namespace orbit::spec {

enum class InputKind {
  data,    // file or folder: staged when relative to the code, fingerprinted when absolute
  output,  // file expected below artifacts/; several separated by commas
  text,    // anything
};
BOOST_DESCRIBE_ENUM(InputKind, data, output, text)

struct InputRule {
  InputKind kind = InputKind::text;
  bool required = true;
  std::string description;
};
BOOST_DESCRIBE_STRUCT(InputRule, (), (kind, required, description))

struct TaskType {
  std::string id;
  std::string description;
  std::map<std::string, InputRule> inputs;
  json::Value params_schema;  // JSON Schema (draft 7) of the params object; default: any object
  // Entry template. Items: plain text; {entry}; {input.NAME}; {param.NAME}; {output.NAME} (path below
  // $ORBIT_ARTIFACTS); {params} expands to one --key=value for each param not used by name; {command} to the
  // submission's command; an item whose optional input or param is absent is dropped, one whose output names several
  // files is repeated; {{ is a brace. Absent in a file: {entry}, --NAME={input.NAME} for each input, {params}.
  std::vector<std::string> argv;
  bool needs_entry = true;  // {entry} is used
  bool ad_hoc = false;      // {command} is used, as in `command`: refused unless server and node allow it
};

// YAML with the keys id, description, inputs, params (JSON Schema), argv. Errors name file, line and key.
Result<TaskType> parse_task_type(std::string_view text, const std::string& file_name);
const std::map<std::string, TaskType>& built_in_task_types();  // training, evaluation, collection, command
// Built-in ones and those of DATA/task-types/*.yaml (none where there is no such directory). A file cannot take a
// built-in one's id.
Result<std::map<std::string, TaskType>> load_task_types(const std::filesystem::path& directory);

struct ShapedTask {
  JobSpec job;  // without data fingerprints
  std::vector<std::string>
      argv;  // for bundle::assemble; words are data, none is quoted; output paths begin with $ORBIT_ARTIFACTS/
  std::vector<std::string>
      data_inputs;  // inputs of kind data: name; the value is in job.inputs: absolute, or relative to inputs/code
};
// Types the params by the schema, checks them and the inputs. Each error names `params.<key>` or `inputs.<key>` and
// what is wanted.
Result<ShapedTask> shape(const TaskType& type, const Submission& submission, const ExecutionRequest& request,
                         const EnvironmentProfile& environment);

}  // namespace orbit::spec
