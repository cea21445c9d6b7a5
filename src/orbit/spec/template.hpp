// Templates (R3): loading, and resolving with resources and overrides.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/domain/execution.hpp"
#include "orbit/domain/records.hpp"

namespace orbit::spec {

// A template file in the form shown in examples/templates/local-host.yaml: sizes and durations as people write them
// (gpu_memory: 20GiB, time_limit: 1h). Errors: FILE:LINE: key: what (hint).
Result<Template> parse_template(std::string_view text, const std::string& file_name);
std::map<std::string, std::string> shipped_templates();  // id -> YAML text, put into DATA/templates at first start

// Keys of `resources` (gpus, gpu_memory, cpus, memory, disk, time_limit) are the template keys "resources.<key>". Every
// key of resources and overrides must be in allow_overrides: an error names key, template and what is allowed; nothing
// is ever ignored.
Result<ExecutionRequest> resolve(const Template& base, const std::map<std::string, std::string>& resources,
                                 const std::map<std::string, std::string>& overrides);
// All keys that a template has, for "nearest allowed key".
std::vector<std::string> override_keys();

Result<EnvironmentProfile> parse_profile(std::string_view yaml,
                                         const std::string& file_name);  // a standard profile file
Result<void> check_profile(const EnvironmentProfile& profile,
                           const std::string& field);  // not empty, every version range parses

}  // namespace orbit::spec
