#include "orbit/spec/directory.hpp"

namespace orbit::spec {

Result<std::vector<std::filesystem::path>> list_yaml_files(const std::filesystem::path& directory) {
  const std::string name = to_valid_utf8(directory.string());
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error);
  if (error) return fail_errno(error.value(), "cannot list the directory", name);
  std::vector<std::filesystem::path> out;
  while (entries != std::filesystem::directory_iterator()) {
    const std::filesystem::path& path = entries->path();
    // Dot files are what editors leave behind.
    if (path.extension() == ".yaml" && !path.filename().string().starts_with('.')) out.push_back(path);
    entries.increment(error);
    if (error) return fail_errno(error.value(), "cannot list the directory", name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace orbit::spec
