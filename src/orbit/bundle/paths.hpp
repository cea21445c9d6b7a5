// Names and paths as they may be shown and as they may be frozen. Internal to bundle/.
#pragma once

#include <string>
#include <string_view>

#include "orbit/bundle/bundle.hpp"

namespace orbit::bundle {

// What somebody else named, fit for a terminal, a log and JSON: control characters and invalid UTF-8 as \xNN,
// shortened.
std::string printable(std::string_view name);
// Valid UTF-8 without control characters.
bool is_printable(std::string_view text);

// The rules of a manifest as a whole: paths, order, duplicates, a file where another entry needs a directory, sizes,
// limits.
Result<void> check_list(const std::vector<FileEntry>& files, const Limits& limits);

}  // namespace orbit::bundle
