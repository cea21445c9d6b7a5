#include "orbit/control/engine.hpp"

#include <algorithm>

#include "orbit/base/log.hpp"
#include "orbit/decide/lifecycle.hpp"

namespace orbit::control {
namespace {

// A reconcile that still wants something after so many rounds contradicts itself; production logs it and goes on at the
// next tick.
constexpr int max_reconcile_rounds = 64;

}  // namespace

Engine::Engine(Store& store, Clock& clock, Rng& rng, Policy policy)
    : store_(store), clock_(clock), rng_(rng), anchor_(clock.now()) {
  world_.policy = policy;
}

Now Engine::now() const {
  Now now = clock_.now();
  now.steady = WallTime{anchor_.wall.ms + (now.mono.ms - anchor_.mono.ms)};
  return now;
}

Result<void> Engine::start() {
  anchor_ = clock_.now();
  ORBIT_TRY_ASSIGN(epoch_, store_.take_leadership(anchor_.wall));
  ORBIT_TRY_ASSIGN(LiveState live, store_.load_live());
  event_seq_ = live.last_event_seq;
  run_seq_ = live.last_run_seq;
  attempt_seq_ = live.last_attempt_seq;
  const Policy policy = world_.policy;
  world_ = World{};
  world_.policy = policy;
  std::vector<LiveAttempt> attempts;
  attempts.reserve(live.attempts.size());
  for (Attempt& attempt : live.attempts) {
    const RunId run = attempt.run;
    attempts.push_back(LiveAttempt{std::move(attempt), live.requests[run], live.bundles[run]});
  }
  // Due times were written by the clock of another life, which may have been set since: none can be further away than
  // its longest span.
  const auto within = [&](WallTime due, std::int64_t longest_ms) {
    return WallTime{std::min(due.ms, anchor_.wall.ms + longest_ms)};
  };
  for (Intent& intent : live.intents) intent.not_before = within(intent.not_before, policy.retry_max_ms);
  for (Timer& timer : live.timers) timer.due = within(timer.due, policy.start_deadline_s * 1000);
  load(world_, std::move(attempts), std::move(live.intents), std::move(live.timers));
  handed_out_.clear();
  deposed_ = false;
  unsettled_.reset();
  return {};
}

void Engine::number(Effects& effects) {
  for (Change& change : effects.changes) {
    if (auto* run = std::get_if<AddRun>(&change)) run->run.seq = ++run_seq_;
    if (auto* attempt = std::get_if<AddAttempt>(&change)) attempt->attempt.seq = ++attempt_seq_;
  }
  for (Event& event : effects.events) event.seq = ++event_seq_;
}

std::vector<Result<void>> Engine::process(const std::vector<Command>& commands) {
  std::vector<const Command*> pointers;
  pointers.reserve(commands.size());
  for (const Command& command : commands) pointers.push_back(&command);
  return process_batch(pointers, true);
}

std::vector<Result<void>> Engine::process_batch(const std::vector<const Command*>& commands, bool may_split) {
  if (Result<void> settled = settle(); !settled) {
    std::vector<Result<void>> answers;
    for (std::size_t i = 0; i < commands.size(); ++i) answers.emplace_back(settled);
    return answers;
  }
  const Now at = now();
  const auto counters = std::tuple(event_seq_, run_seq_, attempt_seq_);
  WorldUndo undo;
  Batch batch;
  const auto take = [&](Effects effects) {
    number(effects);
    for (Change& change : effects.changes) {
      apply(world_, change, undo);
      batch.changes.push_back(std::move(change));
    }
    for (Event& event : effects.events) batch.events.push_back(std::move(event));
  };

  std::vector<Result<void>> answers(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i) {
    Result<Effects> effects = (*commands[i])(world_, at);
    if (effects)
      take(std::move(*effects));
    else
      answers[i] = fail(std::move(effects).error());
  }
  for (int round = 0;; ++round) {
    Effects effects = decide::reconcile(world_, at);
    if (effects.empty()) break;
    if (round == max_reconcile_rounds) {
      log::error("reconciling does not come to rest: {} changes in round {}", effects.changes.size(), round);
      break;
    }
    take(std::move(effects));
  }
  if (batch.changes.empty() && batch.events.empty()) return answers;

  batch.id = make_id<BatchId>(rng_, at.wall);
  batch.leader_epoch = epoch_;
  Result<void> committed = store_.commit(batch);
  bool unsettled = false;
  if (!committed && committed.error().code == ErrorCode::unavailable) {
    // The answer may have been lost, not the commit: its row tells.
    const Result<bool> known = store_.committed(batch.id);
    if (known && *known) committed = {};
    unsettled = !known;
  }
  if (committed) {
    recorded(batch.changes, std::move(batch.events));
    return answers;
  }
  if (unsettled) unsettled_ = Unsettled{std::move(batch), event_seq_, run_seq_, attempt_seq_};

  undo.revert(world_);
  std::tie(event_seq_, run_seq_, attempt_seq_) = counters;
  const Error& error = committed.error();
  if (error.code == ErrorCode::conflict && error.field == "leader") deposed_ = true;
  if (error.code == ErrorCode::conflict && !deposed_ && may_split && commands.size() > 1) {
    for (std::size_t i = 0; i < commands.size(); ++i) answers[i] = process_batch({commands[i]}, false).front();
    return answers;
  }
  if (commands.empty()) log::error("what was decided could not be recorded: {}", error.text());
  for (Result<void>& answer : answers)
    if (answer) answer = fail(error);
  return answers;
}

// The changes are in the world already.
void Engine::recorded(const std::vector<Change>& changes, std::vector<Event> events) {
  // An intent of the same key may be decided again, even in this batch.
  for (const Change& change : changes)
    if (const auto* finished = std::get_if<FinishIntent>(&change)) handed_out_.erase(finished->key);
  for (Event& event : events) events_.push_back(std::move(event));
  sweep(world_);
}

Result<void> Engine::settle() {
  if (!unsettled_) return {};
  ORBIT_TRY_ASSIGN(const bool known, store_.committed(unsettled_->batch.id));
  if (known) {
    WorldUndo unused;
    for (const Change& change : unsettled_->batch.changes) apply(world_, change, unused);
    event_seq_ = unsettled_->event_seq;
    run_seq_ = unsettled_->run_seq;
    attempt_seq_ = unsettled_->attempt_seq;
    recorded(unsettled_->batch.changes, std::move(unsettled_->batch.events));
  }
  unsettled_.reset();
  return {};
}

std::vector<Event> Engine::take_events() {
  return std::exchange(events_, {});
}

std::vector<Intent> Engine::take_due_intents() {
  const WallTime steady = now().steady;
  std::vector<Intent> due;
  for (const auto& [key, intent] : world_.intents) {
    if (intent.not_before > steady) continue;
    if (intent.kind == IntentKind::release && world_.open_intent(intent.attempt, IntentKind::stop) != nullptr) continue;
    if (is_out(intent, steady)) continue;
    handed_out_[key] = HandedOut{intent.tries, std::nullopt};
    due.push_back(intent);
  }
  return due;
}

bool Engine::is_out(const Intent& intent, WallTime steady) const {
  const auto it = handed_out_.find(intent.key);
  if (it == handed_out_.end() || it->second.tries != intent.tries) return false;
  return !it->second.again_at || *it->second.again_at > steady;
}

void Engine::hand_out_again(const Intent& intent) {
  const auto it = handed_out_.find(intent.key);
  if (it != handed_out_.end() && it->second.tries == intent.tries)
    it->second.again_at = WallTime{now().steady.ms + world_.policy.retry_first_ms};
}

std::optional<std::int64_t> Engine::next_due_in_ms() const {
  std::optional<WallTime> first;
  const auto consider = [&](WallTime due) {
    if (!first || due < *first) first = due;
  };
  for (const auto& [key, timer] : world_.timers) consider(timer.due);
  for (const auto& [key, intent] : world_.intents) {
    const auto it = handed_out_.find(key);
    if (it == handed_out_.end() || it->second.tries != intent.tries)
      consider(intent.not_before);
    else if (it->second.again_at)
      consider(*it->second.again_at);
  }
  if (!first) return std::nullopt;
  return std::max<std::int64_t>(0, first->ms - now().steady.ms);
}

}  // namespace orbit::control
