// What is installed on this machine, as the workload will see it. Only read, never loaded: no driver library, no import
// of a framework.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"

namespace orbit::runner {

// Everything below `root`, "/" but in tests.
std::optional<std::string> os_version(const std::filesystem::path& root);      // "debian 12"
std::optional<std::string> driver_version(const std::filesystem::path& root);  // "535.104.05"
std::optional<std::string> cuda_version(const std::filesystem::path& root);    // "12.1.1"

struct Gpus {
  std::int32_t count = 0;
  std::vector<std::string> uuids;  // of those whose driver tells
};
Gpus gpus(const std::filesystem::path& root);

struct PythonFacts {
  std::string program;
  std::string version;
  std::map<std::string, std::string> packages;  // of those asked for; missing ones are not in it
};
// Asks the interpreter that the PATH of `environment` finds, by distribution metadata, within time_limit_ms.
// `not_found`: there is none.
Result<PythonFacts> python_facts(const std::map<std::string, std::string>& environment,
                                 const std::vector<std::string>& packages, int time_limit_ms);

}  // namespace orbit::runner
