// The tree of commands as data. CLI11 parses a leaf's arguments; it is included by args.cpp alone, because every file
// that includes it compiles ten seconds longer. Being data, the tree also gives help texts, completion and "did you
// mean".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "orbit/base/result.hpp"

namespace orbit::cli {

struct Context;  // context.hpp

// Where a parsed value goes. A vector takes an option given repeatedly, or all remaining positionals.
using Target = std::variant<bool*, std::string*, std::optional<std::string>*, std::optional<std::int64_t>*,
                            std::vector<std::string>*>;

struct Argument {
  std::string names;  // "-p,--project"; a positional has a plain name
  std::string value;  // what stands for the value in help ("NAME"); empty for a flag
  std::string help;
  Target target;
  bool required = false;
  std::vector<std::string> choices;  // the only values allowed, if any
  bool of_connection = false;        // says which server is asked: not shown where none is

  std::vector<std::string> spellings() const;  // names, split
  bool is_flag() const { return std::holds_alternative<bool*>(target); }
};

class Command {
 public:
  Command(std::string name, std::string description, Command* parent = nullptr)
      : name_(std::move(name)), description_(std::move(description)), parent_(parent) {}

  // Building. Targets must live as long as the command: handlers own them through a captured shared_ptr.
  Command& add(std::string name, std::string description);
  Command& flag(std::string names, bool& target, std::string help);
  Command& option(std::string names, std::string value, Target target, std::string help,
                  std::vector<std::string> choices = {});
  Command& positional(std::string name, Target target, std::string help, bool required = true);
  Command& examples(std::string text);                       // shown below the help, one example a line
  Command& takes_rest(std::string value, std::string help);  // what follows "--" is handed over in Context::rest
  Command& local();                                          // asks no server, nor does anything below it
  Command& run(std::function<Result<int>(Context&)> handler);

  const std::string& name() const { return name_; }
  const std::string& description() const { return description_; }
  std::string path() const;  // "orbit run ls"
  const std::vector<std::unique_ptr<Command>>& children() const { return children_; }
  const Command* child(std::string_view name) const;
  const std::vector<Argument>& options() const { return options_; }
  const std::vector<Argument>& positionals() const { return positionals_; }
  const std::function<Result<int>(Context&)>& handler() const { return handler_; }
  bool accepts_rest() const { return !rest_value_.empty(); }
  bool is_local() const { return local_ || (parent_ != nullptr && parent_->is_local()); }
  std::string help(const std::vector<Argument>& globals, int width) const;

 private:
  std::string name_;
  std::string description_;
  Command* parent_;
  std::vector<std::unique_ptr<Command>> children_;
  std::vector<Argument> options_;
  std::vector<Argument> positionals_;
  std::string examples_;
  std::string rest_value_;
  std::string rest_help_;
  bool local_ = false;
  std::function<Result<int>(Context&)> handler_;
};

struct Parsed {
  const Command* command = nullptr;
  bool help = false;              // --help was given, or a group named without a command of it
  bool asked = true;              // false: the help is shown because something is missing
  std::vector<std::string> rest;  // after "--"
};

// `globals` may stand anywhere. Errors are usage errors; they name the flag, and the nearest one in the hint.
Result<Parsed> parse(const Command& root, const std::vector<Argument>& globals,
                     const std::vector<std::string>& arguments);

}  // namespace orbit::cli
