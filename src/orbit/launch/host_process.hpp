// LaunchMode::host_process: the entry is a process of this machine, kept by a keeper (keeper.hpp).
#pragma once

#include "orbit/launch/launcher.hpp"

namespace orbit::launch {

std::unique_ptr<Launcher> make_host_process();

}  // namespace orbit::launch
