// Plays decisions against a world and holds them to the rules every store enforces: versions go up by one, transitions
// are legal, what is final stays as it is.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "orbit/base/json.hpp"
#include "orbit/decide/lifecycle.hpp"

namespace orbit {

class Play {
 public:
  World world;
  std::vector<Event> events;
  std::map<AttemptId, Attempt> records;  // the latest of each, also after the world forgot it
  std::map<std::string, std::int64_t> metric_offsets;

  Now now() const { return {WallTime{1'000'000 + time_ms_}, MonoTime{time_ms_}, WallTime{1'000'000 + time_ms_}}; }
  void pass(std::int64_t ms) {
    time_ms_ += ms;
    settle();
  }

  Run new_run(const std::string& name = "r") {
    Run run;
    run.id = RunId::make(WallTime{++ids_}, {});
    run.project = "p";
    run.name = name;
    run.created_by = "ann";
    run.bundle = Sha256::of(name);
    return run;
  }
  AttemptId submit(const Run& run) {
    const AttemptId id = AttemptId::make(WallTime{++ids_}, {});
    take(decide::submit(run, id, now()));
    settle();
    return id;
  }
  AttemptId submit() { return submit(new_run()); }

  void take(Effects effects) {
    WorldUndo undo;
    for (Change& change : effects.changes) {
      if (auto* add = std::get_if<AddAttempt>(&change)) {
        add->attempt.seq = ++seq_;
        records[add->attempt.id] = add->attempt;
      }
      if (const auto* update = std::get_if<UpdateAttempt>(&change)) {
        const Attempt& before = records.at(update->attempt.id);
        ASSERT_EQ(update->seen_version, before.version);
        ASSERT_EQ(update->seen_state, before.state);
        ASSERT_EQ(update->attempt.version, before.version + 1);
        ASSERT_FALSE(is_final(before.state)) << "a final state would change";
        records[update->attempt.id] = update->attempt;
      }
      apply(world, change, undo);
    }
    for (const Event& event : effects.events) {
      if (event.kind == EventKind::attempt_state) {
        ASSERT_TRUE(may_follow(*event.from, *event.to));
      }
      events.push_back(event);
    }
    sweep(world);
  }
  void settle() {
    for (int i = 0; i < 20; ++i) {
      Effects effects = decide::reconcile(world, now());
      if (effects.empty()) return;
      take(std::move(effects));
    }
    FAIL() << "reconcile does not come to rest";
  }
  // Carries out the open intent of that kind as if it had gone well.
  void done(const AttemptId& id, IntentKind kind, decide::Outcome outcome = {}) {
    const Intent* intent = world.open_intent(id, kind);
    ASSERT_NE(intent, nullptr) << json::name_of(kind);
    take(decide::intent_done(world, Intent(*intent), outcome, now()));
    settle();
  }
  void failed(const AttemptId& id, IntentKind kind, ErrorCode code) {
    const Intent* intent = world.open_intent(id, kind);
    ASSERT_NE(intent, nullptr) << json::name_of(kind);
    take(decide::intent_failed(world, Intent(*intent), Error{code, "no"}, now()));
    settle();
  }
  void started(const AttemptId& id) {
    done(id, IntentKind::provision, {"handle", std::nullopt});
    done(id, IntentKind::start);
  }
  void see(const AttemptId& id, decide::Sight sight, std::int32_t restarts = 0) {
    sight.started = true;
    if (sight.epoch == 0) sight.epoch = records.at(id).epoch;
    take(decide::observed(world, id, sight, restarts, now()));
    settle();
  }
  JournalRecord record(std::int64_t seq, JournalKind kind) const {
    JournalRecord record;
    record.seq = seq;
    record.at = now().wall;
    record.kind = kind;
    return record;
  }
  void running(const AttemptId& id) {
    started(id);
    decide::Sight sight;
    sight.journal = {record(1, JournalKind::runner_started), record(2, JournalKind::workload_started)};
    see(id, sight);
  }
  RunnerResult result(const AttemptId& id) const {
    RunnerResult result;
    result.attempt = id;
    result.epoch = records.at(id).epoch;
    result.workload_started = true;
    result.exit_code = 0;
    result.ended_at = now().wall;
    return result;
  }
  void ended(const AttemptId& id, const RunnerResult& what) {
    decide::Sight sight;
    sight.journal = {record(3, JournalKind::workload_ended)};
    sight.result = what;
    see(id, sight);
  }
  AttemptState state(const AttemptId& id) const { return records.at(id).state; }
  bool has_event(EventKind kind) const {
    for (const Event& event : events)
      if (event.kind == kind) return true;
    return false;
  }

 private:
  std::int64_t time_ms_ = 0;
  std::int64_t ids_ = 0;
  std::int64_t seq_ = 0;
};

}  // namespace orbit
