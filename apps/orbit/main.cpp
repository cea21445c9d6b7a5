// Picks the mode. `server` and `runner` are composed here; every other command is the client's.
#include <cstdio>
#include <filesystem>

#include "orbit/cli/cli.hpp"
#include "orbit/runner/runner.hpp"
#include "server_command.hpp"

int main(int argc, char** argv) {
  orbit::cli::Program program;
  program.version = ORBIT_VERSION;
  program.extra.push_back(
      {"server", "Run the control plane: API, reconciler and scheduler in one process",
       [](const std::vector<std::string>& arguments) { return orbit::app::server_command(arguments); }});
  program.extra.push_back({"runner", "Carry out the bundle in a directory (started by orbit)",
                           [](const std::vector<std::string>& arguments) {
                             if (arguments.size() == 1) return orbit::runner::run_main(arguments[0]);
                             std::fprintf(stderr, "usage: orbit runner DIRECTORY\n");
                             return 2;
                           },
                           true});
  return orbit::cli::main(argc, argv, program).value_or(0);
}
