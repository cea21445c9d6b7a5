#include "orbit/bundle/digests.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace orbit::bundle {
namespace {

bool same_moment(const struct stat& a, const struct stat& b) {
  const auto same = [](const timespec& x, const timespec& y) { return x.tv_sec == y.tv_sec && x.tv_nsec == y.tv_nsec; };
  return a.st_size == b.st_size && same(a.st_mtim, b.st_mtim) && same(a.st_ctim, b.st_ctim);
}

}  // namespace

Result<Measured> measure(int fd, const std::string& shown) {
  const auto changed = [&] {
    return fail(ErrorCode::conflict, "changed while it was read", shown,
                "wait until nothing writes there, and try again");
  };
  struct stat before{};
  if (::fstat(fd, &before) != 0) return fail_errno(errno, "cannot look at the file", shown);
  std::array<char, 64 * 1024> buffer;
  Sha256 hash;
  std::int64_t offset = 0;
  while (offset < before.st_size) {
    const auto want = static_cast<std::size_t>(
        std::min<std::int64_t>(static_cast<std::int64_t>(buffer.size()), before.st_size - offset));
    const ssize_t got = ::pread(fd, buffer.data(), want, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "cannot read the file", shown);
    if (got == 0) return changed();
    hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    offset += got;
  }
  struct stat after{};
  if (::fstat(fd, &after) != 0) return fail_errno(errno, "cannot look at the file", shown);
  if (!same_moment(before, after)) return changed();
  return Measured{hash.finish(), before.st_size, before.st_mode & 07777U};
}

Result<void> for_each_of(std::size_t count, const std::function<Result<void>(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::optional<std::pair<std::size_t, Error>> first;
  const auto loop = [&] {
    while (!stop) {
      const std::size_t index = next++;
      if (index >= count) return;
      auto done = work(index);
      if (done) continue;
      stop = true;
      const std::lock_guard lock(mutex);
      if (!first || index < first->first) first.emplace(index, std::move(done).error());
    }
  };
  std::thread helper;
  if (count > 1) {
    try {
      helper = std::thread(loop);
    } catch (const std::system_error&) {
      // No more threads to be had: one does it too.
    }
  }
  loop();
  if (helper.joinable()) helper.join();
  if (first) return fail(std::move(first->second));
  return {};
}

}  // namespace orbit::bundle
