// Patterns of key files. Internal to bundle/.
#pragma once

#include <string_view>

namespace orbit::bundle {

// `*` and `?` match within a name, `**/` any number of directories, `**` at the end everything below. Anything else is
// itself. Takes time in proportion to pattern times path, whatever they are.
bool glob_matches(std::string_view pattern, std::string_view path);

}  // namespace orbit::bundle
