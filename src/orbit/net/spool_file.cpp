#include "orbit/net/spool_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

namespace orbit::net {
namespace {

constexpr std::string_view prefix = ".orbit-body-";

}  // namespace

SpoolFile::SpoolFile(SpoolFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::exchange(other.path_, std::filesystem::path())) {}

SpoolFile& SpoolFile::operator=(SpoolFile&& other) noexcept {
  if (this != &other) {
    discard();
    fd_ = std::exchange(other.fd_, -1);
    path_ = std::exchange(other.path_, std::filesystem::path());
  }
  return *this;
}

SpoolFile::~SpoolFile() {
  discard();
}

void SpoolFile::discard() {
  if (fd_ < 0) return;
  // Only if the name still is this file: a handler may have moved it and put another in its place.
  struct stat named{};
  struct stat open{};
  if (::lstat(path_.c_str(), &named) == 0 && ::fstat(fd_, &open) == 0 && named.st_ino == open.st_ino &&
      named.st_dev == open.st_dev)
    ::unlink(path_.c_str());
  ::close(fd_);
  fd_ = -1;
  path_.clear();
}

Result<SpoolFile> SpoolFile::create(const std::filesystem::path& directory) {
  std::string name = (directory / (std::string(prefix) + "XXXXXX")).string();
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, "cannot store the request body in", directory.string());
  SpoolFile file;
  file.fd_ = fd;
  file.path_ = name;
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) return fail_errno(errno, "cannot lock", name);
  return file;
}

Result<void> SpoolFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno(errno, "cannot write the request body to", path_.parent_path().string());
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> SpoolFile::clean(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error);
  if (error) return fail_errno(error.value(), "cannot read the spool directory", directory.string());
  for (const auto end = std::filesystem::directory_iterator(); !error && entries != end; entries.increment(error)) {
    const std::filesystem::path path = entries->path();
    if (!path.filename().string().starts_with(prefix)) continue;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
    ::close(fd);
  }
  if (error) return fail_errno(error.value(), "cannot read the spool directory", directory.string());
  return {};
}

}  // namespace orbit::net
