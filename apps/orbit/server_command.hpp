#pragma once

#include "orbit/cli/args.hpp"

namespace orbit::app {

// `orbit server`: returns when the server has stopped.
void add_server_command(cli::Command& root);

}  // namespace orbit::app
