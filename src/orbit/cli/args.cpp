#include "orbit/cli/args.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "orbit/base/text.hpp"
#include "orbit/cli/render.hpp"

namespace orbit::cli {
namespace {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

std::string longest_spelling(const Argument& argument) {
  std::string out;
  for (const std::string& name : argument.spellings())
    if (name.size() > out.size()) out = name;
  return out;
}

// Stores the raw texts; what is wrong with them is put into `error` (CLI11's own messages do not name what is allowed).
void store(const Argument& argument, const std::vector<std::string>& values, std::optional<Error>& error) {
  if (error || values.empty()) return;
  for (const std::string& value : values) {
    if (!argument.choices.empty() &&
        std::find(argument.choices.begin(), argument.choices.end(), value) == argument.choices.end()) {
      error = Error{ErrorCode::invalid_argument, fmt::format("'{}' is not allowed", to_valid_utf8(value.substr(0, 80))),
                    longest_spelling(argument), "one of " + join(argument.choices, ", ")};
      return;
    }
  }
  std::visit(Overload{[](bool* target) { *target = true; }, [&](std::string* target) { *target = values.back(); },
                      [&](std::optional<std::string>* target) { *target = values.back(); },
                      [&](std::optional<std::int64_t>* target) {
                        const std::string& text = values.back();
                        std::int64_t number = 0;
                        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
                        if (failure != std::errc{} || end != text.data() + text.size() || number < 0)
                          error = Error{ErrorCode::invalid_argument,
                                        fmt::format("'{}' is not a number", to_valid_utf8(text.substr(0, 40))),
                                        longest_spelling(argument), "a whole number, 0 or more"};
                        else
                          *target = number;
                      },
                      [&](std::vector<std::string>* target) { *target = values; }},
             argument.target);
}

void declare(::CLI::App& app, const Argument& argument, std::optional<Error>& error) {
  if (argument.is_flag()) {
    app.add_flag_function(argument.names, [&argument](std::int64_t) { *std::get<bool*>(argument.target) = true; });
    return;
  }
  ::CLI::Option* option = app.add_option(argument.names, [&argument, &error](const ::CLI::results_t& values) {
    store(argument, values, error);
    return true;
  });
  if (std::holds_alternative<std::vector<std::string>*>(argument.target))
    option->multi_option_policy(::CLI::MultiOptionPolicy::TakeAll);
  if (argument.required) option->required();
}

Failure usage(std::string message, std::string field = {}, std::string hint = {}) {
  return fail(ErrorCode::invalid_argument, std::move(message), std::move(field), std::move(hint));
}

std::string see_help(const Command& command) {
  return "see " + command.path() + " --help";
}

Failure unknown_flag(const Command& command, const std::vector<Argument>& globals, std::string_view flag) {
  const std::string name = to_valid_utf8(flag.substr(0, std::min(flag.find('='), std::size_t{80})));
  std::vector<std::string> known;
  for (const auto* list : {&command.options(), &globals})
    for (const Argument& argument : *list)
      for (std::string& spelling : argument.spellings()) known.push_back(std::move(spelling));
  const std::string close = nearest(name, known);
  return usage("is no flag of " + command.path(), name,
               close.empty() ? see_help(command) : "did you mean " + close + "? " + see_help(command));
}

Failure unknown_command(const Command& group, std::string_view name) {
  std::vector<std::string> known;
  for (const auto& child : group.children()) known.push_back(child->name());
  const std::string close = nearest(name, known);
  std::string hint = close.empty() ? "one of " + join(known, ", ") : "did you mean " + group.path() + " " + close + "?";
  return usage(fmt::format("'{}' is no command of {}", to_valid_utf8(name.substr(0, 80)), group.path()), {},
               std::move(hint));
}

Result<void> parse_leaf(const Command& command, const std::vector<Argument>& globals,
                        std::vector<std::string> arguments) {
  ::CLI::App app;
  app.set_help_flag();
  std::optional<Error> error;
  for (const Argument& argument : globals) declare(app, argument, error);
  for (const Argument& argument : command.options()) declare(app, argument, error);
  const Argument* open_end = nullptr;  // CLI11 would take "[a,b]" apart there: what is left over is taken by ourselves
  for (const Argument& argument : command.positionals()) {
    if (std::holds_alternative<std::vector<std::string>*>(argument.target))
      open_end = &argument;
    else
      declare(app, argument, error);
  }
  app.allow_extras();
  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants it
    app.parse(std::move(arguments));
  } catch (const ::CLI::RequiredError&) {
    for (const auto* list : {&command.positionals(), &command.options()})
      for (const Argument& argument : *list)
        if (argument.required && &argument != open_end && app.get_option(longest_spelling(argument))->count() == 0)
          return usage("is missing", longest_spelling(argument), see_help(command));
    return usage("an argument is missing", {}, see_help(command));
  } catch (const ::CLI::ArgumentMismatch& mismatch) {
    const std::string text =
        mismatch.what();  // "--lines: 1 required  missing", "--lines: At Most 1 required but received 2"
    const bool missing = text.find("missing") != std::string::npos;
    return usage(missing ? "a value is missing" : "is given more than once", text.substr(0, text.find(':')),
                 see_help(command));
  } catch (const ::CLI::ParseError& other) {
    return usage(other.what(), {}, see_help(command));
  }
  std::vector<std::string> extra = app.remaining();
  for (const std::string& word : extra)
    if (word.size() > 1 && word[0] == '-') return unknown_flag(command, globals, word);
  if (open_end != nullptr) {
    if (open_end->required && extra.empty()) return usage("is missing", open_end->names, see_help(command));
    store(*open_end, extra, error);
  } else if (!extra.empty()) {
    return usage(fmt::format("'{}' is one argument too many", to_valid_utf8(extra.front().substr(0, 80))), {},
                 see_help(command));
  }
  if (error) return fail(std::move(*error));
  return {};
}

void wrap(std::string& out, std::string_view text, std::size_t indent, std::size_t width) {
  std::size_t column = indent;
  bool first = true;
  for (const std::string& word : split(text, ' ')) {
    if (!first && column + 1 + display_width(word) > width) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += display_width(word);
    first = false;
  }
  out += '\n';
}

void list(std::string& out, std::string_view title, const std::vector<std::pair<std::string, std::string>>& items,
          std::size_t width) {
  if (items.empty()) return;
  out += fmt::format("\n{}\n", title);
  std::size_t left = 0;
  for (const auto& [name, help] : items)
    if (display_width(name) <= 28) left = std::max(left, display_width(name));
  left += 4;
  for (const auto& [name, help] : items) {
    out += "  " + name;
    if (display_width(name) + 4 > left) {
      out += '\n';
      out.append(left, ' ');
    } else {
      out.append(left - display_width(name) - 2, ' ');
    }
    wrap(out, help, left, width);
  }
}

std::vector<std::pair<std::string, std::string>> described(const std::vector<Argument>& arguments) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Argument& argument : arguments) {
    std::string names = join(argument.spellings(), ", ");
    if (!argument.value.empty()) names += " " + argument.value;
    std::string help = argument.help;
    if (!argument.choices.empty()) help += " (" + join(argument.choices, ", ") + ")";
    if (std::holds_alternative<std::vector<std::string>*>(argument.target) && !argument.value.empty())
      help += "; may be repeated";
    out.emplace_back(std::move(names), std::move(help));
  }
  return out;
}

}  // namespace

std::vector<std::string> Argument::spellings() const {
  return split(names, ',');
}

Command& Command::add(std::string name, std::string description) {
  children_.push_back(std::make_unique<Command>(std::move(name), std::move(description), this));
  return *children_.back();
}
Command& Command::flag(std::string names, bool& target, std::string help) {
  options_.push_back({std::move(names), {}, std::move(help), &target, false, {}});
  return *this;
}
Command& Command::option(std::string names, std::string value, Target target, std::string help,
                         std::vector<std::string> choices) {
  options_.push_back({std::move(names), std::move(value), std::move(help), target, false, std::move(choices)});
  return *this;
}
Command& Command::positional(std::string name, Target target, std::string help, bool required) {
  positionals_.push_back({std::move(name), {}, std::move(help), target, required, {}});
  return *this;
}
Command& Command::examples(std::string text) {
  examples_ = std::move(text);
  return *this;
}
Command& Command::takes_rest(std::string value, std::string help) {
  rest_value_ = std::move(value);
  rest_help_ = std::move(help);
  return *this;
}
Command& Command::local() {
  local_ = true;
  return *this;
}
Command& Command::run(std::function<Result<int>(Context&)> handler) {
  handler_ = std::move(handler);
  return *this;
}

std::string Command::path() const {
  return parent_ == nullptr ? name_ : parent_->path() + " " + name_;
}

const Command* Command::child(std::string_view name) const {
  for (const auto& candidate : children_)
    if (candidate->name_ == name) return candidate.get();
  return nullptr;
}

std::string Command::help(const std::vector<Argument>& globals, int width) const {
  const auto columns = static_cast<std::size_t>(std::max(width, 60));
  std::string out;
  wrap(out, description_, 0, columns);
  std::string line = "usage: " + path();
  if (!children_.empty()) line += " COMMAND";
  for (const Argument& argument : positionals_) {
    std::string name = argument.names;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
    if (std::holds_alternative<std::vector<std::string>*>(argument.target)) name += "...";
    line += argument.required ? " " + name : " [" + name + "]";
  }
  line += " [OPTIONS]";
  if (!rest_value_.empty()) line += " [-- " + rest_value_ + "]";
  out += "\n" + line + "\n";
  std::vector<std::pair<std::string, std::string>> commands;
  for (const auto& child : children_) commands.emplace_back(child->name_, child->description_);
  list(out, "commands:", commands, columns);
  std::vector<std::pair<std::string, std::string>> operands;
  for (const Argument& argument : positionals_) operands.emplace_back(argument.names, argument.help);
  if (!rest_value_.empty()) operands.emplace_back("-- " + rest_value_, rest_help_);
  list(out, "arguments:", operands, columns);
  list(out, "options:", described(options_), columns);
  std::vector<Argument> shown;
  for (const Argument& argument : globals)
    if (!argument.of_connection || !is_local()) shown.push_back(argument);
  auto common = described(shown);
  common.emplace_back("-h, --help", "show this help");
  list(out, "common options:", common, columns);
  if (!examples_.empty()) {
    out += "\nexamples:\n";
    for (const std::string& example : split(examples_, '\n')) out += "  " + example + "\n";
  }
  if (!children_.empty()) out += "\n" + path() + " COMMAND --help tells more about a command.\n";
  return out;
}

Result<Parsed> parse(const Command& root, const std::vector<Argument>& globals,
                     const std::vector<std::string>& arguments) {
  Parsed out;
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  std::vector<std::string> words(arguments.begin(), dashes);
  if (dashes != arguments.end()) out.rest.assign(dashes + 1, arguments.end());
  if (!words.empty() && words[0] == "help") {  // orbit help run ls
    words.erase(words.begin());
    words.emplace_back("--help");
  }

  const Command* command = &root;
  std::vector<std::string> own;  // arguments of the leaf, with the global ones that stood before it
  std::size_t at = 0;
  while (!command->children().empty() && at < words.size()) {
    const std::string& word = words[at++];
    if (word == "-h" || word == "--help") {
      out.command = command;
      out.help = true;
      return out;
    }
    if (word.size() > 1 && word[0] == '-') {
      const std::string name = word.substr(0, word.find('='));
      const auto known = std::find_if(globals.begin(), globals.end(), [&](const Argument& argument) {
        const auto spellings = argument.spellings();
        return std::find(spellings.begin(), spellings.end(), name) != spellings.end();
      });
      if (known == globals.end()) return unknown_flag(*command, globals, word);
      own.push_back(word);
      if (!known->is_flag() && name == word && at < words.size()) own.push_back(words[at++]);
      continue;
    }
    const Command* next = command->child(word);
    if (next == nullptr) return unknown_command(*command, word);
    command = next;
  }
  out.command = command;
  own.insert(own.end(), words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  if (std::find_if(own.begin(), own.end(), [](const std::string& word) { return word == "-h" || word == "--help"; }) !=
      own.end()) {
    out.help = true;
    return out;
  }
  if (!command->handler()) {
    ORBIT_TRY(parse_leaf(*command, globals, std::move(own)));
    out.help = true;
    out.asked = false;
    return out;
  }
  if (!out.rest.empty() && !command->accepts_rest())
    return usage("nothing may follow '--' here", {}, see_help(*command));
  ORBIT_TRY(parse_leaf(*command, globals, std::move(own)));
  return out;
}

}  // namespace orbit::cli
