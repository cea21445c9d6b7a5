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
  std::int64_t artifact_count = 0;
  std::int64_t artifact_bytes = 0;
  std::vector<std::string> skipped;
  Digest artifacts;  // of runtime/artifacts.json
};

// Takes as long as reading everything below artifacts/. Writes runtime/artifacts.json.
Collection collect(const std::filesystem::path& directory, const std::vector<std::string>& outputs);

std::map<std::string, std::int64_t> log_sizes(const std::filesystem::path& directory);

}  // namespace orbit::runner
