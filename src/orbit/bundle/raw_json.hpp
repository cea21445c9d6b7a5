// Members of a JSON object with their source text, so that 1.0 stays 1.0 where a parser would make it 1. Internal to
// bundle/.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orbit/base/result.hpp"

namespace orbit::bundle {

// Key (decoded) and source text of each member, in order; white space around a value is not part of it. Refuses what is
// not one JSON object, and duplicate keys: two readers could choose differently. Nesting is bounded by json::max_depth.
Result<std::vector<std::pair<std::string, std::string>>> raw_members(std::string_view object);

}  // namespace orbit::bundle
