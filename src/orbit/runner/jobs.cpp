#include "orbit/runner/jobs.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace orbit::runner {

Result<std::unique_ptr<Jobs>> Jobs::make() {
  std::unique_ptr<Jobs> jobs(new Jobs);
  jobs->event_ = platform::Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!jobs->event_) return fail_errno(errno, "an eventfd cannot be made");
  return jobs;
}

Jobs::~Jobs() {
  quiesce();
}

void Jobs::add(Work work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    if (running_) return;
    running_ = true;
  }
  if (thread_.joinable()) thread_.join();  // it has seen an empty queue and is on its way out
  thread_ = std::thread([this] { run(); });
}

void Jobs::run() {
  for (;;) {
    Work work;
    {
      const std::lock_guard lock(mutex_);
      if (queue_.empty()) {
        running_ = false;
        return;
      }
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    Done done = work();
    {
      const std::lock_guard lock(mutex_);
      done_.push_back(std::move(done));
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t ignored = write(event_.get(), &one, sizeof one);
  }
}

void Jobs::quiesce() {
  if (thread_.joinable()) thread_.join();
}

void Jobs::deliver() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t ignored = read(event_.get(), &count, sizeof count);
  std::deque<Done> done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
  }
  for (const auto& each : done) each();
}

}  // namespace orbit::runner
