// Threads that carry out what may block. Tasks of one key run in the order they were posted, never two at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace orbit::server {

class WorkerPool {
 public:
  explicit WorkerPool(std::size_t threads);
  ~WorkerPool();  // stop()

  void post(const std::string& key, std::function<void()> task);
  // Whether a task of that key waits or runs.
  bool busy(const std::string& key) const;
  // Drops what waits, lets running tasks finish. Idempotent.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace orbit::server
