#include "orbit/store/file_blob_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "orbit/base/log.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::store {
namespace {

namespace fs = std::filesystem;

constexpr const char* lock_name = "lock";

Failure no_such_blob(const Digest& digest) {
  return fail(ErrorCode::not_found, "there is no blob with SHA-256 " + digest.hex());
}
Failure damaged(const Digest& digest, const Digest& found, const fs::path& path) {
  return fail(ErrorCode::corrupt, fmt::format("the content has SHA-256 {}, not {}", found.hex(), digest.hex()),
              path.string());
}

class FileBlobStore final : public BlobStore {
 public:
  FileBlobStore(fs::path root, platform::TempDirectory scratch, platform::FileLock lock)
      : root_(std::move(root)), scratch_(std::move(scratch)), lock_(std::move(lock)) {}

  bool has(const Digest& digest) override {
    struct stat status{};
    return !digest.empty() && ::lstat(place(digest).c_str(), &status) == 0 && S_ISREG(status.st_mode);
  }

  Result<void> put(const Digest& digest, std::string_view bytes) override {
    ORBIT_TRY(check(digest));
    if (const Digest found = Sha256::of(bytes); found != digest) return damaged(digest, found, place(digest));
    if (holds(digest)) return settle(digest);
    const fs::path temporary = scratch_file();
    auto written = write(temporary, bytes);
    if (written) written = publish(digest, temporary);
    if (!written) ::unlink(temporary.c_str());
    return written;
  }

  Result<void> put_file(const Digest& digest, const fs::path& file) override {
    ORBIT_TRY(check(digest));
    platform::Fd source(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!source) return fail_errno(errno, "cannot open the file", file.string());
    struct stat status{};
    if (::fstat(source.get(), &status) != 0) return fail_errno(errno, "cannot look at the file", file.string());
    if (!S_ISREG(status.st_mode))
      return fail(ErrorCode::invalid_argument, "only regular files become blobs", file.string());
    ORBIT_TRY_ASSIGN(const Digest found, platform::digest_of_fd(source.get()));
    if (found != digest) return damaged(digest, found, file);
    if (holds(digest)) return settle(digest);

    // A file that others own or hold another link to could be changed behind our back: it is copied.
    const bool ours = status.st_uid == ::geteuid() && status.st_nlink == 1;
    const fs::path temporary = scratch_file();
    if (ours && ::rename(file.c_str(), temporary.c_str()) == 0) {
      auto taken = take_over(source, temporary, digest);
      if (!taken) ::unlink(temporary.c_str());
      return taken;
    }
    if (ours && errno != EXDEV && errno != EACCES && errno != EPERM && errno != EROFS)
      return fail_errno(errno, "cannot take the file over", file.string());
    auto copied = copy(file, temporary, digest);
    if (!copied) ::unlink(temporary.c_str());
    return copied;
  }

  Result<std::string> get(const Digest& digest, std::size_t limit_bytes) override {
    ORBIT_TRY(check(digest));
    auto bytes = platform::read_file(place(digest), limit_bytes);
    if (!bytes) {
      if (bytes.error().code == ErrorCode::not_found) return no_such_blob(digest);
      return bytes;
    }
    if (const Digest found = Sha256::of(*bytes); found != digest) return damaged(digest, found, place(digest));
    return bytes;
  }

  Result<fs::path> path(const Digest& digest) override {
    ORBIT_TRY(check(digest));
    if (!has(digest)) return no_such_blob(digest);
    return place(digest);
  }

 private:
  static Result<void> check(const Digest& digest) {
    if (digest.empty()) return fail(ErrorCode::invalid_argument, "a blob is named by its digest, this one is empty");
    return {};
  }
  fs::path place(const Digest& digest) const { return root_ / "sha256" / digest.hex().substr(0, 2) / digest.hex(); }
  fs::path scratch_file() { return scratch_.path() / std::to_string(next_++); }

  // Is it there and undamaged? What rotted on disk is replaced by the next put.
  bool holds(const Digest& digest) const {
    const auto stored = platform::digest_of_file(place(digest));
    return stored && *stored == digest;
  }

  static Result<void> write(const fs::path& temporary, std::string_view bytes) {
    platform::Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd) return fail_errno(errno, "cannot create the file", temporary.string());
    auto written = platform::write_all(fd.get(), bytes);
    if (!written) written.error().field = temporary.string();
    return written;
  }
  Result<void> take_over(const platform::Fd& source, const fs::path& temporary, const Digest& digest) {
    struct stat hashed{};
    struct stat moved{};
    if (::fstat(source.get(), &hashed) != 0 || ::lstat(temporary.c_str(), &moved) != 0)
      return fail_errno(errno, "cannot look at the file", temporary.string());
    if (hashed.st_ino != moved.st_ino || hashed.st_dev != moved.st_dev)
      return fail(ErrorCode::conflict, "the file was exchanged while it was taken over", temporary.string());
    if (::fchmod(source.get(), 0600) != 0) return fail_errno(errno, "cannot set the mode", temporary.string());
    return publish(digest, temporary);
  }
  Result<void> copy(const fs::path& file, const fs::path& temporary, const Digest& digest) {
    ORBIT_TRY(platform::copy_file(file, temporary, 0600));
    // The copy is what will be stored, so the copy is what counts.
    ORBIT_TRY_ASSIGN(const Digest found, platform::digest_of_file(temporary));
    if (found != digest) return damaged(digest, found, file);
    return publish(digest, temporary);
  }

  Result<void> publish(const Digest& digest, const fs::path& temporary) {
    ORBIT_TRY(platform::sync_file(temporary));
    const fs::path to = place(digest);
    ORBIT_TRY(platform::make_directories(to.parent_path(), 0700));
    ORBIT_TRY(platform::rename_path(temporary, to));
    return settle(digest);
  }
  // The names on the way to the blob are on disk; also when another put made them a moment ago.
  Result<void> settle(const Digest& digest) {
    const fs::path folder = place(digest).parent_path();
    ORBIT_TRY(platform::sync_directory(folder));
    return platform::sync_directory(folder.parent_path());
  }

  fs::path root_;
  platform::TempDirectory scratch_;
  platform::FileLock lock_;
  std::atomic<std::uint64_t> next_{1};
};

// Scratch directories of processes that died.
void remove_orphans(const fs::path& scratch_root) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(scratch_root, error)) {
    if (!entry.is_directory(error) || entry.is_symlink(error)) continue;
    // Without a lock file it is another process's, just being made, or empty: harmless either way.
    if (!fs::exists(entry.path() / lock_name, error)) continue;
    const auto held = platform::FileLock::is_held(entry.path() / lock_name);
    if (!held || *held) continue;
    if (auto removed = platform::remove_tree(entry.path()); !removed)
      log::warning("could not remove left-over blob scratch directory {}: {}", entry.path().string(),
                   removed.error().text());
  }
}

}  // namespace

Result<std::unique_ptr<BlobStore>> open_file_blob_store(const fs::path& root) {
  const fs::path scratch_root = root / "tmp";
  for (const fs::path& directory : {root, root / "sha256", scratch_root})
    ORBIT_TRY(platform::make_directories(directory, 0700));
  ORBIT_TRY(platform::sync_directory(root));
  remove_orphans(scratch_root);
  ORBIT_TRY_ASSIGN(auto scratch, platform::TempDirectory::make(scratch_root, "w"));
  ORBIT_TRY_ASSIGN(auto lock, platform::FileLock::acquire(scratch.path() / lock_name));
  return std::make_unique<FileBlobStore>(root, std::move(scratch), std::move(lock));
}

}  // namespace orbit::store
