// Looks at every attempt that has a place, again and again: its journal, its logs, its metrics. Level-triggered: it
// knows nothing that it would not find out anew after a restart.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "orbit/control/writer.hpp"
#include "orbit/ports/backend_registry.hpp"
#include "orbit/ports/clock.hpp"
#include "orbit/ports/log_store.hpp"
#include "orbit/server/submission.hpp"
#include "orbit/server/worker_pool.hpp"

namespace orbit::server {

class Observer {
 public:
  // `logs_grew` is told of an attempt whose logs have new bytes, once they are durable.
  Observer(control::Writer& writer, const BackendRegistry& backends, LogStore& logs, ReaderSource readers, Clock& clock,
           WorkerPool& workers, std::function<void(const AttemptId&)> logs_grew, std::int64_t interval_ms);
  ~Observer();  // stop()

  void start();
  void stop();

 private:
  // What this process remembers of an attempt between two looks.
  struct Memory {
    std::int32_t failures = 0;         // looks in a row that could not be made
    std::int32_t restarts = 0;         // runners found dead since the journal last grew
    std::int64_t metrics_offset = -1;  // -1: to be read from the store
  };

  void loop();
  void look_at(const LiveAttempt& attempt);
  void bring_logs_and_metrics(Placement& placement, const LiveAttempt& attempt);
  void complain(const AttemptId& id, const std::string& about, const Error& error);
  Memory memory_of(const AttemptId& id);
  void remember(const AttemptId& id, const Memory& memory);

  control::Writer& writer_;
  const BackendRegistry& backends_;
  LogStore& logs_;
  ReaderSource readers_;
  Clock& clock_;
  WorkerPool& workers_;
  const std::function<void(const AttemptId&)> logs_grew_;
  const std::int64_t interval_ms_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::map<AttemptId, Memory> memory_;
  std::map<AttemptId, std::string> complaints_;  // about its logs and metrics: each is logged once
  std::thread thread_;
};

}  // namespace orbit::server
