#include "orbit/decide/lifecycle.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "orbit/base/json.hpp"
#include "orbit/base/text.hpp"

namespace orbit::decide {
namespace {

Event event_of(EventKind kind, const Attempt& attempt, const std::string& actor, std::string evidence, Now now) {
  Event out;
  out.at = now.wall;
  out.kind = kind;
  out.actor = actor;
  out.project = attempt.project;
  out.run = attempt.run;
  out.attempt = attempt.id;
  out.evidence = std::move(evidence);
  return out;
}

// One attempt being changed by one decision: however many things are decided about it, it becomes one UpdateAttempt,
// with one event a transition.
class Draft {
 public:
  Draft(const World& world, const LiveAttempt& live, Now now)
      : world_(world), seen_(live.record), next_(live.record), now_(now) {}

  Attempt& record() { return next_; }
  const Attempt& record() const { return next_; }

  void move(AttemptState to, const std::string& actor, std::string evidence, std::optional<Reason> reason = {}) {
    ORBIT_ASSERT(may_follow(next_.state, to));
    Event event = event_of(EventKind::attempt_state, next_, actor, std::move(evidence), now_);
    event.from = next_.state;
    event.to = to;
    event.reason = reason;
    effects_.events.push_back(std::move(event));
    next_.state = to;
    changed_ = true;
  }

  // A final state: with its reason, no timers, and the place given back. `silence`: nobody saw the workload end, so
  // whatever may still run there is told to stop before the place is given back.
  void end(AttemptState state, Reason reason, std::string detail, const std::string& actor, bool silence = false) {
    next_.reason = reason;
    next_.detail = detail;
    next_.ended_at = now_.wall;
    move(state, actor, std::move(detail), reason);
    for (const TimerKind kind : {TimerKind::start_deadline, TimerKind::lost_deadline}) drop_timer(kind);
    for (auto it = world_.intents.lower_bound(next_.id.str());
         it != world_.intents.end() && it->second.attempt == next_.id; ++it)
      finish(it->first);
    if (next_.handle.empty()) return;
    if (silence) intend(IntentKind::stop);
    intend(IntentKind::release);
  }

  void note(EventKind kind, const std::string& actor, std::string evidence) {
    effects_.events.push_back(event_of(kind, next_, actor, std::move(evidence), now_));
  }
  void touch() { changed_ = true; }
  void add(Change change) { effects_.changes.push_back(std::move(change)); }

  void intend(IntentKind kind, std::int64_t n = 0, WallTime not_before = {}) {
    Intent intent;
    intent.key = intent_key(next_.id, kind, n);
    intent.kind = kind;
    intent.attempt = next_.id;
    intent.epoch = next_.epoch;
    intent.not_before = std::max(not_before, now_.steady);
    intent.created_at = now_.wall;
    add(AddIntent{std::move(intent)});
  }
  void finish(const std::string& key) {
    if (std::find(finished_.begin(), finished_.end(), key) != finished_.end()) return;
    finished_.push_back(key);
    add(FinishIntent{key});
  }
  void set_timer(TimerKind kind, std::int64_t seconds) {
    add(SetTimer{Timer{timer_key(next_.id, kind), kind, next_.id, WallTime{now_.steady.ms + seconds * 1000}}});
  }
  void drop_timer(TimerKind kind) {
    const std::string key = timer_key(next_.id, kind);
    if (world_.timers.contains(key)) add(DropTimer{key});
  }

  Effects take() {
    if (changed_) {
      next_.version = seen_.version + 1;
      effects_.changes.insert(effects_.changes.begin(), UpdateAttempt{next_, seen_.version, seen_.state});
    }
    return std::move(effects_);
  }

 private:
  const World& world_;
  const Attempt& seen_;
  Attempt next_;
  Now now_;
  bool changed_ = false;
  std::vector<std::string> finished_;
  Effects effects_;
};

Attempt first_record(const Run& run, const AttemptId& id, std::int32_t number, const std::string& actor, Now now) {
  Attempt attempt;
  attempt.id = id;
  attempt.run = run.id;
  attempt.project = run.project;
  attempt.number = number;
  attempt.placement = run.request.placement;
  attempt.launch = run.request.launch;
  attempt.target = run.request.values.target.value_or("");
  attempt.created_by = actor;
  attempt.created_at = now.wall;
  return attempt;
}

// How many attempts a target takes at a time.
std::int32_t slots(const World& world) {
  return world.policy.local_slots;
}

std::int32_t occupied(const World& world, const std::string& target) {
  const auto it = world.occupied.find(target);
  return it == world.occupied.end() ? 0 : it->second;
}

// Whether waiting and trying again can help.
bool looks_permanent(ErrorCode code) {
  switch (code) {
    case ErrorCode::unavailable:
    case ErrorCode::exhausted:
    case ErrorCode::io:
    case ErrorCode::internal:
      return false;
    default:
      return true;
  }
}

Conclusion failed_intent(IntentKind kind, const Error& error) {
  if (error.code == ErrorCode::exhausted) return {AttemptState::failed, Reason::disk_full, error.text()};
  switch (kind) {
    case IntentKind::collect:
      return {AttemptState::failed, Reason::collect_failed, error.text()};
    case IntentKind::provision:
    case IntentKind::start:
      return {AttemptState::failed, Reason::start_failed, error.text()};
    default:
      return {AttemptState::failed, Reason::controller_error, error.text()};
  }
}

// Acts on one journal record; the journal is read in order, each record once.
void act_on(Draft& draft, const JournalRecord& record) {
  Attempt& attempt = draft.record();
  switch (record.kind) {
    case JournalKind::workload_started:
      if (!attempt.started_at) attempt.started_at = record.at;
      if (attempt.state == AttemptState::starting) {
        draft.drop_timer(TimerKind::start_deadline);
        draft.move(AttemptState::running, "runner",
                   record.process ? fmt::format("pid {}", record.process->pid) : std::string());
      }
      break;
    case JournalKind::workload_ended:
      if (attempt.state == AttemptState::running)
        draft.move(AttemptState::collecting, "runner",
                   record.exit_code ? fmt::format("exit code {}", *record.exit_code)
                   : record.signal  ? fmt::format("signal {}", *record.signal)
                                    : std::string("the workload is gone"));
      break;
    case JournalKind::checkpoint:
      if (record.checkpoint) {
        draft.add(AddCheckpoint{Checkpoint{attempt.id, *record.checkpoint}});
        draft.note(EventKind::attempt_checkpoint, "runner", record.checkpoint->path);
      }
      break;
    case JournalKind::runner_started:
      draft.drop_timer(TimerKind::start_deadline);
      if (record.detail == "adopted") draft.note(EventKind::attempt_adopted, "runner", "the runner before it is gone");
      break;
    case JournalKind::precheck_passed:
    case JournalKind::precheck_failed:
    case JournalKind::workload_launching:
    case JournalKind::stop_requested:
    case JournalKind::signalled:
    case JournalKind::leftovers_ended:
    case JournalKind::collected:
    case JournalKind::finished:
      break;
  }
}

}  // namespace

Effects submit(const Run& run, const AttemptId& id, Now now) {
  const Attempt attempt = first_record(run, id, 1, run.created_by, now);
  Event submitted = event_of(EventKind::run_submitted, attempt, run.created_by, run.name, now);
  submitted.attempt = {};
  return {{AddRun{run}, AddAttempt{attempt, run.request, run.bundle}},
          {std::move(submitted), event_of(EventKind::attempt_created, attempt, run.created_by, "attempt 1", now)}};
}

Result<Effects> add_attempt(const World& world, const Run& run, const NewAttempt& request, Now now) {
  for (const auto& [id, live] : world.attempts)
    if (live.record.run == run.id && !is_final(live.record.state))
      return fail(ErrorCode::conflict,
                  fmt::format("attempt {} of run {} is still {}", live.record.number, run.name,
                              json::name_of(live.record.state)),
                  "run", "wait for it to end, or stop it first");
  Attempt attempt = first_record(run, request.id, request.number, request.actor, now);
  if (!request.target.empty()) attempt.target = request.target;
  attempt.resume = request.resume;
  std::string evidence = fmt::format("attempt {}", request.number);
  if (request.resume) evidence += " from checkpoint " + request.resume->checkpoint;
  return Effects{{AddAttempt{attempt, run.request, run.bundle}},
                 {event_of(EventKind::attempt_created, attempt, request.actor, std::move(evidence), now)}};
}

Result<Effects> request_stop(const World& world, const AttemptId& id, const std::string& actor, Now now) {
  const LiveAttempt* live = world.find(id);
  if (live == nullptr || is_final(live->record.state))
    return fail(ErrorCode::conflict, "the attempt is over", "run", "there is nothing left to stop");
  if (live->record.state == AttemptState::collecting)
    return fail(ErrorCode::conflict, "the workload has ended; its logs and artifacts are being collected", "run",
                "wait a moment for the end");
  if (live->record.desired == Desired::stop) return Effects{};
  Draft draft(world, *live, now);
  draft.record().desired = Desired::stop;
  draft.record().desired_by = actor;
  draft.touch();
  draft.note(EventKind::attempt_stop_requested, actor, {});
  switch (live->record.state) {
    case AttemptState::submitted:
    case AttemptState::queued:
      draft.end(AttemptState::terminated, Reason::cancelled, "stopped while it waited", actor);
      break;
    case AttemptState::starting:
    case AttemptState::running:
      draft.intend(IntentKind::stop);
      break;
    default:
      break;  // provisioning: acted on when the place is there
  }
  return draft.take();
}

Effects observed(const World& world, const AttemptId& id, const Sight& sight, std::int32_t restarts_without_news,
                 Now now) {
  const LiveAttempt* live = world.find(id);
  if (live == nullptr || is_final(live->record.state) || live->record.handle.empty()) return {};
  const Attempt& seen = live->record;
  Draft draft(world, *live, now);

  if (seen.reachability != Reachability::live) {
    draft.record().reachability = Reachability::live;
    draft.touch();
    draft.note(EventKind::attempt_reachability, reconciler, std::string(json::name_of(seen.reachability)) + " -> live");
  }
  if (!sight.started) {
    // Before the runner's first word the start intent or its deadline decide. What was told once is on disk there: if
    // it is not shown any more it was taken away. One look is no evidence; a deadline's worth of looks is.
    if (seen.state != AttemptState::starting || seen.journal_seq > 0) {
      if (!world.timers.contains(timer_key(id, TimerKind::lost_deadline)))
        draft.set_timer(TimerKind::lost_deadline, world.policy.lost_deadline_s);
    } else if (world.open_intent(id, IntentKind::start) == nullptr &&
               !world.timers.contains(timer_key(id, TimerKind::start_deadline))) {
      draft.set_timer(TimerKind::start_deadline, world.policy.start_deadline_s);
    }
    return draft.take();
  }
  draft.drop_timer(TimerKind::lost_deadline);
  if (sight.epoch != seen.epoch) return draft.take();  // an outdated copy: what it says changes nothing (R9)

  for (const JournalRecord& record : sight.journal) {
    if (record.seq <= draft.record().journal_seq) continue;  // repeated
    act_on(draft, record);
    draft.record().journal_seq = record.seq;
    draft.touch();
  }

  if (sight.result && !seen.result) {
    if (sight.result->attempt != seen.id || sight.result->epoch != seen.epoch) {
      draft.note(EventKind::attempt_late_evidence, "runner",
                 "a result of another attempt or epoch was found and not believed");
      return draft.take();
    }
    Attempt& record = draft.record();
    record.result = sight.result;
    record.exit_code = sight.result->exit_code;
    record.signal = sight.result->signal;
    if (!record.started_at) record.started_at = sight.result->started_at;
    draft.touch();
    draft.drop_timer(TimerKind::start_deadline);
    if (record.state == AttemptState::starting || record.state == AttemptState::running)
      draft.move(AttemptState::collecting, "runner", "the runner wrote its result");
    draft.intend(IntentKind::collect);
    return draft.take();
  }

  // No result and nobody who would write one: start a runner that adopts, unless that has been tried in vain.
  if (!seen.result && sight.runner_dead && world.open_intent(id, IntentKind::start) == nullptr) {
    if (restarts_without_news >= world.policy.max_runner_restarts) {
      draft.end(AttemptState::interrupted, Reason::runner_lost,
                fmt::format("the runner ended {} times without a word", restarts_without_news), reconciler, true);
    } else {
      const std::int64_t wait = restarts_without_news == 0 ? 0 : world.policy.retry_first_ms << restarts_without_news;
      draft.intend(IntentKind::start, draft.record().journal_seq,
                   WallTime{now.steady.ms + std::min(wait, world.policy.retry_max_ms)});
    }
  }
  return draft.take();
}

Effects not_observed(const World& world, const AttemptId& id, std::int32_t failures, const Error& error, Now now) {
  const LiveAttempt* live = world.find(id);
  if (live == nullptr || is_final(live->record.state)) return {};
  // What cannot be read will not become readable: unlike a place that cannot be reached.
  if (error.code == ErrorCode::corrupt && failures >= world.policy.corrupt_after_failures) {
    Draft draft(world, *live, now);
    draft.end(AttemptState::interrupted, Reason::runner_lost, "its records cannot be read: " + error.text(), reconciler,
              true);
    return draft.take();
  }
  Reachability next = live->record.reachability;
  if (failures >= world.policy.unreachable_after_failures)
    next = Reachability::unreachable;
  else if (failures >= world.policy.suspected_after_failures && next == Reachability::live)
    next = Reachability::suspected;
  if (next == live->record.reachability) return {};
  Draft draft(world, *live, now);
  draft.note(EventKind::attempt_reachability, reconciler,
             fmt::format("{} -> {}: {}", json::name_of(live->record.reachability), json::name_of(next), error.text()));
  draft.record().reachability = next;
  draft.touch();
  return draft.take();
}

Effects place_gone(const World& world, const AttemptId& id, const std::string& evidence, Now now) {
  const LiveAttempt* live = world.find(id);
  if (live == nullptr || is_final(live->record.state)) return {};
  if (world.open_intent(id, IntentKind::start) != nullptr) return {};  // it is being made: its own failure will tell
  Draft draft(world, *live, now);
  draft.end(AttemptState::interrupted, Reason::node_lost, "its place is gone: " + evidence, reconciler, true);
  return draft.take();
}

Effects metrics(const AttemptId& attempt, std::int64_t from_offset, std::int64_t to_offset,
                std::vector<MetricPoint> points) {
  return {{AddMetrics{attempt, from_offset, to_offset, std::move(points)}}, {}};
}

Effects intent_done(const World& world, const Intent& intent, const Outcome& outcome, Now now) {
  if (!world.intents.contains(intent.key)) return {};  // answered before
  const LiveAttempt* live = world.find(intent.attempt);
  if (live == nullptr) return {{FinishIntent{intent.key}}, {}};
  Draft draft(world, *live, now);
  draft.finish(intent.key);
  const Attempt& seen = live->record;
  switch (intent.kind) {
    case IntentKind::provision:
      if (seen.state != AttemptState::provisioning) break;
      draft.record().handle = outcome.handle;
      draft.touch();
      if (seen.desired == Desired::stop) {
        draft.end(AttemptState::terminated, Reason::cancelled, "stopped before it started", seen.desired_by);
        break;
      }
      draft.move(AttemptState::starting, reconciler, "the place is there");
      draft.intend(IntentKind::start);
      break;
    case IntentKind::start:
      // From now on the runner has a limited time to write its first word.
      if (seen.state == AttemptState::starting && seen.journal_seq == 0)
        draft.set_timer(TimerKind::start_deadline, world.policy.start_deadline_s);
      break;
    case IntentKind::collect: {
      if (seen.state != AttemptState::collecting || !seen.result || !outcome.collected) break;
      const Collected& collected = *outcome.collected;
      draft.record().artifacts = collected.manifest;
      draft.record().artifact_count = collected.artifacts;
      draft.record().artifact_bytes = collected.bytes;
      Conclusion conclusion = conclude(*seen.result, collected);
      draft.end(conclusion.state, conclusion.reason, std::move(conclusion.detail), reconciler);
      break;
    }
    case IntentKind::stop:
    case IntentKind::release:
      break;
  }
  return draft.take();
}

Effects intent_failed(const World& world, const Intent& intent, const Error& error, Now now) {
  const auto open = world.intents.find(intent.key);
  if (open == world.intents.end()) return {};
  const LiveAttempt* live = world.find(intent.attempt);
  const std::int32_t tries = open->second.tries + 1;
  const bool give_up = looks_permanent(error.code) || tries >= world.policy.max_tries;
  // A stop or release that fails is tried for as long as the attempt is there: giving up would leave something running.
  const bool must_happen =
      intent.kind == IntentKind::stop || (intent.kind == IntentKind::release && !looks_permanent(error.code));
  if (live != nullptr && give_up && !must_happen) {
    Draft draft(world, *live, now);
    draft.finish(intent.key);
    if (!is_final(live->record.state)) {
      Conclusion conclusion = failed_intent(intent.kind, error);
      draft.end(conclusion.state, conclusion.reason, std::move(conclusion.detail), reconciler,
                intent.kind == IntentKind::start);
    }
    return draft.take();
  }
  if (live == nullptr) return {{FinishIntent{intent.key}}, {}};
  Intent next = open->second;
  next.tries = tries;
  const std::int64_t wait = std::min(world.policy.retry_max_ms, world.policy.retry_first_ms << std::min(tries - 1, 20));
  next.not_before = WallTime{now.steady.ms + wait};
  return {{RetryIntent{std::move(next)}}, {}};
}

Effects reconcile(const World& world, Now now) {
  Effects effects;
  for (const auto& [seq, id] : world.submitted) {
    Draft draft(world, *world.find(id), now);
    draft.move(AttemptState::queued, reconciler, "accepted");
    effects.append(draft.take());
  }
  if (!effects.empty()) return effects;

  std::map<std::string, std::int32_t> admitted;
  for (const auto& [seq, id] : world.queue) {
    const LiveAttempt& live = *world.find(id);
    std::int32_t& more = admitted[live.record.target];
    if (occupied(world, live.record.target) + more >= slots(world)) continue;
    ++more;
    Draft draft(world, live, now);
    draft.move(AttemptState::provisioning, reconciler, "a slot is free");
    draft.intend(IntentKind::provision);
    effects.append(draft.take());
  }
  if (!effects.empty()) return effects;

  for (const auto& [key, timer] : world.timers) {
    if (timer.due > now.steady) continue;
    const LiveAttempt* live = world.find(timer.attempt);
    if (live == nullptr || is_final(live->record.state)) {
      effects.changes.push_back(DropTimer{key});
      continue;
    }
    Draft draft(world, *live, now);
    if (live->record.reachability != Reachability::live) {
      // Nobody could look: silence says nothing. Counted anew from here.
      draft.set_timer(timer.kind, timer.kind == TimerKind::start_deadline ? world.policy.start_deadline_s
                                                                          : world.policy.lost_deadline_s);
    } else if (timer.kind == TimerKind::lost_deadline) {
      draft.end(AttemptState::interrupted, Reason::runner_lost,
                "what its runner had written is gone: how it ended cannot be known", reconciler, true);
    } else if (live->record.state == AttemptState::starting) {
      draft.end(AttemptState::failed, Reason::start_failed,
                fmt::format("the runner did not say a word within {}", human_duration(world.policy.start_deadline_s)),
                reconciler, true);
    } else {
      draft.drop_timer(timer.kind);
    }
    effects.append(draft.take());
  }
  return effects;
}

std::string waits_for(const World& world, const LiveAttempt& attempt) {
  switch (attempt.record.state) {
    case AttemptState::submitted:
      return "waits to be accepted";
    case AttemptState::queued: {
      std::int32_t ahead = 0;
      for (const auto& [seq, id] : world.queue)
        if (seq < attempt.record.seq && world.find(id)->record.target == attempt.record.target) ++ahead;
      return fmt::format("waits for a slot: {} of {} on {} in use, {} ahead of it",
                         occupied(world, attempt.record.target), slots(world),
                         attempt.record.target.empty() ? "this machine" : attempt.record.target, ahead);
    }
    case AttemptState::provisioning:
      return "waits for its place to be made";
    case AttemptState::starting:
      return "waits for its runner: the bundle is sent and checked";
    default:
      return {};
  }
}

}  // namespace orbit::decide
