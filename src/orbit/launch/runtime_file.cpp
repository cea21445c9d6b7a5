#include "orbit/launch/runtime_file.hpp"

#include <sys/stat.h>

#include "orbit/platform/files.hpp"

namespace orbit::launch {

namespace {
constexpr mode_t file_mode = 0644;
}

Result<void> clear_the_way(const std::filesystem::path& path) {
  struct stat stat{};
  // What cannot be looked at is told by the writing that follows.
  if (lstat(path.c_str(), &stat) != 0 || S_ISREG(stat.st_mode)) return {};
  return platform::remove_tree(path);
}

Result<void> write_runtime_file(const std::filesystem::path& path, std::string_view bytes) {
  ORBIT_TRY(clear_the_way(path));
  return platform::write_file(path, bytes, file_mode);
}

Result<void> write_runtime_file_durably(const std::filesystem::path& path, std::string_view bytes) {
  ORBIT_TRY(clear_the_way(path));
  return platform::write_file_durably(path, bytes, file_mode);
}

}  // namespace orbit::launch
