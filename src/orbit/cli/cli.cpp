#include "orbit/cli/cli.hpp"

#include <iostream>

#include "orbit/cli/tree.hpp"
#include "orbit/cli/version.hpp"

namespace orbit::cli {

int main(int argc, char** argv, const Program& program) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (!arguments.empty())
    if (const auto it = program.internal.find(arguments[0]); it != program.internal.end())
      return it->second({arguments.begin() + 1, arguments.end()});
  set_version(program.version.empty() ? "unknown" : program.version);
  std::ios::sync_with_stdio(false);
  Context context{std::cout, std::cerr, Terminal::detect(), process_environment, {}, {}};
  const auto root = make_tree(program);
  return run_command(*root, context, arguments);
}

}  // namespace orbit::cli
