#include "orbit/runner/timers.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace orbit::runner {

Result<Timers> Timers::make() {
  Timers timers;
  timers.fd_ = platform::Fd(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timers.fd_) return fail_errno(errno, "a timer cannot be made");
  return timers;
}

void Timers::set(Deadline which, MonoTime at) {
  due_[which] = at;
  arm();
}

void Timers::cancel(Deadline which) {
  if (due_.erase(which) > 0) arm();
}

std::vector<Deadline> Timers::take(MonoTime now) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t ignored = read(fd_.get(), &count, sizeof count);
  std::vector<Deadline> out;
  for (const auto& [which, at] : due_)
    if (at <= now) out.push_back(which);
  for (const auto which : out) due_.erase(which);
  arm();
  return out;
}

void Timers::arm() {
  itimerspec spec{};
  if (!due_.empty()) {
    const auto first =
        std::min_element(due_.begin(), due_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    // Zero would disarm it.
    const std::int64_t at_ms = std::max<std::int64_t>(first->second.ms, 1);
    spec.it_value.tv_sec = at_ms / 1000;
    spec.it_value.tv_nsec = at_ms % 1000 * 1'000'000;
  }
  timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

}  // namespace orbit::runner
