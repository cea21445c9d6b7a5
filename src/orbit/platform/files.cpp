#include "orbit/platform/files.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "orbit/platform/fault_hook.hpp"

namespace orbit::platform {
namespace {

template <class Call>
auto retry(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

Failure not_regular(const fs::path& path) {
  return fail(ErrorCode::refused, "is not a regular file", path.string());
}

// O_NONBLOCK so that a FIFO does not block the open; the check below refuses it then.
constexpr int read_flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

Result<Fd> only_regular(Fd fd, const fs::path& path) {
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, "cannot look at the file", path.string());
  if (!S_ISREG(status.st_mode)) return not_regular(path);
  return fd;
}

Result<Fd> open_regular(const fs::path& path, int more_flags) {
  Fd fd(retry([&] { return ::open(path.c_str(), read_flags | more_flags); }));
  if (!fd) {
    if (errno == ELOOP && (more_flags & O_NOFOLLOW) != 0)
      return fail(ErrorCode::refused, "is a symbolic link", path.string());
    if (errno == ENXIO) return not_regular(path);  // a socket
    return fail_errno(errno, "cannot open the file", path.string());
  }
  return only_regular(std::move(fd), path);
}

Result<std::string> read_range(int fd, std::int64_t offset, std::size_t max_bytes, const fs::path& path) {
  if (offset < 0) return fail(ErrorCode::invalid_argument, fmt::format("offset {} is negative", offset), path.string());
  constexpr std::size_t step_bytes = 256 * 1024;
  std::string out;
  while (out.size() < max_bytes) {
    const std::size_t before = out.size();
    out.resize(before + std::min(step_bytes, max_bytes - before));
    const ssize_t got = retry([&] {
      return ::pread(fd, out.data() + before, out.size() - before, offset + static_cast<std::int64_t>(before));
    });
    if (got < 0) return fail_errno(errno, "cannot read the file", path.string());
    out.resize(before + static_cast<std::size_t>(got));
    if (got == 0) break;
  }
  return out;
}

// Removes the temp file unless it was renamed.
class TempFile {
 public:
  static Result<TempFile> make(const fs::path& directory) {
    std::string name = (directory / ".orbit-tmp-XXXXXX").string();
    if (injected("open", name)) return fail_errno(errno, "cannot create a file", directory.string());
    Fd fd(::mkostemp(name.data(), O_CLOEXEC));
    if (!fd) return fail_errno(errno, "cannot create a file", directory.string());
    return TempFile(std::move(fd), std::move(name));
  }
  TempFile(TempFile&& other) noexcept : fd_(std::move(other.fd_)), name_(std::move(other.name_)) {
    other.name_.clear();
  }
  TempFile& operator=(TempFile&&) = delete;
  ~TempFile() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  int fd() const { return fd_.get(); }
  Result<void> move_to(const fs::path& path) {
    fd_.reset();
    ORBIT_TRY(rename_path(name_, path));
    name_.clear();
    return {};
  }

 private:
  TempFile(Fd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  Fd fd_;
  std::string name_;
};

fs::path parent_of(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

Result<void> replace_file(const fs::path& path, std::string_view bytes, mode_t mode, bool durably) {
  ORBIT_TRY_ASSIGN(TempFile temp, TempFile::make(parent_of(path)));
  if (injected("write", path)) return fail_errno(errno, "cannot write", path.string());
  if (auto written = write_all(temp.fd(), bytes); !written) {
    written.error().field = path.string();
    return written;
  }
  if (::fchmod(temp.fd(), mode) != 0) return fail_errno(errno, "cannot set the mode", path.string());
  if (durably) ORBIT_TRY(sync_fd(temp.fd(), path));
  ORBIT_TRY(temp.move_to(path));
  if (durably) ORBIT_TRY(sync_directory(parent_of(path)));
  return {};
}

Result<void> copy_bytes(int from, int to, const fs::path& to_path) {
  if (injected("copy", to_path)) return fail_errno(errno, "cannot copy", to_path.string());
  if (::ioctl(to, FICLONE, from) == 0) return {};
  if (errno == ENOSPC || errno == EDQUOT) return fail_errno(errno, "cannot copy", to_path.string());
  for (;;) {
    constexpr std::size_t step_bytes = 1UL << 30;
    const ssize_t copied = retry([&] { return ::copy_file_range(from, nullptr, to, nullptr, step_bytes, 0); });
    if (copied > 0) continue;
    // Not every pair of file systems can (EXDEV, EINVAL, ENOSYS, EOPNOTSUPP), and some say 0 without having copied:
    // what is left is read and written, which ends at once where nothing is.
    if (copied == 0 || errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM)
      break;
    return fail_errno(errno, "cannot copy", to_path.string());
  }
  std::string buffer(128 * 1024, '\0');
  for (;;) {
    const ssize_t got = retry([&] { return ::read(from, buffer.data(), buffer.size()); });
    if (got < 0) return fail_errno(errno, "cannot read while copying", to_path.string());
    if (got == 0) return {};
    if (auto written = write_all(to, std::string_view(buffer.data(), static_cast<std::size_t>(got))); !written) {
      written.error().field = to_path.string();
      return written;
    }
  }
}

// Kernels before 5.6, and sandboxes that do not know the call: the same answer by walking the components.
Result<Fd> walk_beneath(const Fd& root, const std::string& relative, const fs::path& shown) {
  Fd directory(retry([&] { return ::openat(root.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC); }));
  if (!directory) return fail_errno(errno, "cannot open the directory", shown.string());
  std::size_t at = 0;
  for (;;) {
    const std::size_t end = relative.find('/', at);
    const bool last = end == std::string::npos;
    const std::string name = relative.substr(at, last ? end : end - at);
    const int flags = last ? read_flags | O_NOFOLLOW : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    Fd next(retry([&] { return ::openat(directory.get(), name.c_str(), flags); }));
    if (!next) {
      struct stat status{};
      const int error = errno;
      if (::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode))
        return fail(ErrorCode::refused, "a symbolic link is in the way", shown.string());
      if (error == ENXIO) return not_regular(shown);
      return fail_errno(error, "cannot open the file", shown.string());
    }
    if (last) return next;
    directory = std::move(next);
    at = end + 1;
  }
}

Result<void> check_relative(const std::string& relative, const fs::path& shown) {
  const auto refuse = [&](std::string why) {
    return fail(ErrorCode::invalid_argument, std::move(why), shown.string());
  };
  if (relative.empty()) return refuse("the path is empty");
  if (relative.find('\0') != std::string::npos) return refuse("the path holds a NUL");
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(relative.find('/', at), relative.size());
    const std::string_view component(relative.data() + at, end - at);
    if (component.empty()) return refuse(at == 0 ? "the path is absolute" : "the path has an empty component");
    if (component == "." || component == "..") return refuse(fmt::format("the path has a component '{}'", component));
    if (end == relative.size()) return {};
    at = end + 1;
  }
}

}  // namespace

void Fd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Result<Pipe> make_pipe() {
  std::array<int, 2> fds{};
  if (pipe2(fds.data(), O_CLOEXEC) != 0) return fail_errno(errno, "a pipe cannot be made");
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

int read_exactly(int fd, void* into, std::size_t size) noexcept {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(fd, static_cast<char*>(into) + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) return 0;
    done += static_cast<std::size_t>(got);
  }
  return 1;
}

Result<std::string> read_file(const fs::path& path, std::size_t limit_bytes) {
  ORBIT_TRY_ASSIGN(const Fd fd, open_regular(path, 0));
  ORBIT_TRY_ASSIGN(std::string bytes, read_range(fd.get(), 0, limit_bytes + 1, path));
  if (bytes.size() > limit_bytes)
    return fail(ErrorCode::too_large, fmt::format("is larger than {} bytes", limit_bytes), path.string());
  return bytes;
}

Result<void> write_file_durably(const fs::path& path, std::string_view bytes, mode_t mode) {
  return replace_file(path, bytes, mode, true);
}

Result<void> write_file(const fs::path& path, std::string_view bytes, mode_t mode) {
  return replace_file(path, bytes, mode, false);
}

Result<void> sync_fd(int fd, const fs::path& path) {
  if (injected("fsync", path) || retry([&] { return ::fsync(fd); }) != 0)
    return fail_errno(errno, "cannot sync to disk", path.string());
  return {};
}

Result<void> sync_file(const fs::path& path) {
  const Fd fd(retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }));
  if (!fd) return fail_errno(errno, "cannot open for syncing", path.string());
  return sync_fd(fd.get(), path);
}

Result<void> sync_directory(const fs::path& path) {
  const Fd fd(retry([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd) return fail_errno(errno, "cannot open for syncing", path.string());
  return sync_fd(fd.get(), path);
}

Result<void> sync_file_system(const fs::path& path) {
  const Fd fd(retry([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd) return fail_errno(errno, "cannot open for syncing", path.string());
  if (injected("fsync", path) || retry([&] { return ::syncfs(fd.get()); }) != 0)
    return fail_errno(errno, "cannot sync to disk", path.string());
  return {};
}

Result<void> rename_path(const fs::path& from, const fs::path& to) {
  if (injected("rename", to) || ::rename(from.c_str(), to.c_str()) != 0)
    return fail_errno(errno, "cannot rename", to.string());
  return {};
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return fail_errno(errno, "cannot write");
    }
  }
  return {};
}

Result<std::string> read_at(const fs::path& path, std::int64_t offset, std::size_t max_bytes) {
  ORBIT_TRY_ASSIGN(const Fd fd, open_regular(path, 0));
  return read_range(fd.get(), offset, max_bytes, path);
}

Result<Fd> open_beneath(const fs::path& root, const std::string& relative) {
  const fs::path shown = root / fs::path(relative).relative_path();
  ORBIT_TRY(check_relative(relative, shown));
  const Fd top(retry([&] { return ::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); }));
  if (!top) return fail_errno(errno, "cannot open the directory", root.string());

  open_how how{};
  how.flags = static_cast<std::uint64_t>(read_flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  Fd fd;
  // EAGAIN: a rename went on beside us; the kernel asks to try again.
  for (int tries = 0; !fd && tries < 100; ++tries) {
    if (injected("openat2", shown)) break;
    fd.reset(
        static_cast<int>(retry([&] { return ::syscall(SYS_openat2, top.get(), relative.c_str(), &how, sizeof how); })));
    if (!fd && errno != EAGAIN) break;
  }
  if (!fd && (errno == ENOSYS || errno == EPERM)) {
    ORBIT_TRY_ASSIGN(fd, walk_beneath(top, relative, shown));
  }
  if (!fd) {
    if (errno == ELOOP) return fail(ErrorCode::refused, "a symbolic link is in the way", shown.string());
    if (errno == EXDEV) return fail(ErrorCode::refused, "leaves its directory", shown.string());
    if (errno == ENXIO) return not_regular(shown);
    return fail_errno(errno, "cannot open the file", shown.string());
  }
  return only_regular(std::move(fd), shown);
}

Result<std::string> read_beneath(const fs::path& root, const std::string& relative, std::int64_t offset,
                                 std::size_t max_bytes) {
  ORBIT_TRY_ASSIGN(const Fd fd, open_beneath(root, relative));
  return read_range(fd.get(), offset, max_bytes, root / relative);
}

Result<Digest> digest_of_fd(int fd) {
  std::array<char, 64 * 1024> buffer;
  Sha256 hash;
  for (std::int64_t offset = 0;;) {
    const ssize_t got = retry([&] { return ::pread(fd, buffer.data(), buffer.size(), offset); });
    if (got < 0) return fail_errno(errno, "cannot read the file");
    if (got == 0) return hash.finish();
    hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    offset += got;
  }
}

Result<Digest> digest_of_file(const fs::path& path) {
  ORBIT_TRY_ASSIGN(const Fd fd, open_regular(path, O_NOFOLLOW));
  auto digest = digest_of_fd(fd.get());
  if (!digest) digest.error().field = path.string();
  return digest;
}

Result<void> copy_file(const fs::path& from, const fs::path& to, mode_t mode) {
  ORBIT_TRY_ASSIGN(const Fd source, open_regular(from, O_NOFOLLOW));
  if (injected("open", to)) return fail_errno(errno, "cannot create the file", to.string());
  Fd target(retry([&] { return ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600); }));
  if (!target) {
    if (errno == EEXIST) return fail(ErrorCode::conflict, "exists already", to.string());
    return fail_errno(errno, "cannot create the file", to.string());
  }
  auto done = copy_bytes(source.get(), target.get(), to);
  if (done && ::fchmod(target.get(), mode) != 0) done = fail_errno(errno, "cannot set the mode", to.string());
  if (!done) ::unlink(to.c_str());
  return done;
}

Result<void> make_directories(const fs::path& path, mode_t mode) {
  if (path.empty()) return fail(ErrorCode::invalid_argument, "the path of a directory is empty");
  fs::path so_far;
  for (const fs::path& component : path) {
    so_far /= component;
    struct stat status{};
    if (::stat(so_far.c_str(), &status) == 0) {
      if (S_ISDIR(status.st_mode)) continue;
      return fail(ErrorCode::conflict, "is in the way: not a directory", so_far.string());
    }
    if (injected("mkdir", so_far)) return fail_errno(errno, "cannot make the directory", so_far.string());
    if (::mkdir(so_far.c_str(), mode) == 0) {
      if (::chmod(so_far.c_str(), mode) != 0) return fail_errno(errno, "cannot set the mode", so_far.string());
    } else if (errno != EEXIST || ::stat(so_far.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
      return fail_errno(errno, "cannot make the directory", so_far.string());
    }
  }
  return {};
}

Result<std::int64_t> free_bytes(const fs::path& path) {
  struct statvfs status{};
  if (::statvfs(path.c_str(), &status) != 0) return fail_errno(errno, "cannot ask for free space", path.string());
  return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
}

Result<FileLock> FileLock::acquire(const fs::path& path) {
  FileLock lock;
  lock.fd_.reset(
      retry([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600); }));
  if (!lock.fd_) return fail_errno(errno, "cannot open the lock", path.string());
  // Whoever asks is_held() holds a shared lock for an instant. That must not look like another owner: where a shared
  // lock can be had, nobody owns it, and we try again.
  for (int tries = 0; tries < 2000; ++tries) {
    if (retry([&] { return ::flock(lock.fd_.get(), LOCK_EX | LOCK_NB); }) == 0) return lock;
    if (errno != EWOULDBLOCK) return fail_errno(errno, "cannot lock", path.string());
    if (retry([&] { return ::flock(lock.fd_.get(), LOCK_SH | LOCK_NB); }) != 0) {
      if (errno != EWOULDBLOCK) return fail_errno(errno, "cannot lock", path.string());
      break;
    }
    ::flock(lock.fd_.get(), LOCK_UN);
    const timespec pause{0, (tries % 7 + 1) * 100'000};
    ::nanosleep(&pause, nullptr);
  }
  return fail(ErrorCode::conflict, "is locked by another process", path.string());
}

Result<bool> FileLock::is_held(const fs::path& path) {
  const Fd fd(retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); }));
  if (!fd) {
    if (errno == ENOENT) return false;
    return fail_errno(errno, "cannot open the lock", path.string());
  }
  if (retry([&] { return ::flock(fd.get(), LOCK_SH | LOCK_NB); }) == 0) return false;
  if (errno == EWOULDBLOCK) return true;
  return fail_errno(errno, "cannot look at the lock", path.string());
}

Result<TempDirectory> TempDirectory::make(const fs::path& parent, std::string_view prefix) {
  std::string name = (parent / (std::string(prefix) + "XXXXXX")).string();
  if (injected("mkdir", name) || ::mkdtemp(name.data()) == nullptr)
    return fail_errno(errno, "cannot make a temporary directory", parent.string());
  return TempDirectory(fs::path(name));
}

TempDirectory::~TempDirectory() {
  if (!path_.empty()) (void)remove_tree(path_);
}

}  // namespace orbit::platform
