#pragma once

#include <string>
#include <vector>

namespace orbit::app {

// `orbit server`: returns the exit code when the server has stopped.
int server_command(const std::vector<std::string>& arguments);

}  // namespace orbit::app
