#include "orbit/cli/completion.hpp"

#include "orbit/base/text.hpp"

namespace orbit::cli {
namespace {

template <class F>
void walk(const Command& command, F&& visit) {
  visit(command);
  for (const auto& child : command.children()) walk(*child, visit);
}

std::vector<const Argument*> all_options(const Command& command, const std::vector<Argument>& globals) {
  std::vector<const Argument*> out;
  for (const auto* list : {&command.options(), &globals})
    for (const Argument& argument : *list) out.push_back(&argument);
  return out;
}

}  // namespace

std::string bash_completion(const Command& root, const std::vector<Argument>& globals) {
  std::string paths, words, choices, takes_value;
  walk(root, [&](const Command& command) {
    const std::string path = command.path();
    paths += fmt::format("      {}) path=\"$try\" ;;\n", shell_quote(path));
    std::vector<std::string> offered;
    for (const auto& child : command.children()) offered.push_back(child->name());
    for (const Argument* argument : all_options(command, globals)) {
      for (const std::string& name : argument->spellings()) offered.push_back(name);
      if (!argument->choices.empty())
        choices += fmt::format("    {}) COMPREPLY=($(compgen -W {} -- \"$word\")); return ;;\n",
                               shell_quote(path + " " + argument->spellings().back()),
                               shell_quote(join(argument->choices, " ")));
    }
    offered.emplace_back("--help");
    words += fmt::format("    {}) words={} ;;\n", shell_quote(path), shell_quote(join(offered, " ")));
  });
  for (const Argument& argument : globals)
    if (!argument.is_flag())
      for (const std::string& name : argument.spellings()) takes_value += (takes_value.empty() ? "" : "|") + name;
  return fmt::format(R"(# bash completion for orbit: source this file, or put it into
# ~/.local/share/bash-completion/completions/orbit
_orbit() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" path={0} try words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in
      {1}) ((i++)); continue ;;
      -*) continue ;;
    esac
    try="$path ${{COMP_WORDS[i]}}"
    case "$try" in
{2}    esac
  done
  case "$path ${{COMP_WORDS[COMP_CWORD-1]}}" in
{3}  esac
  case "$path" in
{4}  esac
  if [[ "$word" == -* || "$words" != --* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  fi
}}
complete -o default -F _orbit orbit
)",
                     root.name(), takes_value, paths, choices, words);
}

std::string zsh_completion(const Command& root, const std::vector<Argument>& globals) {
  return "#compdef orbit\nautoload -U +X bashcompinit && bashcompinit\n" + bash_completion(root, globals);
}

std::string fish_completion(const Command& root, const std::vector<Argument>& globals) {
  std::string paths, out;
  walk(root, [&](const Command& command) {
    const std::string path = command.path();
    paths += " " + shell_quote(path);
    const std::string when = shell_quote("test (__orbit_path) = " + shell_quote(path));
    for (const auto& child : command.children())
      out += fmt::format("complete -c orbit -f -n {} -a {} -d {}\n", when, child->name(),
                         shell_quote(child->description()));
    for (const Argument* argument : all_options(command, globals)) {
      std::string line = fmt::format("complete -c orbit -n {}", when);
      for (const std::string& name : argument->spellings())
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!argument->is_flag()) line += " -r";
      if (!argument->choices.empty()) line += " -f -a " + shell_quote(join(argument->choices, " "));
      out += line + " -d " + shell_quote(argument->help) + "\n";
    }
  });
  return fmt::format(R"(# fish completion for orbit: put it into ~/.config/fish/completions/orbit.fish
function __orbit_path
  set -l path {}
  for word in (commandline -opc)[2..-1]
    set -l try "$path $word"
    contains -- "$try" {}; and set path $try
  end
  echo $path
end
)",
                     root.name(), paths) +
         out;
}

}  // namespace orbit::cli
