#include "orbit/bundle/tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <memory>
#include <vector>

#include "orbit/bundle/paths.hpp"

namespace orbit::bundle {
namespace {

constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

class Walk {
 public:
  Walk(const TreeLimits& limits, const std::function<Result<void>(const TreeEntry&)>& visit)
      : limits_(limits), visit_(visit) {}

  Result<void> directory(int fd, const std::string& path, int depth) {
    platform::Fd copy(::openat(fd, ".", directory_flags));
    if (!copy) return fail_errno(errno, "cannot open the directory", printable(path));
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy.get()), ::closedir);
    if (!stream) return fail_errno(errno, "cannot read the directory", printable(path));
    copy.release();
    for (;;) {
      errno = 0;
      const dirent* found = ::readdir(stream.get());
      if (found == nullptr) {
        if (errno != 0) return fail_errno(errno, "cannot read the directory", printable(path));
        return {};
      }
      const std::string name = found->d_name;
      if (name == "." || name == "..") continue;
      if (++entries_ > limits_.max_entries)
        return fail(ErrorCode::too_large, fmt::format("more than {} files and directories", limits_.max_entries));
      ORBIT_TRY(entry(fd, name, path.empty() ? name : path + "/" + name, depth));
    }
  }

 private:
  Result<void> entry(int directory_fd, const std::string& name, const std::string& path, int depth) {
    TreeEntry out;
    out.path = path;
    struct stat status{};
    if (::fstatat(directory_fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return {};
      return fail_errno(errno, "cannot look at the file", printable(path));
    }
    out.mode = status.st_mode & 07777U;
    out.size_bytes = status.st_size;
    switch (status.st_mode & S_IFMT) {
      case S_IFREG:
        return visit_(out);
      case S_IFDIR:
        return enter(directory_fd, name, std::move(out), depth);
      case S_IFLNK: {
        std::array<char, PATH_MAX> target;
        const ssize_t size = ::readlinkat(directory_fd, name.c_str(), target.data(), target.size());
        if (size < 0) return {};  // became something else just now
        out.kind = TreeEntry::Kind::symlink;
        out.target.assign(target.data(), static_cast<std::size_t>(size));
        return visit_(out);
      }
      case S_IFIFO:
        out.what = "a FIFO";
        break;
      case S_IFSOCK:
        out.what = "a socket";
        break;
      default:
        out.what = "a device file";
    }
    out.kind = TreeEntry::Kind::other;
    return visit_(out);
  }

  Result<void> enter(int directory_fd, const std::string& name, TreeEntry out, int depth) {
    if (depth >= limits_.max_depth) {
      out.kind = TreeEntry::Kind::unreachable;
      out.what = fmt::format("more than {} levels deep", limits_.max_depth);
      return visit_(out);
    }
    const platform::Fd child(::openat(directory_fd, name.c_str(), directory_flags));
    if (child) return directory(child.get(), out.path, depth + 1);
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return {};  // became something else just now
    if (errno != EACCES && errno != EPERM) return fail_errno(errno, "cannot open the directory", printable(out.path));
    out.kind = TreeEntry::Kind::unreachable;
    out.what = "a directory that cannot be read";
    return visit_(out);
  }

  const TreeLimits& limits_;
  const std::function<Result<void>(const TreeEntry&)>& visit_;
  std::int64_t entries_ = 0;
};

Failure cannot_open(const std::string& shown) {
  if (errno == ENOTDIR || errno == ELOOP) return fail(ErrorCode::refused, "is not a directory", shown);
  return fail_errno(errno, "cannot open the directory", shown);
}

}  // namespace

Result<platform::Fd> open_directory(const std::filesystem::path& path) {
  platform::Fd fd(::open(path.c_str(), directory_flags));
  if (!fd) return cannot_open(path.string());
  return fd;
}

Result<platform::Fd> open_directory_beneath(const std::filesystem::path& root, const std::string& below) {
  ORBIT_TRY_ASSIGN(platform::Fd fd, open_directory(root));
  if (below.empty()) return fd;
  for (const std::filesystem::path& component : std::filesystem::path(below)) {
    platform::Fd next(::openat(fd.get(), component.c_str(), directory_flags));
    if (!next) return cannot_open(below);
    fd = std::move(next);
  }
  return fd;
}

Result<void> walk_tree(int root, const TreeLimits& limits, const std::function<Result<void>(const TreeEntry&)>& visit) {
  Walk walk(limits, visit);
  return walk.directory(root, "", 1);
}

}  // namespace orbit::bundle
