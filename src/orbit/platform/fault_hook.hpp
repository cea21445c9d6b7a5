// Where set_fault_hook() takes effect. Internal to platform/.
#pragma once

#include <filesystem>
#include <string_view>

namespace orbit::platform {

// True when the hook wants the operation to fail; errno is set then.
bool injected(std::string_view operation, const std::filesystem::path& path);

}  // namespace orbit::platform
