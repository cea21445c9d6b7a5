#pragma once

#include <string>

namespace orbit::cli {

// Of this program; told by the composition root through cli::main.
const std::string& version();
void set_version(std::string text);

}  // namespace orbit::cli
