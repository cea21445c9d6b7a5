#include "orbit/server/observer.hpp"

#include <algorithm>
#include <vector>

#include "orbit/base/log.hpp"
#include "orbit/control/carry.hpp"
#include "orbit/decide/lifecycle.hpp"
#include "orbit/server/collect.hpp"

namespace orbit::server {
namespace {

bool worth_a_look(const LiveAttempt& attempt) {
  const Attempt& record = attempt.record;
  if (record.handle.empty() || record.result) return false;
  return record.state == AttemptState::starting || record.state == AttemptState::running ||
         record.state == AttemptState::collecting;
}

}  // namespace

Observer::Observer(control::Writer& writer, const BackendRegistry& backends, LogStore& logs, ReaderSource readers,
                   Clock& clock, WorkerPool& workers, std::function<void(const AttemptId&)> logs_grew,
                   std::int64_t interval_ms)
    : writer_(writer),
      backends_(backends),
      logs_(logs),
      readers_(std::move(readers)),
      clock_(clock),
      workers_(workers),
      logs_grew_(std::move(logs_grew)),
      interval_ms_(interval_ms) {}

Observer::~Observer() {
  stop();
}

void Observer::start() {
  thread_ = std::thread([this] { loop(); });
}

void Observer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Observer::loop() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, std::chrono::milliseconds(interval_ms_), [&] { return stop_.load(); })) return;
    }
    std::vector<LiveAttempt> live;
    const Result<void> looked = writer_.inspect([&](const World& world) {
      for (const auto& [id, attempt] : world.attempts)
        if (worth_a_look(attempt)) live.push_back(attempt);
    });
    if (!looked) continue;
    {
      const std::lock_guard lock(mutex_);
      const auto is_over = [&](const auto& item) {
        return std::none_of(live.begin(), live.end(), [&](const LiveAttempt& a) { return a.record.id == item.first; });
      };
      std::erase_if(memory_, is_over);
      std::erase_if(complaints_, is_over);
    }
    for (LiveAttempt& attempt : live) {
      const std::string key = attempt.record.id.str();
      if (workers_.busy(key)) continue;  // an intent is being carried out, or the last look still goes on
      workers_.post(key, [this, attempt = std::move(attempt)] { look_at(attempt); });
    }
  }
}

Observer::Memory Observer::memory_of(const AttemptId& id) {
  const std::lock_guard lock(mutex_);
  return memory_[id];
}

void Observer::remember(const AttemptId& id, const Memory& memory) {
  const std::lock_guard lock(mutex_);
  memory_[id] = memory;
}

// A workload can make every look fail: said once, not five times a second.
void Observer::complain(const AttemptId& id, const std::string& about, const Error& error) {
  const std::string text = about + ": " + error.text();
  {
    const std::lock_guard lock(mutex_);
    std::string& said = complaints_[id];
    if (said.find(text) != std::string::npos) return;
    said += text + "\n";
  }
  log::warning("attempt {}: {}", id.str(), text);
}

void Observer::look_at(const LiveAttempt& attempt) {
  const Attempt& record = attempt.record;
  const AttemptId id = record.id;
  const Result<Placement*> placement = backends_.find(record.placement, record.launch);
  if (!placement) {
    log::error("attempt {} has no backend any more: {}", id.str(), placement.error().text());
    return;
  }
  Memory memory = memory_of(id);
  Result<Observation> observation = (*placement)->observe(record.handle, record.journal_seq);
  if (!observation) {
    ++memory.failures;
    remember(id, memory);
    const Error error = observation.error();
    if (error.code == ErrorCode::not_found) {
      writer_.post([id, error](const World& world, Now now) -> Result<Effects> {
        return decide::place_gone(world, id, error.text(), now);
      });
    } else {
      writer_.post([id, error, failures = memory.failures](const World& world, Now now) -> Result<Effects> {
        return decide::not_observed(world, id, failures, error, now);
      });
    }
    return;
  }
  bring_logs_and_metrics(**placement, attempt);
  memory = memory_of(id);
  memory.failures = 0;

  decide::Sight sight = control::sight_of(std::move(*observation));
  if (!sight.journal.empty()) memory.restarts = 0;
  remember(id, memory);
  const bool news =
      !sight.journal.empty() || sight.result || sight.runner_dead || record.reachability != Reachability::live;
  if (!news) return;
  writer_.post([this, id, sight = std::move(sight)](const World& world, Now now) -> Result<Effects> {
    // Counted on the writer's thread, where it is known whether another one is being started already.
    std::int32_t restarts = 0;
    if (sight.runner_dead && world.open_intent(id, IntentKind::start) == nullptr) {
      Memory counted = memory_of(id);
      restarts = counted.restarts++;
      remember(id, counted);
    }
    return decide::observed(world, id, sight, restarts, now);
  });
}

void Observer::bring_logs_and_metrics(Placement& placement, const LiveAttempt& attempt) {
  const Attempt& record = attempt.record;
  if (const auto shipped = ship_logs(placement, record, logs_, stop_); !shipped)
    complain(record.id, "logs", shipped.error());
  else if (*shipped > 0)
    logs_grew_(record.id);

  Memory memory = memory_of(record.id);
  if (memory.metrics_offset < 0) {
    const auto reader = readers_();
    if (!reader) return;
    const auto offset = (*reader)->metrics_offset(record.id);
    if (!offset) return;
    memory.metrics_offset = *offset;
  }
  for (bool more = true; more && !stop_;) {
    auto read =
        read_metrics(placement, record, attempt.request.values.metrics_file, memory.metrics_offset, clock_.now().wall);
    if (!read) {
      complain(record.id, "metrics", read.error());
      break;
    }
    if (read->to_offset == read->from_offset) break;
    more = read->more;
    const std::int64_t to_offset = read->to_offset;
    const Result<void> recorded = writer_.run([&](const World&, Now) -> Result<Effects> {
      return decide::metrics(record.id, read->from_offset, read->to_offset, std::move(read->points));
    });
    if (!recorded) {
      memory.metrics_offset = -1;  // ask the store where it stands
      break;
    }
    memory.metrics_offset = to_offset;
  }
  remember(record.id, memory);
}

}  // namespace orbit::server
