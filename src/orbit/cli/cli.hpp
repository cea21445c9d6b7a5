// The client commands: every command line of `orbit` comes through here.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace orbit::cli {

// A command that the composition root brings (server, runner): it parses its own arguments, --help included.
struct ExtraCommand {
  std::string name;
  std::string description;  // a line for `orbit --help`
  // Gets the arguments behind the name. None: main() answers nothing, and the caller goes on by itself.
  std::function<int(const std::vector<std::string>& arguments)> run;
  bool hidden = false;  // works, but is not listed: started by orbit, not by people
};

struct Program {
  std::string version;
  std::vector<ExtraCommand> extra;
};

// The exit code: 0 ok, 1 failed, 2 usage, 3 not found, 4 refused, 5 conflict, 6 unavailable; of `submit --follow` and
// `bundle run` 0 only if the run succeeded; 130 after Ctrl-C. Nothing for an extra command without a run function.
std::optional<int> main(int argc, char** argv, const Program& program = {});

}  // namespace orbit::cli
