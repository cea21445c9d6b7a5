// What is installed on this machine. Only read, never loaded: no driver library, no import
// of a framework.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace orbit::runner
