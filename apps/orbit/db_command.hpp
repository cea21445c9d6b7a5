#pragma once

#include "orbit/cli/args.hpp"

namespace orbit::app {

// `orbit db`: databases without a server.
void add_db_commands(cli::Command& root);

}  // namespace orbit::app
