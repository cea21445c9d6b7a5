#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <limits>
#include <memory>

#include "orbit/base/text.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/bundle/digests.hpp"
#include "orbit/bundle/paths.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::bundle {
namespace {

Result<fs::path> resolved(const fs::path& path, const std::string& shown) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  if (real) return fs::path(real.get());
  if (errno == ELOOP) return fail(ErrorCode::invalid_argument, "is a symbolic link that leads back to itself", shown);
  if (errno == ENOENT || errno == ENOTDIR)
    return fail(ErrorCode::invalid_argument, "is a symbolic link to something that does not exist", shown);
  return fail_errno(errno, "cannot resolve the symbolic link", shown);
}

Result<std::vector<std::string>> sorted_names(const fs::path& directory, const std::string& shown) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), ::closedir);
  if (!stream) return fail_errno(errno, "cannot open the directory", shown);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return fail_errno(errno, "cannot read the directory", shown);
  std::sort(names.begin(), names.end());
  return names;
}

std::string_view kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device file";
  return "neither a file nor a directory";
}

// Lists without reading: sizes are known and checked before the first byte is.
class Walk {
 public:
  Walk(fs::path root, const std::string& prefix, const Limits& limits, const std::vector<std::string>& ignore)
      : root_(std::move(root)), prefix_(prefix), limits_(limits), ignore_(ignore) {}

  Result<std::vector<SourceFile>> run() {
    ORBIT_TRY(directory(root_, {}));
    std::sort(files_.begin(), files_.end(),
              [](const SourceFile& a, const SourceFile& b) { return a.entry.path < b.entry.path; });
    return std::move(files_);
  }

 private:
  bool left_out(const std::string& name) const {
    return name == ".git" || std::find(ignore_.begin(), ignore_.end(), name) != ignore_.end();
  }

  Result<void> directory(const fs::path& real, const std::string& relative) {
    const std::string shown = relative.empty() ? root_.string() : printable(relative);
    struct stat status{};
    if (::stat(real.c_str(), &status) != 0) return fail_errno(errno, "cannot look at the directory", shown);
    const std::pair id{status.st_dev, status.st_ino};
    if (std::find(open_.begin(), open_.end(), id) != open_.end())
      return fail(ErrorCode::invalid_argument, "is a symbolic link to a directory that contains it", shown);
    // Directories hold no file of their own, but links to them could multiply without end.
    if (++directories_ > limits_.max_files)
      return fail(ErrorCode::too_large, fmt::format("more than {} directories", limits_.max_files), shown);
    open_.push_back(id);
    ORBIT_TRY_ASSIGN(const std::vector<std::string> names, sorted_names(real, shown));
    for (const std::string& name : names) {
      if (left_out(name)) continue;
      ORBIT_TRY(entry(real / name, relative.empty() ? name : relative + "/" + name));
    }
    open_.pop_back();
    return {};
  }

  Result<void> entry(fs::path real, const std::string& relative) {
    const std::string shown = printable(relative);
    const std::string path = prefix_.empty() ? relative : prefix_ + "/" + relative;
    ORBIT_TRY(check_path(path, shown, limits_));
    struct stat status{};
    if (::lstat(real.c_str(), &status) != 0) return fail_errno(errno, "cannot look at the file", shown);
    if (S_ISLNK(status.st_mode)) {
      ORBIT_TRY_ASSIGN(real, resolved(real, shown));
      ORBIT_TRY(check_inside(real, shown));
      if (::lstat(real.c_str(), &status) != 0) return fail_errno(errno, "cannot look at the file", shown);
    }
    if (S_ISDIR(status.st_mode)) return directory(real, relative);
    if (!S_ISREG(status.st_mode))
      return fail(ErrorCode::invalid_argument,
                  fmt::format("is {}: only files and directories can be frozen", kind_of(status.st_mode)), shown);
    if (static_cast<std::int64_t>(files_.size()) >= limits_.max_files)
      return fail(ErrorCode::too_large, fmt::format("more than {} files", limits_.max_files), shown,
                  "keep data outside of the code and name it as an input with an absolute path");
    if (status.st_size > limits_.max_total_bytes - total_bytes_)
      return fail(ErrorCode::too_large,
                  fmt::format("has {}; with it the total is more than {}", human_bytes(status.st_size),
                              human_bytes(limits_.max_total_bytes)),
                  shown, "keep data outside of the code and name it as an input with an absolute path");
    total_bytes_ += status.st_size;
    SourceFile file;
    file.entry.path = path;
    file.entry.size_bytes = status.st_size;
    file.from = std::move(real);
    files_.push_back(std::move(file));
    return {};
  }

  Result<void> check_inside(const fs::path& target, const std::string& shown) const {
    auto part = target.begin();
    for (const fs::path& component : root_)
      if (part == target.end() || *part++ != component)
        return fail(ErrorCode::invalid_argument, "is a symbolic link that leaves the folder", shown,
                    "replace it by the file itself, or name the data as an input");
    for (; part != target.end(); ++part)
      if (left_out(part->string()))
        return fail(ErrorCode::invalid_argument,
                    "is a symbolic link into '" + printable(part->string()) + "', which is left out", shown);
    return {};
  }

  fs::path root_;
  const std::string& prefix_;
  const Limits& limits_;
  const std::vector<std::string>& ignore_;
  std::vector<SourceFile> files_;
  std::vector<std::pair<dev_t, ino_t>> open_;
  std::int64_t directories_ = 0;
  std::int64_t total_bytes_ = 0;
};

Result<Measured> measure_path(const fs::path& path, const std::string& shown) {
  const platform::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd) return fail_errno(errno, "cannot open the file", shown);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, "cannot look at the file", shown);
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::invalid_argument, "is not a regular file", shown);
  return measure(fd.get(), shown);
}

}  // namespace

Result<std::vector<SourceFile>> scan(const fs::path& folder, const std::string& prefix, const Limits& limits,
                                     const std::vector<std::string>& ignore) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) return fail_errno(errno, "cannot open the folder", folder.string());
  if (!S_ISDIR(status.st_mode)) return fail(ErrorCode::invalid_argument, "is not a folder", folder.string());
  ORBIT_TRY_ASSIGN(fs::path root, resolved(folder, folder.string()));
  Walk walk(std::move(root), prefix, limits, ignore);
  ORBIT_TRY_ASSIGN(std::vector<SourceFile> files, walk.run());
  ORBIT_TRY(for_each_of(files.size(), [&](std::size_t index) -> Result<void> {
    SourceFile& file = files[index];
    const std::string shown = prefix.empty() ? file.entry.path : file.entry.path.substr(prefix.size() + 1);
    ORBIT_TRY_ASSIGN(const Measured measured, measure_path(file.from, shown));
    if (measured.size_bytes != file.entry.size_bytes)
      return fail(ErrorCode::conflict, "changed while the folder was read", shown,
                  "wait until nothing writes there, and try again");
    file.entry.sha256 = measured.sha256;
    file.entry.executable = (measured.mode & S_IXUSR) != 0;
    return {};
  }));
  return files;
}

Digest digest_of_list(const std::vector<FileEntry>& files) {
  return Sha256::of(manifest_text(BundleManifest{1, files}));
}

Result<DataFingerprint> fingerprint(const std::string& input, const fs::path& path) {
  // Data is not copied: what bounds it is the disk it lies on.
  const Limits limits{10'000'000, std::numeric_limits<std::int64_t>::max(), 4096, 64};
  const std::string field = "inputs." + input;
  DataFingerprint out;
  out.input = input;
  out.path = path.string();
  struct stat status{};
  if (!path.is_absolute())
    return fail(ErrorCode::invalid_argument, "the path of data that stays outside must be absolute", field);
  if (::stat(path.c_str(), &status) != 0) {
    auto failure = fail_errno(errno, "cannot open " + printable(path.string()), field);
    return failure;
  }
  if (S_ISDIR(status.st_mode)) {
    auto files = scan(path, "", limits);
    if (!files) {
      files.error().message =
          fmt::format("{}/{}: {}", printable(path.string()), files.error().field, files.error().message);
      files.error().field = field;
      return fail(std::move(files).error());
    }
    std::vector<FileEntry> entries;
    for (SourceFile& file : *files) {
      out.size_bytes += file.entry.size_bytes;
      entries.push_back(std::move(file.entry));
    }
    out.files = static_cast<std::int64_t>(entries.size());
    out.sha256 = digest_of_list(entries);
    return out;
  }
  if (!S_ISREG(status.st_mode))
    return fail(ErrorCode::invalid_argument, "is neither a file nor a folder: " + printable(path.string()), field);
  ORBIT_TRY_ASSIGN(const fs::path real, resolved(path, field));
  auto measured = measure_path(real, printable(path.string()));
  if (!measured) {
    measured.error().message = fmt::format("{}: {}", measured.error().field, measured.error().message);
    measured.error().field = field;
    return fail(std::move(measured).error());
  }
  out.files = 1;
  out.size_bytes = measured->size_bytes;
  out.sha256 = measured->sha256;
  return out;
}

}  // namespace orbit::bundle
