// A store in memory that obeys the contract of ports/store.hpp to the letter, survives the "crash" of the process that
// uses it, and fails when told to.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "orbit/ports/store.hpp"

namespace orbit::sim {

class MemoryStore : public Store {
 public:
  // What the next commit does; asked before each.
  enum class Fault {
    none,
    refuse,     // nothing happens; the answer is an error (disk full)
    lose,       // nothing happens; the answer is lost
    ambiguous,  // it happens; the answer is lost
  };
  std::function<Fault()> fault;
  std::function<bool()> silent;  // whether committed() cannot be answered; asked each time
  // Told of every change that took place, for the checkers.
  std::function<void(const Attempt* before, const Attempt& after)> on_attempt;

  Result<std::int64_t> take_leadership(WallTime now) override;
  Result<LiveState> load_live() override;
  Result<void> commit(const Batch& batch) override;
  Result<bool> committed(const BatchId& id) override;
  Result<std::unique_ptr<StoreReader>> reader() override;

  // The tables.
  std::map<RunId, Run> runs;
  std::map<AttemptId, Attempt> attempts;
  std::map<std::string, Intent> intents;
  std::map<std::string, Timer> timers;
  std::map<std::pair<AttemptId, std::string>, CheckpointRecord> checkpoints;
  std::vector<Event> events;

 private:
  Result<void> change(const Change& change);

  std::int64_t epoch_ = 0;
  std::set<BatchId> batches_;
};

}  // namespace orbit::sim
