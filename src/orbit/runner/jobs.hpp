// Long work (digests, prechecks) beside the supervision loop: one thread, made when there is work, gone when there is
// none: the runner is single-threaded when it forks.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "orbit/base/result.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::runner {

class Jobs {
 public:
  using Done = std::function<void()>;  // run on the loop's thread, with what the work found
  using Work = std::function<Done()>;  // run on the helper thread

  static Result<std::unique_ptr<Jobs>> make();
  ~Jobs();

  void add(Work work);
  // Readable when something is done.
  int event_fd() const { return event_.get(); }
  // Runs what is done; on the loop's thread.
  void deliver();
  // Waits until no thread runs: before a fork.
  void quiesce();

 private:
  Jobs() = default;
  void run();

  platform::Fd event_;
  std::thread thread_;
  std::mutex mutex_;
  bool running_ = false;  // the thread will look at the queue again
  std::deque<Work> queue_;
  std::deque<Done> done_;
};

}  // namespace orbit::runner
