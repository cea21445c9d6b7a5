// From a submission to a job and a command line. Words of the command line are data from here on: quoting is
// bundle::assemble's.
#include <algorithm>

#include "orbit/spec/argv.hpp"
#include "orbit/spec/checks.hpp"
#include "orbit/spec/params.hpp"
#include "orbit/spec/task_type.hpp"

namespace orbit::spec {
namespace {

constexpr std::size_t max_input_bytes = 4096;
constexpr std::size_t max_words = 10'000;
constexpr std::size_t max_word_bytes = 128 * 1024 - 1;  // the kernel's MAX_ARG_STRLEN
constexpr std::size_t max_command_line_bytes =
    1024 * 1024;  // half of the usual ARG_MAX: the environment needs room too
constexpr const char* artifacts = "$ORBIT_ARTIFACTS/";

std::string_view wanted(InputKind kind) {
  switch (kind) {
    case InputKind::data:
      return "a file or folder: relative to the code, or absolute";
    case InputKind::output:
      return "a file below artifacts/, or several separated by commas";
    case InputKind::text:
      return "a text";
  }
  return "";
}

Result<std::string> data_path(const std::string& value, const std::string& field) {
  if (value.starts_with('/')) return value;
  if (value.find("://") != std::string::npos)
    return fail(ErrorCode::unsupported, fmt::format("'{}' is a URL", to_valid_utf8(value.substr(0, 80))), field,
                "give a path: relative to the code, or absolute on the machine that runs it");
  return relative_path(value, field, "the code folder");
}

Result<std::vector<std::string>> output_paths(const std::string& value, const std::string& field) {
  std::vector<std::string> out;
  for (const std::string& part : split(value, ',')) {
    const std::size_t begin = part.find_first_not_of(' ');
    const std::string trimmed =
        begin == std::string::npos ? "" : part.substr(begin, part.find_last_not_of(' ') - begin + 1);
    ORBIT_TRY_ASSIGN(std::string path, artifact_path(trimmed, field));
    if (std::find(out.begin(), out.end(), path) != out.end())
      return fail(ErrorCode::invalid_argument, fmt::format("names '{}' twice", path), field);
    out.push_back(std::move(path));
  }
  return out;
}

Result<void> shape_inputs(const TaskType& type, const Submission& submission, ShapedTask& out) {
  std::vector<std::string> known;
  for (const auto& [name, rule] : type.inputs) known.push_back(name);
  for (const auto& [name, value] : submission.inputs)
    if (!type.inputs.contains(name)) {
      const std::string shown = to_valid_utf8(name.substr(0, 64));
      if (known.empty())
        return fail(ErrorCode::invalid_argument, fmt::format("task '{}' takes no inputs", type.id), "inputs." + shown,
                    "remove it");
      return json::detail::unknown_member(name, known, "inputs");
    }
  for (const auto& [name, rule] : type.inputs) {
    const std::string field = "inputs." + name;
    const auto given = submission.inputs.find(name);
    if (given == submission.inputs.end()) {
      if (!rule.required) continue;
      return fail(ErrorCode::invalid_argument, fmt::format("is missing: task '{}' requires it", type.id), field,
                  fmt::format("wanted: {}{}", wanted(rule.kind),
                              rule.description.empty() ? "" : " (" + rule.description + ")"));
    }
    auto checked = check_words(given->second, field, max_input_bytes);
    if (!checked) {
      checked.error().hint = fmt::format("wanted: {}", wanted(rule.kind));
      return checked;
    }
    switch (rule.kind) {
      case InputKind::text:
        out.job.inputs[name] = given->second;
        break;
      case InputKind::data: {
        ORBIT_TRY_ASSIGN(out.job.inputs[name], data_path(given->second, field));
        out.data_inputs.push_back(name);
        break;
      }
      case InputKind::output: {
        ORBIT_TRY_ASSIGN(const std::vector<std::string> paths, output_paths(given->second, field));
        out.job.inputs[name] = join(paths, ",");
        for (const std::string& path : paths)
          if (std::find(out.job.outputs.begin(), out.job.outputs.end(), path) == out.job.outputs.end())
            out.job.outputs.push_back(path);
        break;
      }
    }
  }
  std::sort(out.job.outputs.begin(), out.job.outputs.end());
  return {};
}

// What the words of the command line are made of.
struct Values {
  const ShapedTask& task;
  const std::vector<std::string>& command;
  std::string entry;  // "./train.py"

  // Several for an output that names several files; none where an optional input or param is absent.
  std::vector<std::string> of(const Piece& piece) const {
    switch (piece.kind) {
      case PieceKind::text:
        return {piece.text};
      case PieceKind::entry:
        return {entry};
      case PieceKind::input:
        return find(task.job.inputs, piece.text);
      case PieceKind::param: {
        std::vector<std::string> words = find(task.job.params, piece.text);
        for (std::string& word : words) word = param_word(word);
        return words;
      }
      case PieceKind::output: {
        std::vector<std::string> words;
        for (const std::string& paths : find(task.job.inputs, piece.text))
          for (const std::string& path : split(paths, ',')) words.push_back(artifacts + path);
        return words;
      }
      case PieceKind::params:
      case PieceKind::command:
        return {};  // items of their own: see expand()
    }
    return {};
  }

 private:
  static std::vector<std::string> find(const std::map<std::string, std::string>& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::vector<std::string>{} : std::vector<std::string>{found->second};
  }
};

Result<std::vector<std::string>> expand(const TaskType& type, const Values& values) {
  std::vector<std::vector<Piece>> items;
  std::vector<std::string> by_name;
  for (std::size_t i = 0; i < type.argv.size(); ++i) {
    ORBIT_TRY_ASSIGN(std::vector<Piece> pieces, parse_argv_item(type.argv[i], fmt::format("argv[{}]", i)));
    for (const Piece& piece : pieces)
      if (piece.kind == PieceKind::param) by_name.push_back(piece.text);
    items.push_back(std::move(pieces));
  }
  std::vector<std::string> out;
  for (const std::vector<Piece>& pieces : items) {
    if (pieces.front().kind == PieceKind::params) {
      for (const auto& [key, source] : values.task.job.params)
        if (std::find(by_name.begin(), by_name.end(), key) == by_name.end())
          out.push_back("--" + key + "=" + param_word(source));
      continue;
    }
    if (pieces.front().kind == PieceKind::command) {
      out.insert(out.end(), values.command.begin(), values.command.end());
      continue;
    }
    // One word; one for each file where an output names several.
    std::vector<std::string> words{""};
    for (const Piece& piece : pieces) {
      std::vector<std::string> longer;
      for (const std::string& word : words)
        for (const std::string& value : values.of(piece)) longer.push_back(word + value);
      if (longer.size() > max_words)
        return fail(ErrorCode::too_large, fmt::format("makes more than {} words", max_words), "inputs." + piece.text);
      words = std::move(longer);
    }
    for (std::string& word : words) out.push_back(std::move(word));
  }
  return out;
}

Result<void> check_command_line(const std::vector<std::string>& argv) {
  const std::string hint = "put long values into a file of the code folder";
  if (argv.size() > max_words)
    return fail(ErrorCode::too_large,
                fmt::format("the command line has {} words, more than {}", argv.size(), max_words), "command", hint);
  std::size_t total = 0;
  for (const std::string& word : argv) {
    total += word.size() + 1;
    if (word.size() > max_word_bytes)
      return fail(ErrorCode::too_large,
                  fmt::format("a word of the command line has {} bytes, more than {}", word.size(), max_word_bytes),
                  "command", hint);
  }
  if (total > max_command_line_bytes)
    return fail(ErrorCode::too_large,
                fmt::format("the command line has {} bytes, more than {}", total, max_command_line_bytes), "command",
                hint);
  return {};
}

Result<void> check_command(const TaskType& type, const std::vector<std::string>& command) {
  if (!type.ad_hoc) {
    if (command.empty()) return {};
    return fail(ErrorCode::invalid_argument, fmt::format("task '{}' takes no command line", type.id), "command",
                "remove it, or submit with --task command");
  }
  if (command.empty())
    return fail(ErrorCode::invalid_argument, "is missing: what shall be run?", "command",
                "orbit submit --task command -- PROGRAM ARGUMENTS");
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string field = fmt::format("command[{}]", i);
    if (command[i].find('\0') != std::string::npos)
      return fail(ErrorCode::invalid_argument, "holds a NUL character", field);
    if (!is_valid_utf8(command[i])) return fail(ErrorCode::invalid_argument, "is not valid UTF-8", field);
  }
  ORBIT_TRY(check_words(command.front(), "command[0]", 1024));
  if (command.front().starts_with('-'))
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is not a program", to_valid_utf8(command.front().substr(0, 60))), "command[0]");
  return {};
}

Result<void> check_resume_argument(const std::optional<std::string>& argument) {
  if (!argument) return {};
  const std::string& text = *argument;
  const bool valid = text.size() >= 2 && text.size() <= 64 && text.front() == '-' &&
                     text.find_first_not_of('-') != std::string::npos &&
                     std::all_of(text.begin(), text.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                              c == '_' || c == '.';
                     });
  if (valid) return {};
  return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a flag", to_valid_utf8(text.substr(0, 64))),
              "resume_argument", "write the flag by which the entry is told a checkpoint, as --resume");
}

}  // namespace

Result<ShapedTask> shape(const TaskType& type, const Submission& submission, const ExecutionRequest& request,
                         const EnvironmentProfile& environment) {
  ShapedTask out;
  out.job.task = type.id;
  out.job.entry = "scripts/entrypoint.sh";
  out.job.environment = environment;
  out.job.metrics_file = request.values.metrics_file;
  out.job.checkpoints = request.values.checkpoints;
  ORBIT_TRY(shape_inputs(type, submission, out));
  ORBIT_TRY_ASSIGN(out.job.params, type_params(type.params_schema, submission.params));
  ORBIT_TRY(check_command(type, submission.command));
  ORBIT_TRY(check_resume_argument(submission.resume_argument));

  std::string entry;
  if (type.needs_entry) {
    if (!submission.entry || submission.entry->empty())
      return fail(ErrorCode::invalid_argument, fmt::format("is missing: task '{}' requires it", type.id), "entry",
                  "wanted: an executable file of the code, as train.py");
    ORBIT_TRY_ASSIGN(entry, relative_path(*submission.entry, "entry", "the code folder"));
    if (entry == ".")
      return fail(ErrorCode::invalid_argument, "is the code folder itself", "entry", "name an executable file in it");
  } else if (submission.entry) {
    return fail(ErrorCode::invalid_argument, fmt::format("task '{}' takes no entry", type.id), "entry", "remove it");
  }
  ORBIT_TRY_ASSIGN(out.argv, expand(type, Values{out, submission.command, "./" + entry}));
  ORBIT_TRY(check_command_line(out.argv));

  // A program with a slash is a file of the code, or one of the machine's; without, it is looked up in PATH.
  std::string& program = out.argv.front();
  if (!program.starts_with('/') && program.find('/') != std::string::npos) {
    ORBIT_TRY_ASSIGN(const std::string path,
                     relative_path(program, type.ad_hoc ? "command[0]" : "entry", "the code folder"));
    program = "./" + path;
    if (!type.ad_hoc) out.job.code_entry = path;
  }
  return out;
}

}  // namespace orbit::spec
