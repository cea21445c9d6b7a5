// The one table of template keys: what each is called, how its text is read. Used for template files and for overrides
// alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/domain/execution.hpp"

namespace orbit::spec {

// Without runtime_env.NAME, of which there is no end.
const std::vector<std::string>& template_keys();
bool is_template_key(std::string_view key);  // runtime_env.NAME included
// "unknown key" with the nearest one.
Failure unknown_key(std::string_view key, const std::string& field);

// Sets one value from its text ("20GiB", "1h", "true"). `trusted`: see check_environment_name. The error's field is
// `field`.
Result<void> set_template_value(TemplateValues& values, std::string_view key, const std::string& text,
                                const std::string& field, bool trusted);

// Combinations that have no meaning: an image where nothing is started from one, a target where there is only one
// place.
Result<void> check_template_values(PlacementKind placement, LaunchMode launch, const TemplateValues& values,
                                   const std::string& prefix);

}  // namespace orbit::spec
