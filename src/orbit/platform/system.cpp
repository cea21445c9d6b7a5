#include "orbit/platform/system.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <ctime>

namespace orbit::platform {
namespace {

std::int64_t read_ms(clockid_t clock) {
  timespec time{};
  ORBIT_ASSERT(clock_gettime(clock, &time) == 0);
  return static_cast<std::int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000;
}

}  // namespace

Now SystemClock::now() const {
  Now now;
  now.wall = WallTime{read_ms(CLOCK_REALTIME)};
  now.mono = MonoTime{read_ms(CLOCK_BOOTTIME)};
  now.steady = now.wall;
  return now;
}

void SystemRng::fill(std::span<std::uint8_t> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = getrandom(bytes.data() + done, bytes.size() - done, 0);
    // The only errors left are programming errors (a bad address, bad flags): ids must never be predictable instead.
    ORBIT_ASSERT(got >= 0 || errno == EINTR);
    if (got > 0) done += static_cast<std::size_t>(got);
  }
}

std::string own_program() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0) return {};
  std::string program(path.data(), static_cast<std::size_t>(length));
  // The kernel appends this once the file was replaced by an upgrade; the new file has the same path.
  constexpr std::string_view gone = " (deleted)";
  if (program.size() > gone.size() && program.ends_with(gone)) program.resize(program.size() - gone.size());
  return program;
}

}  // namespace orbit::platform
