#include "orbit/server/worker_pool.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace orbit::server {

struct WorkerPool::State {
  mutable std::mutex mutex;
  std::condition_variable wake;
  std::unordered_map<std::string, std::deque<std::function<void()>>>
      tasks;                      // the front one of a key is ready or running
  std::deque<std::string> ready;  // keys whose front task may run
  bool stopped = false;
  std::vector<std::thread> threads;

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return stopped || !ready.empty(); });
      if (stopped) return;
      const std::string key = std::move(ready.front());
      ready.pop_front();
      const std::function<void()> task = std::move(tasks[key].front());
      lock.unlock();
      task();
      lock.lock();
      const auto it = tasks.find(key);
      if (it == tasks.end()) continue;  // stopped meanwhile
      it->second.pop_front();
      if (it->second.empty()) {
        tasks.erase(it);
      } else {
        ready.push_back(key);
        wake.notify_one();
      }
    }
  }
};

WorkerPool::WorkerPool(std::size_t threads) : state_(std::make_unique<State>()) {
  for (std::size_t i = 0; i < threads; ++i) state_->threads.emplace_back([state = state_.get()] { state->work(); });
}

WorkerPool::~WorkerPool() {
  stop();
}

void WorkerPool::post(const std::string& key, std::function<void()> task) {
  const std::lock_guard lock(state_->mutex);
  if (state_->stopped) return;
  auto& queue = state_->tasks[key];
  queue.push_back(std::move(task));
  if (queue.size() == 1) {
    state_->ready.push_back(key);
    state_->wake.notify_one();
  }
}

bool WorkerPool::busy(const std::string& key) const {
  const std::lock_guard lock(state_->mutex);
  return state_->tasks.contains(key);
}

void WorkerPool::stop() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopped = true;
    state_->tasks.clear();
    state_->ready.clear();
  }
  state_->wake.notify_all();
  for (std::thread& thread : state_->threads)
    if (thread.joinable()) thread.join();
}

}  // namespace orbit::server
