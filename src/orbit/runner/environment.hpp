// The workload's environment: complete, made here, nothing inherited.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "orbit/base/result.hpp"
#include "orbit/domain/runtime_files.hpp"

namespace orbit::runner {

// `invalid_argument` naming the variable when the order's runtime_env holds one that is not allowed (ORBIT_*, no name).
Result<std::map<std::string, std::string>> workload_environment(const Order& order,
                                                                const std::filesystem::path& directory);

}  // namespace orbit::runner
