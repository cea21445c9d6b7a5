#include "orbit/spec/task_type.hpp"

#include <algorithm>

#include "orbit/spec/argv.hpp"
#include "orbit/spec/checks.hpp"
#include "orbit/spec/directory.hpp"
#include "orbit/spec/embedded.hpp"
#include "orbit/spec/schema.hpp"
#include "orbit/spec/yaml.hpp"

namespace orbit::spec {
namespace {

struct InputText {
  InputKind kind = InputKind::text;
  std::optional<std::string> required, description;
};
BOOST_DESCRIBE_STRUCT(InputText, (), (kind, required, description))
struct TaskTypeText {
  std::string id;
  std::optional<std::string> description;
  std::map<std::string, InputText> inputs;
  std::optional<json::Value> params;
  std::optional<std::vector<std::string>> argv;
};
BOOST_DESCRIBE_STRUCT(TaskTypeText, (), (id, description, inputs, params, argv))

Result<InputRule> read_input(const std::string& name, const InputText& text) {
  const std::string field = "inputs." + name;
  ORBIT_TRY(check_param_key(name, field));
  InputRule out{text.kind, true, text.description.value_or("")};
  if (text.required) {
    if (*text.required != "true" && *text.required != "false")
      return fail(ErrorCode::invalid_argument,
                  fmt::format("'{}' is not true or false", to_valid_utf8(text.required->substr(0, 60))),
                  field + ".required");
    out.required = *text.required == "true";
  }
  return out;
}

std::vector<std::string> default_argv(const std::map<std::string, InputRule>& inputs) {
  std::vector<std::string> out{"{entry}"};
  for (const auto& [name, rule] : inputs)
    if (rule.kind != InputKind::output) out.push_back(fmt::format("--{0}={{input.{0}}}", name));
  for (const auto& [name, rule] : inputs)
    if (rule.kind == InputKind::output) out.push_back(fmt::format("--{0}={{output.{0}}}", name));
  out.emplace_back("{params}");
  return out;
}

Failure unknown_name(std::string_view what, const std::string& name, const std::vector<std::string>& known,
                     const std::string& field) {
  const std::string near = nearest(name, known);
  std::string hint =
      known.empty() ? fmt::format("this task type declares no such {}", what) : "declared: " + join(known, ", ");
  if (!near.empty()) hint = "did you mean '" + near + "'?";
  return fail(ErrorCode::invalid_argument, fmt::format("there is no {} '{}'", what, to_valid_utf8(name.substr(0, 64))),
              field, hint);
}

Result<void> check_piece(const TaskType& type, const Piece& piece, const std::string& field) {
  if (piece.kind == PieceKind::input || piece.kind == PieceKind::output) {
    std::vector<std::string> known;
    for (const auto& [name, rule] : type.inputs)
      if (piece.kind == PieceKind::input || rule.kind == InputKind::output) known.push_back(name);
    if (std::find(known.begin(), known.end(), piece.text) == known.end())
      return unknown_name(piece.kind == PieceKind::input ? "input" : "output", piece.text, known, field);
  }
  if (piece.kind == PieceKind::param) {
    ORBIT_TRY(check_param_key(piece.text, field));
    const json::Object* schema = type.params_schema.if_object();
    const json::Value* rest = schema == nullptr ? nullptr : schema->if_contains("additionalProperties");
    if (rest == nullptr || !rest->is_bool() || rest->get_bool() || schema->contains("patternProperties")) return {};
    std::vector<std::string> known;
    if (const json::Value* properties = schema->if_contains("properties");
        properties != nullptr && properties->is_object())
      for (const auto& item : properties->get_object()) known.emplace_back(item.key());
    if (std::find(known.begin(), known.end(), piece.text) == known.end())
      return unknown_name("param", piece.text, known, field);
  }
  return {};
}

Result<void> check_argv(TaskType& type) {
  if (type.argv.empty())
    return fail(ErrorCode::invalid_argument, "is an empty command line", "argv", "leave the key out for the usual one");
  type.needs_entry = false;
  type.ad_hoc = false;
  for (std::size_t i = 0; i < type.argv.size(); ++i) {
    const std::string field = fmt::format("argv[{}]", i);
    if (type.argv[i].find('\0') != std::string::npos)
      return fail(ErrorCode::invalid_argument, "holds a NUL character", field);
    ORBIT_TRY_ASSIGN(const std::vector<Piece> pieces, parse_argv_item(type.argv[i], field));
    for (const Piece& piece : pieces) {
      ORBIT_TRY(check_piece(type, piece, field));
      type.needs_entry = type.needs_entry || piece.kind == PieceKind::entry;
      type.ad_hoc = type.ad_hoc || piece.kind == PieceKind::command;
    }
    if (i > 0) continue;
    // The program must be known: the entry, the submission's command, or a text. It cannot come from a value.
    const PieceKind first = pieces.front().kind;
    if (pieces.size() != 1 || (first != PieceKind::text && first != PieceKind::entry && first != PieceKind::command))
      return fail(ErrorCode::invalid_argument, "the program cannot be made of values", field,
                  "begin with {entry}, a path of the code, or an absolute path");
    if (first == PieceKind::text && pieces.front().text.find('/') == std::string::npos)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("'{}' is not a path", to_valid_utf8(type.argv[0].substr(0, 60))), field,
                  "write ./NAME for a file of the code, or an absolute path");
  }
  return {};
}

Result<TaskType> read_task_type(const YamlDocument& document) {
  ORBIT_TRY_ASSIGN(TaskTypeText text, json::to<TaskTypeText>(document.to_json(true), json::From::user));
  TaskType out;
  ORBIT_TRY(check_name(text.id, "id"));
  out.id = text.id;
  out.description = text.description.value_or("");
  for (const auto& [name, input] : text.inputs) {
    ORBIT_TRY_ASSIGN(out.inputs[name], read_input(name, input));
  }
  out.params_schema = json::Object{{"type", "object"}};
  if (text.params) {
    out.params_schema = document.to_json(false).at("params");
    ORBIT_TRY(check_schema(out.params_schema, "params"));
  }
  out.argv = text.argv ? std::move(*text.argv) : default_argv(out.inputs);
  ORBIT_TRY(check_argv(out));
  return out;
}

}  // namespace

Result<TaskType> parse_task_type(std::string_view text, const std::string& file_name) {
  ORBIT_TRY_ASSIGN(const YamlDocument document, YamlDocument::parse(text, file_name));
  auto out = read_task_type(document);
  if (!out) return fail(document.locate(std::move(out).error()));
  return out;
}

const std::map<std::string, TaskType>& built_in_task_types() {
  static const std::map<std::string, TaskType> types = [] {
    std::map<std::string, TaskType> out;
    for (const EmbeddedFile& file : embedded_task_types()) {
      auto type = parse_task_type(file.text, std::string(file.stem) + ".yaml");
      ORBIT_ASSERT(type && type->id == file.stem);  // compiled in: a test reads each
      out.emplace(type->id, std::move(*type));
    }
    return out;
  }();
  return types;
}

Result<std::map<std::string, TaskType>> load_task_types(const std::filesystem::path& directory) {
  std::map<std::string, TaskType> out = built_in_task_types();
  std::error_code error;
  if (!std::filesystem::exists(directory, error) && !error) return out;
  ORBIT_TRY_ASSIGN(auto declared,
                   load_directory<TaskType>(directory, [](const YamlDocument& document) -> Result<TaskType> {
                     ORBIT_TRY_ASSIGN(TaskType type, read_task_type(document));
                     if (built_in_task_types().contains(type.id))
                       return fail(ErrorCode::conflict, fmt::format("'{}' is a built-in task type", type.id), "id",
                                   "choose another id");
                     return type;
                   }));
  out.merge(declared);
  return out;
}

}  // namespace orbit::spec
