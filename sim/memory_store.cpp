#include "orbit/sim/memory_store.hpp"

#include <algorithm>

namespace orbit::sim {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

Failure lost(const char* what) {
  return fail(ErrorCode::conflict, what);
}

}  // namespace

Result<std::int64_t> MemoryStore::take_leadership(WallTime now) {
  epoch_ = std::max(epoch_ + 1, now.ms / 1000);
  return epoch_;
}

Result<LiveState> MemoryStore::load_live() {
  LiveState live;
  if (!events.empty()) live.last_event_seq = events.back().seq;
  for (const auto& [id, run] : runs) live.last_run_seq = std::max(live.last_run_seq, run.seq);
  std::set<AttemptId> with_intent;
  for (const auto& [key, intent] : intents) {
    live.intents.push_back(intent);
    with_intent.insert(intent.attempt);
  }
  for (const auto& [key, timer] : timers) live.timers.push_back(timer);
  for (const auto& [id, attempt] : attempts) {
    live.last_attempt_seq = std::max(live.last_attempt_seq, attempt.seq);
    if (is_final(attempt.state) && !with_intent.contains(id)) continue;
    live.attempts.push_back(attempt);
    live.requests[attempt.run] = runs.at(attempt.run).request;
    live.bundles[attempt.run] = runs.at(attempt.run).bundle;
  }
  return live;
}

Result<void> MemoryStore::change(const Change& c) {
  return std::visit(Overloaded{
                        [&](const AddRun& add) -> Result<void> {
                          if (!runs.emplace(add.run.id, add.run).second) return lost("the run exists");
                          return {};
                        },
                        [&](const AddAttempt& add) -> Result<void> {
                          if (!runs.contains(add.attempt.run)) return lost("no such run");
                          for (const auto& [id, other] : attempts)
                            if (other.run == add.attempt.run && other.number == add.attempt.number)
                              return lost("the number is taken");
                          if (!attempts.emplace(add.attempt.id, add.attempt).second) return lost("the attempt exists");
                          return {};
                        },
                        [&](const UpdateAttempt& update) -> Result<void> {
                          const auto it = attempts.find(update.attempt.id);
                          if (it == attempts.end()) return lost("no such attempt");
                          if (it->second.version != update.seen_version || it->second.state != update.seen_state)
                            return lost("somebody else was first");
                          if (is_final(it->second.state)) return lost("a final state would change");
                          if (update.attempt.version != update.seen_version + 1) return lost("versions go up by one");
                          it->second = update.attempt;
                          return {};
                        },
                        [&](const AddCheckpoint& add) -> Result<void> {
                          checkpoints.emplace(std::pair(add.checkpoint.attempt, add.checkpoint.record.path),
                                              add.checkpoint.record);
                          return {};
                        },
                        [&](const AddIntent& add) -> Result<void> {
                          intents.emplace(add.intent.key, add.intent);
                          return {};
                        },
                        [&](const RetryIntent& retry) -> Result<void> {
                          const auto it = intents.find(retry.intent.key);
                          if (it == intents.end()) return lost("no such intent");
                          it->second = retry.intent;
                          return {};
                        },
                        [&](const FinishIntent& finish) -> Result<void> {
                          intents.erase(finish.key);
                          return {};
                        },
                        [&](const SetTimer& set) -> Result<void> {
                          timers.insert_or_assign(set.timer.key, set.timer);
                          return {};
                        },
                        [&](const DropTimer& drop) -> Result<void> {
                          timers.erase(drop.key);
                          return {};
                        },
                        [&](const auto&) -> Result<void> { return {}; },
                    },
                    c);
}

Result<void> MemoryStore::commit(const Batch& batch) {
  const Fault now = fault ? fault() : Fault::none;
  if (now == Fault::refuse) return fail(ErrorCode::exhausted, "disk full");
  if (now == Fault::lose) return fail(ErrorCode::unavailable, "the answer was lost");
  if (batch.leader_epoch != epoch_) return fail(ErrorCode::conflict, "outdated leader", "leader");

  const auto saved = std::tuple(runs, attempts, intents, timers, checkpoints);
  for (const Change& c : batch.changes)
    if (Result<void> changed = change(c); !changed) {
      std::tie(runs, attempts, intents, timers, checkpoints) = saved;
      return changed;
    }
  for (const Event& event : batch.events) events.push_back(event);
  batches_.insert(batch.id);
  if (on_attempt)
    for (const auto& [id, attempt] : attempts) {
      const auto& before = std::get<1>(saved);
      const auto it = before.find(id);
      if (it == before.end() || it->second.version != attempt.version)
        on_attempt(it == before.end() ? nullptr : &it->second, attempt);
    }
  if (now == Fault::ambiguous) return fail(ErrorCode::unavailable, "the answer was lost");
  return {};
}

Result<bool> MemoryStore::committed(const BatchId& id) {
  if (silent && silent()) return fail(ErrorCode::unavailable, "nobody answers");
  return batches_.contains(id);
}

Result<std::unique_ptr<StoreReader>> MemoryStore::reader() {
  return fail(ErrorCode::unsupported, "the simulated store is read by its tables");
}

}  // namespace orbit::sim
