#include "orbit/cli/cli.hpp"

#include <iostream>

#include "orbit/cli/tree.hpp"
#include "orbit/cli/version.hpp"

namespace orbit::cli {

std::optional<int> main(int argc, char** argv, const Program& program) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (!arguments.empty()) {
    // First of all and without the tree: the runner's start is the floor of a run's cost.
    for (const ExtraCommand& extra : program.extra) {
      if (extra.name != arguments[0]) continue;
      if (!extra.run) return std::nullopt;
      arguments.erase(arguments.begin());
      return extra.run(arguments);
    }
  }
  if (arguments.size() >= 2 && arguments[0] == "help")
    for (const ExtraCommand& extra : program.extra)
      if (extra.name == arguments[1] && extra.run) return extra.run({"--help"});
  set_version(program.version.empty() ? "unknown" : program.version);
  std::ios::sync_with_stdio(false);
  Context context{std::cout, std::cerr, Terminal::detect(), process_environment, {}, {}};
  const auto root = make_tree(program);
  return run_command(*root, context, arguments);
}

}  // namespace orbit::cli
