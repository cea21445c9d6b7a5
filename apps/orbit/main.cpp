// Picks the mode. `server` and `runner` are composed here; every other command is the client's.
#include <cstdio>

#include "db_command.hpp"
#include "orbit/cli/cli.hpp"
#include "orbit/runner/runner.hpp"
#include "server_command.hpp"

namespace {

int runner(const std::vector<std::string>& arguments) {
  if (arguments.size() == 1 && !arguments[0].empty() && arguments[0][0] != '-')
    return orbit::runner::run_main(arguments[0]);
  std::fprintf(stderr, "usage: orbit runner DIRECTORY\nCarries out the bundle in a directory; started by orbit.\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  orbit::cli::Program program;
  program.version = ORBIT_VERSION;
  program.commands = [](orbit::cli::Command& root) {
    orbit::app::add_server_command(root);
    orbit::app::add_db_commands(root);
  };
  program.internal["runner"] = runner;
  return orbit::cli::main(argc, argv, program);
}
