// A request body on disk: 0600, gone with the object unless somebody moved it away.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "orbit/base/result.hpp"

namespace orbit::net {

class SpoolFile {
 public:
  SpoolFile() = default;  // none
  SpoolFile(SpoolFile&& other) noexcept;
  SpoolFile& operator=(SpoolFile&& other) noexcept;
  ~SpoolFile();

  static Result<SpoolFile> create(const std::filesystem::path& directory);
  Result<void> write(std::string_view bytes);
  const std::filesystem::path& path() const { return path_; }

  // Removes what a killed server left behind; files another live server is writing are locked and stay.
  static Result<void> clean(const std::filesystem::path& directory);

 private:
  void discard();

  int fd_ = -1;  // holds a lock as long as the file is in use
  std::filesystem::path path_;
};

}  // namespace orbit::net
