// The client commands: every command line of `orbit` comes through here.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace orbit::cli {

class Command;  // args.hpp

// What the composition root brings.
struct Program {
  std::string version;
  // Commands that people use, in front of the client's own.
  std::function<void(Command& root)> commands;
  // Started by orbit and not by people, listed nowhere: handed the arguments behind the name before anything else is
  // set up, since the runner's start is the floor of a run's cost. Returns the exit code.
  std::map<std::string, std::function<int(const std::vector<std::string>& arguments)>> internal;
};

// The exit code: 0 ok, 1 failed, 2 usage, 3 not found, 4 refused, 5 conflict, 6 unavailable; of `submit --follow` and
// `bundle run` 0 only if the run succeeded; 130 after Ctrl-C.
int main(int argc, char** argv, const Program& program = {});

}  // namespace orbit::cli
