#include "orbit/store/file_log_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "orbit/base/log.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t read_limit_bytes = std::size_t{8} << 20U;  // per call; callers loop

// One stream open for appending. What lies below synced_bytes is known to be on disk.
class LogFile {
 public:
  explicit LogFile(fs::path path) : path_(std::move(path)) {}

  Result<void> append(std::int64_t offset, std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    ORBIT_TRY(open());
    if (offset > size_bytes_)
      return fail(ErrorCode::conflict,
                  fmt::format("the stream has {} bytes, these begin at byte {}: what lies between is missing",
                              size_bytes_, offset),
                  path_.string());
    const auto repeated =
        static_cast<std::size_t>(std::min<std::int64_t>(size_bytes_ - offset, static_cast<std::int64_t>(bytes.size())));
    ORBIT_TRY(compare(offset, bytes.substr(0, repeated)));
    bytes.remove_prefix(repeated);
    if (bytes.empty()) return {};
    dirty_ = true;
    if (auto written = platform::write_all(fd_.get(), bytes); !written) {
      // What did go in before the disk was full is taken back, so that the stream ends where the caller thinks it does.
      cut_to(size_bytes_);
      written.error().field = path_.string();
      return written;
    }
    size_bytes_ += static_cast<std::int64_t>(bytes.size());
    return {};
  }

  Result<void> sync() {
    const std::lock_guard lock(mutex_);
    return sync_locked();
  }

  Result<std::int64_t> size() {
    const std::lock_guard lock(mutex_);
    if (fd_) return size_bytes_;
    struct stat status{};
    if (::lstat(path_.c_str(), &status) == 0) return status.st_size;
    if (errno == ENOENT) return 0;
    return fail_errno(errno, "cannot look at the file", path_.string());
  }

 private:
  Result<void> open() {
    if (fd_) return {};
    ORBIT_TRY(platform::make_directories(path_.parent_path(), 0700));
    platform::Fd fd(::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return fail_errno(errno, "cannot open the file", path_.string());
    struct stat status{};
    if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, "cannot look at the file", path_.string());
    if (!S_ISREG(status.st_mode)) return fail(ErrorCode::io, "the log is not a regular file", path_.string());
    if (status.st_size == 0) {
      if (::fchmod(fd.get(), 0600) != 0) return fail_errno(errno, "cannot set the mode", path_.string());
    } else {
      // Bytes that an earlier process wrote without a sync count from here on.
      ORBIT_TRY(platform::sync_fd(fd.get(), path_));
    }
    fd_ = std::move(fd);
    size_bytes_ = synced_bytes_ = status.st_size;
    named_ = false;
    dirty_ = true;
    return {};
  }

  Result<void> compare(std::int64_t offset, std::string_view expected) {
    std::vector<char> buffer(std::min<std::size_t>(expected.size(), 64U << 10U));
    while (!expected.empty()) {
      const ssize_t got = ::pread(fd_.get(), buffer.data(), std::min(buffer.size(), expected.size()), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_errno(errno, "cannot read the file", path_.string());
      if (got == 0) return fail(ErrorCode::corrupt, "the log became shorter than it was", path_.string());
      const auto count = static_cast<std::size_t>(got);
      if (std::string_view(buffer.data(), count) != expected.substr(0, count))
        return fail(ErrorCode::conflict, fmt::format("other bytes are recorded at {} to {}", offset, offset + got),
                    path_.string());
      expected.remove_prefix(count);
      offset += got;
    }
    return {};
  }

  Result<void> sync_locked() {
    if (!fd_ || !dirty_) return {};
    if (auto synced = platform::sync_fd(fd_.get(), path_); !synced) {
      // The kernel gives up on such pages and calls them clean: only what is written anew reaches the disk. So the
      // unsynced end goes, and the caller delivers it again.
      cut_to(synced_bytes_);
      return synced;
    }
    if (!named_) {
      ORBIT_TRY(platform::sync_directory(path_.parent_path()));
      ORBIT_TRY(platform::sync_directory(path_.parent_path().parent_path()));
      named_ = true;
    }
    synced_bytes_ = size_bytes_;
    dirty_ = false;
    return {};
  }

  // Where not even that works the file is opened afresh by the next call, and its true size counts.
  void cut_to(std::int64_t size_bytes) {
    if (::ftruncate(fd_.get(), size_bytes) == 0) {
      size_bytes_ = size_bytes;
    } else {
      log::error("could not cut {} back to {} bytes: errno {}", path_.string(), size_bytes, errno);
      fd_.reset();
    }
  }

  const fs::path path_;
  std::mutex mutex_;
  platform::Fd fd_;
  std::int64_t size_bytes_ = 0;
  std::int64_t synced_bytes_ = 0;
  bool dirty_ = false;
  bool named_ = false;  // the directory entries are on disk
};

class FileLogStore final : public LogStore {
 public:
  FileLogStore(fs::path root, const LogStoreOptions& options) : root_(std::move(root)), options_(options) {}

  Result<void> append(const AttemptId& attempt, Stream stream, std::int64_t offset, std::string_view bytes) override {
    ORBIT_TRY(check(attempt, offset));
    ORBIT_TRY_ASSIGN(const auto file, use(attempt, stream));
    return file->append(offset, bytes);
  }

  Result<void> sync(const AttemptId& attempt) override {
    ORBIT_TRY(check(attempt, 0));
    for (const Stream stream : all_streams) {
      const auto file = find(attempt, stream);
      if (file) ORBIT_TRY(file->sync());
    }
    return {};
  }

  Result<std::int64_t> size(const AttemptId& attempt, Stream stream) override {
    ORBIT_TRY(check(attempt, 0));
    if (const auto file = find(attempt, stream)) return file->size();
    return LogFile(place(attempt, stream)).size();
  }

  Result<std::string> read(const AttemptId& attempt, Stream stream, std::int64_t offset,
                           std::size_t max_bytes) override {
    ORBIT_TRY(check(attempt, offset));
    auto bytes = platform::read_at(place(attempt, stream), offset, std::min(max_bytes, read_limit_bytes));
    if (!bytes && bytes.error().code == ErrorCode::not_found) return std::string();
    return bytes;
  }

 private:
  using Key = std::pair<AttemptId, Stream>;
  struct Open {
    std::shared_ptr<LogFile> file;
    std::list<Key>::iterator used;
  };

  static Result<void> check(const AttemptId& attempt, std::int64_t offset) {
    if (attempt.empty()) return fail(ErrorCode::invalid_argument, "a log belongs to an attempt, none is given");
    if (offset < 0) return fail(ErrorCode::invalid_argument, "an offset is never negative", "offset");
    return {};
  }
  fs::path place(const AttemptId& attempt, Stream stream) const {
    return root_ / attempt.str() / (std::string(stream_name(stream)) + ".log");
  }

  std::shared_ptr<LogFile> find(const AttemptId& attempt, Stream stream) {
    const std::lock_guard lock(mutex_);
    const auto it = open_.find({attempt, stream});
    return it == open_.end() ? nullptr : it->second.file;
  }

  Result<std::shared_ptr<LogFile>> use(const AttemptId& attempt, Stream stream) {
    const std::lock_guard lock(mutex_);
    const Key key{attempt, stream};
    if (const auto it = open_.find(key); it != open_.end()) {
      used_.splice(used_.begin(), used_, it->second.used);
      return it->second.file;
    }
    ORBIT_TRY(make_room());
    used_.push_front(key);
    auto file = std::make_shared<LogFile>(place(attempt, stream));
    open_.emplace(key, Open{file, used_.begin()});
    return file;
  }

  // Closes the least recently used files that nobody works on. Handed out under the lock only, so a count of one is
  // nobody. They are synced first: once closed nobody would know that they have to be.
  Result<void> make_room() {
    auto candidate = used_.end();
    while (open_.size() >= options_.max_open_files && candidate != used_.begin()) {
      --candidate;
      const auto it = open_.find(*candidate);
      if (it->second.file.use_count() > 1) continue;
      ORBIT_TRY(it->second.file->sync());
      open_.erase(it);
      candidate = used_.erase(candidate);
    }
    return {};
  }

  const fs::path root_;
  const LogStoreOptions options_;
  std::mutex mutex_;
  std::map<Key, Open> open_;
  std::list<Key> used_;  // most recent first
};

}  // namespace

Result<std::unique_ptr<LogStore>> open_file_log_store(const fs::path& root, const LogStoreOptions& options) {
  ORBIT_TRY(platform::make_directories(root, 0700));
  return std::make_unique<FileLogStore>(root, options);
}

}  // namespace orbit::store
