// After the end: the manifest of what the workload made (R14), its expected outputs, the final sizes of the three
// streams (R12).
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/digest.hpp"
#include "orbit/domain/bundle_spec.hpp"

namespace orbit::runner {

struct Collection {
  std::vector<std::string> missing_outputs;
  std::optional<std::string> error;
  bool exhausted = false;  // the error is a lack that may pass: to be tried again
  std::int64_t artifact_count = 0;
  std::int64_t artifact_bytes = 0;
  std::vector<std::string> skipped;
  std::string manifest;  // of runtime/artifacts.json, empty where there is an error
  Digest artifacts;      // of the manifest
};

// Takes as long as reading everything below artifacts/.
Collection collect(const std::filesystem::path& directory, const std::vector<std::string>& outputs);

// Writes runtime/artifacts.json.
Result<void> write_manifest(const std::filesystem::path& directory, const Collection& collection);

std::map<std::string, std::int64_t> log_sizes(const std::filesystem::path& directory);

}  // namespace orbit::runner
