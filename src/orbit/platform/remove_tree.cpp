#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "orbit/platform/fault_hook.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::platform {
namespace {

// Empties a directory tree whatever its depth: below a certain depth directories are first moved up to the top, so that
// neither open descriptors nor the length of a path set a limit. Directories that their owner cannot enter are opened
// up.
class TreeRemover {
 public:
  TreeRemover(int top, fs::path path) : top_(top), path_(std::move(path)) {}

  Result<void> empty_top() {
    do {
      moved_up_ = false;
      ORBIT_TRY(empty(top_, 0));
    } while (moved_up_);
    return {};
  }

 private:
  static constexpr int max_depth = 32;

  Failure failed(std::string_view what, const std::string& name) const {
    return fail_errno(errno, what, (path_ / "…" / name).string());
  }

  Result<void> empty(int directory, int depth) {
    Fd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!copy) return fail_errno(errno, "cannot open the directory", path_.string());
    DIR* stream = ::fdopendir(copy.get());
    if (stream == nullptr) return fail_errno(errno, "cannot read the directory", path_.string());
    copy.release();
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(stream)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    const int error = errno;
    ::closedir(stream);
    if (error != 0) return fail_errno(error, "cannot read the directory", path_.string());
    for (const std::string& name : names) ORBIT_TRY(remove(directory, name, depth));
    return {};
  }

  Result<void> remove(int directory, const std::string& name, int depth) {
    if (injected("unlink", path_ / name)) return failed("cannot remove", name);
    if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR && errno != EPERM) return failed("cannot remove", name);
    const int unlink_error = errno;
    Fd child(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!child && errno == EACCES) {
      // A workload may leave directories that not even their owner can read. A link swapped in is not followed.
      Fd handle(::openat(directory, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (handle) ::chmod(fmt::format("/proc/self/fd/{}", handle.get()).c_str(), 0700);
      child.reset(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    if (!child) {
      if (errno == ENOENT) return {};
      if (errno == ENOTDIR || errno == ELOOP) errno = unlink_error;
      return failed("cannot remove", name);
    }
    struct stat status{};
    if (::fstat(child.get(), &status) == 0 && (status.st_mode & 0700U) != 0700U) ::fchmod(child.get(), 0700);
    if (depth >= max_depth) {
      for (;; ++serial_) {
        const std::string up = fmt::format(".orbit-rm-{}-{}", ::getpid(), serial_);
        if (::syscall(SYS_renameat2, directory, name.c_str(), top_, up.c_str(), RENAME_NOREPLACE) == 0) break;
        if (errno != EEXIST) return failed("cannot move up for removal", name);
      }
      ++serial_;
      moved_up_ = true;
      return {};
    }
    // A process that still writes there may add files between emptying and removal.
    for (int tries = 0;; ++tries) {
      ORBIT_TRY(empty(child.get(), depth + 1));
      if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
      if ((errno != ENOTEMPTY && errno != EEXIST) || tries == 10) return failed("cannot remove the directory", name);
    }
  }

  int top_;
  fs::path path_;
  std::int64_t serial_ = 0;
  bool moved_up_ = false;
};

}  // namespace

Result<void> remove_tree(const fs::path& path) {
  const Fd top(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!top) {
    if (errno == ENOENT) return {};
    if (errno != ENOTDIR && errno != ELOOP) return fail_errno(errno, "cannot open for removal", path.string());
    if (injected("unlink", path) || (::unlink(path.c_str()) != 0 && errno != ENOENT))
      return fail_errno(errno, "cannot remove", path.string());
    return {};
  }
  TreeRemover remover(top.get(), path);
  for (int tries = 0;; ++tries) {
    ORBIT_TRY(remover.empty_top());
    if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return {};
    if ((errno != ENOTEMPTY && errno != EEXIST) || tries == 10)
      return fail_errno(errno, "cannot remove the directory", path.string());
  }
}

}  // namespace orbit::platform
