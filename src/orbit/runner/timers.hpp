// A few named deadlines on CLOCK_BOOTTIME behind one timerfd.
#pragma once

#include <map>
#include <vector>

#include "orbit/base/time.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::runner {

enum class Deadline { time_limit, grace, scan, audit, retry, find };

class Timers {
 public:
  static Result<Timers> make();
  int event_fd() const { return fd_.get(); }
  void set(Deadline which, MonoTime at);
  void cancel(Deadline which);
  bool is_set(Deadline which) const { return due_.contains(which); }
  // Those that are due, which are cancelled.
  std::vector<Deadline> take(MonoTime now);

 private:
  void arm();
  platform::Fd fd_;
  std::map<Deadline, MonoTime> due_;
};

}  // namespace orbit::runner
