// Completion scripts for shells, made from the tree of commands.
#pragma once

#include <string>
#include <vector>

#include "orbit/cli/args.hpp"

namespace orbit::cli {

std::string bash_completion(const Command& root, const std::vector<Argument>& globals);
std::string zsh_completion(const Command& root, const std::vector<Argument>& globals);
std::string fish_completion(const Command& root, const std::vector<Argument>& globals);

}  // namespace orbit::cli
