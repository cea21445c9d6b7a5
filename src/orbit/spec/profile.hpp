// Environment profiles (N3) as they are written inside other files.
#pragma once

#include <string>

#include "orbit/base/json.hpp"
#include "orbit/domain/execution.hpp"

namespace orbit::spec {

// `any`, or a map of os, python, cuda, driver and packages; all scalars as text.
Result<EnvironmentProfile> read_environment(const json::Value& value, const std::string& path);

}  // namespace orbit::spec
