// Files that survive a crash, and files that cannot be used to climb out. All durable writes of Orbit go through here,
// so that faults can be injected in one place.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "orbit/base/digest.hpp"
#include "orbit/base/result.hpp"

namespace orbit::platform {

namespace fs = std::filesystem;

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
};
Result<Pipe> make_pipe();  // both ends close on exec
// Reads until `size` bytes are there. 1: they are; 0: an earlier end of file; -1: errno. Async-signal-safe.
int read_exactly(int fd, void* into, std::size_t size) noexcept;

Result<std::string> read_file(const fs::path& path, std::size_t limit_bytes);
// Temp file in the same directory (".orbit-tmp-" and six characters: what a crash leaves behind), write, fsync, rename,
// fsync of the directory.
Result<void> write_file_durably(const fs::path& path, std::string_view bytes, mode_t mode);
// The same without the syncs: for what can be made again.
Result<void> write_file(const fs::path& path, std::string_view bytes, mode_t mode);
Result<void> sync_file(const fs::path& path);
Result<void> sync_directory(const fs::path& path);
// Everything on the file system that holds `path` (syncfs): for trees of many files.
Result<void> sync_file_system(const fs::path& path);
Result<void> write_all(int fd, std::string_view bytes);
Result<void> sync_fd(int fd, const fs::path& path = {});  // fsync; the path only serves the error
// rename(2) without a sync: sync_directory of the parent makes it last.
Result<void> rename_path(const fs::path& from, const fs::path& to);
Result<std::string> read_at(const fs::path& path, std::int64_t offset, std::size_t max_bytes);

// Opens `relative` below `root` for reading, following no link and leaving root by no way (openat2 with RESOLVE_BENEATH
// and RESOLVE_NO_SYMLINKS), and only regular files.
Result<Fd> open_beneath(const fs::path& root, const std::string& relative);
Result<std::string> read_beneath(const fs::path& root, const std::string& relative, std::int64_t offset,
                                 std::size_t max_bytes);

// SHA-256 of a regular file through an open descriptor, reading from offset 0.
Result<Digest> digest_of_fd(int fd);
Result<Digest> digest_of_file(const fs::path& path);  // refuses links and non-regular files

// Copies content (reflink where the file system can), never a hard link. The destination must not exist.
Result<void> copy_file(const fs::path& from, const fs::path& to, mode_t mode);
// mkdir -p with the given mode whatever the umask.
Result<void> make_directories(const fs::path& path, mode_t mode = 0755);
// rm -r that follows no links. Missing is fine.
Result<void> remove_tree(const fs::path& path);
Result<std::int64_t> free_bytes(const fs::path& path);

// An flock held as long as the object lives. `conflict` when somebody else holds it.
class FileLock {
 public:
  static Result<FileLock> acquire(const fs::path& path);
  static Result<bool> is_held(const fs::path& path);  // by anybody; a missing file is not

 private:
  Fd fd_;
};

// A temporary directory below `parent`, removed with its content when the object goes.
class TempDirectory {
 public:
  static Result<TempDirectory> make(const fs::path& parent, std::string_view prefix);
  TempDirectory(TempDirectory&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TempDirectory& operator=(TempDirectory&&) = delete;
  ~TempDirectory();
  const fs::path& path() const { return path_; }

 private:
  explicit TempDirectory(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

// For tests that fail the first, second, … operation in turn: called before every system call that changes or syncs a
// file, with the call's name
// ("open", "write", "fsync", "rename", "mkdir", "copy", "unlink") and a path; a number other than 0 is the errno with
// which the call fails instead. Empty: none. Not to be set while other threads write.
using FaultHook = std::function<int(std::string_view operation, const std::string& path)>;
void set_fault_hook(FaultHook hook);

}  // namespace orbit::platform
