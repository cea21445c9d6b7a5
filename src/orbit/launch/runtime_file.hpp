// runtime/ is the runner's alone, and yet the workload can write there.
#pragma once

#include <filesystem>
#include <string_view>

#include "orbit/base/result.hpp"

namespace orbit::launch {

// Removes what stands at `path` and is no regular file (a directory, a FIFO, a link), so that a file can be written
// there.
Result<void> clear_the_way(const std::filesystem::path& path);

// platform::write_file and write_file_durably for a file of runtime/, whatever stands in its place.
Result<void> write_runtime_file(const std::filesystem::path& path, std::string_view bytes);
Result<void> write_runtime_file_durably(const std::filesystem::path& path, std::string_view bytes);

}  // namespace orbit::launch
