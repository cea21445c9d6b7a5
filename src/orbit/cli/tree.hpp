// The whole tree of client commands.
#pragma once

#include <memory>
#include <vector>

#include "orbit/cli/args.hpp"
#include "orbit/cli/cli.hpp"
#include "orbit/cli/context.hpp"

namespace orbit::cli {

std::unique_ptr<Command> make_tree(const Program& program);
// --server, --token, -o; they may stand anywhere.
std::vector<Argument> global_arguments(GlobalOptions& options);

// Parses and carries out; writes help and errors. Arguments without the program's name.
int run_command(const Command& root, Context& context, const std::vector<std::string>& arguments);

}  // namespace orbit::cli
