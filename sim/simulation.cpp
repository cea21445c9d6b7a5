#include "orbit/sim/simulation.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "orbit/base/json.hpp"
#include "orbit/control/carry.hpp"
#include "orbit/control/engine.hpp"
#include "orbit/sim/machine.hpp"
#include "orbit/sim/memory_store.hpp"

namespace orbit::sim {
namespace {

constexpr std::int64_t faulty_ms = 5 * 60'000;
constexpr std::int64_t quiet_ms = 30 * 60'000;

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : schedule_(seed) {
    const auto sometimes = [&](double most) {
      return schedule_.chance(0.5) ? 0.0 : most * static_cast<double>(schedule_.between(0, 100)) / 100;
    };
    Faults faults;
    faults.runner_dies = sometimes(0.03);
    faults.keeper_dies = sometimes(0.3);
    faults.call_lost = sometimes(0.2);
    faults.answer_lost = sometimes(0.2);
    faults.stale = sometimes(0.3);
    faults.precheck_fails = sometimes(0.2);
    faults.launch_fails = sometimes(0.1);
    faults.ignores_sigterm = sometimes(0.5);
    faults.leaves_processes = sometimes(0.5);
    machine_ = std::make_shared<Machine>(schedule_, faults);
    backends_.add(PlacementKind::local, LaunchMode::host_process, machine_);
    commit_lost_ = sometimes(0.1);
    commit_ambiguous_ = sometimes(0.1);
    store_silent_ = sometimes(0.7);
    commit_refused_ = sometimes(0.1);
    crash_after_commit_ = sometimes(0.05);
    crash_often_ms_ = schedule_.chance(0.5) ? schedule_.between(2'000, 60'000) : 0;
    reboot_often_ms_ = schedule_.chance(0.3) ? schedule_.between(60'000, 200'000) : 0;
    clock_steps_ = schedule_.chance(0.3);
    policy_.local_slots = static_cast<std::int32_t>(schedule_.between(1, 3));

    store_.fault = [this] {
      if (!faulty_) return MemoryStore::Fault::none;
      if (schedule_.chance(commit_lost_)) return MemoryStore::Fault::lose;
      if (schedule_.chance(commit_ambiguous_)) return MemoryStore::Fault::ambiguous;
      if (schedule_.chance(commit_refused_)) return MemoryStore::Fault::refuse;
      return MemoryStore::Fault::none;
    };
    store_.silent = [this] { return faulty_ && schedule_.chance(store_silent_); };
    store_.on_attempt = [this](const Attempt* before, const Attempt& after) {
      if (before != nullptr && is_final(before->state)) violation("final-changed", after.id.str());
    };
  }

  Outcome run() {
    boot();
    for (std::int64_t at = 0, n = schedule_.between(1, 8); n > 0; --n) {
      at += schedule_.between(0, 40'000);
      schedule_.after(at, [this] { submit(); });
    }
    for (std::int64_t n = schedule_.between(0, 6); n > 0; --n)
      schedule_.after(schedule_.between(0, faulty_ms), [this] { ask_something(); });
    if (crash_often_ms_ > 0) plan_crash();
    if (reboot_often_ms_ > 0) plan_reboot();
    if (clock_steps_)
      schedule_.after(schedule_.between(0, faulty_ms),
                      [this] { schedule_.step_wall_clock(schedule_.chance(0.5) ? 3'600'000 : -3'600'000); });
    while (schedule_.step(faulty_ms)) ++outcome_.steps;
    faulty_ = false;
    machine_->stop_faults();
    if (!engine_) boot();
    while (schedule_.step(faulty_ms + quiet_ms)) ++outcome_.steps;
    check();
    return std::move(outcome_);
  }

 private:
  void violation(const std::string& checker, const std::string& what) {
    if (outcome_.violations.size() < 20) outcome_.violations.push_back(checker + ": " + what);
  }

  // The server
  // ------------------------------------------------------------------------------------------------------------------

  void boot() {
    engine_ = std::make_unique<control::Engine>(store_, schedule_, schedule_, policy_);
    ++life_;
    restarts_.clear();
    failures_.clear();
    if (!engine_->start()) return;
    process({});
    tick();
  }

  void crash() {
    if (!engine_) return;
    ++outcome_.server_crashes;
    engine_.reset();  // whatever was in flight answers nobody
    ++life_;
    schedule_.after(schedule_.between(1, 20'000), [this] {
      if (!engine_) boot();
    });
  }

  // Runs `what` later, if the server still lives its present life.
  void alive_after(std::int64_t ms, std::function<void()> what) {
    schedule_.after(ms, [this, life = life_, what = std::move(what)] {
      if (engine_ && life_ == life) what();
    });
  }

  bool process(const std::vector<control::Engine::Command>& commands) {
    if (!engine_) return false;
    const std::vector<Result<void>> answers = engine_->process(commands);
    bool all_well = true;
    for (const auto& answer : answers) all_well = all_well && answer.has_value();
    engine_->take_events();
    if (faulty_ && schedule_.chance(crash_after_commit_)) {
      crash();  // between the intent and its effect
      return false;
    }
    for (const Intent& intent : engine_->take_due_intents())
      if (const LiveAttempt* attempt = engine_->world().find(intent.attempt)) carry(intent, *attempt);
    return all_well;
  }

  void carry(const Intent& intent, const LiveAttempt& attempt) {
    // Calls of one attempt go one after the other, as the server's worker pool has it.
    std::int64_t& free_at = busy_until_[attempt.record.id];
    const std::int64_t begin = std::max(free_at, schedule_.time_ms()) + schedule_.between(0, 300);
    free_at = begin;
    alive_after(begin - schedule_.time_ms(), [this, intent, attempt] {
      const control::Collect collect = [this](Placement&, const Attempt& record) { return machine_->collect(record); };
      Result<decide::Outcome> outcome = control::carry_out(intent, attempt, backends_, collect, schedule_.now().wall);
      const int times = faulty_ && schedule_.chance(0.1) ? 2 : 1;
      for (int i = 0; i < times; ++i)
        alive_after(schedule_.between(0, 200), [this, intent, outcome] {
          const bool recorded = process({[&](const World& world, Now now) -> Result<Effects> {
            return outcome ? decide::intent_done(world, intent, *outcome, now)
                           : decide::intent_failed(world, intent, outcome.error(), now);
          }});
          if (!recorded && engine_) engine_->hand_out_again(intent);
        });
    });
  }

  void tick() {
    process({});
    if (!engine_) return;
    std::vector<LiveAttempt> live;
    for (const auto& [id, attempt] : engine_->world().attempts)
      if (!attempt.record.handle.empty() && !attempt.record.result && !is_final(attempt.record.state))
        live.push_back(attempt);
    std::sort(live.begin(), live.end(), [](const auto& a, const auto& b) { return a.record.seq < b.record.seq; });
    for (const LiveAttempt& attempt : live) look_at(attempt);
    alive_after(200, [this] { tick(); });
  }

  void look_at(const LiveAttempt& attempt) {
    if (!engine_) return;
    const AttemptId id = attempt.record.id;
    if (busy_until_[id] > schedule_.time_ms()) return;
    Result<Observation> seen = machine_->observe(attempt.record.handle, attempt.record.journal_seq);
    if (!seen) {
      const int failures = ++failures_[id];
      process({[&](const World& world, Now now) -> Result<Effects> {
        return decide::not_observed(world, id, failures, seen.error(), now);
      }});
      return;
    }
    failures_[id] = 0;
    const decide::Sight sight = control::sight_of(std::move(*seen));
    if (!sight.journal.empty()) restarts_[id] = 0;
    process({[&](const World& world, Now now) -> Result<Effects> {
      int restarts = 0;
      if (sight.runner_dead && world.open_intent(id, IntentKind::start) == nullptr) restarts = restarts_[id]++;
      return decide::observed(world, id, sight, restarts, now);
    }});
  }

  // People
  // ----------------------------------------------------------------------------------------------------------------------

  void submit() {
    if (!engine_) return;  // refused: nothing was promised
    Run run;
    run.id = make_id<RunId>(schedule_, schedule_.now().wall);
    run.project = "p";
    run.name = "r" + std::to_string(++names_);
    run.bundle = Sha256::of(run.name);
    run.created_by = "ann";
    const AttemptId attempt = make_id<AttemptId>(schedule_, schedule_.now().wall);
    const std::vector<Result<void>> answers =
        engine_->process({[&](const World&, Now now) -> Result<Effects> { return decide::submit(run, attempt, now); }});
    if (answers.front()) acknowledged_.push_back(run.id);
    ++outcome_.runs;
    process({});
  }

  void ask_something() {
    if (!engine_ || acknowledged_.empty()) return;
    const RunId id = acknowledged_[static_cast<std::size_t>(
        schedule_.between(0, static_cast<std::int64_t>(acknowledged_.size()) - 1))];
    const Run run = store_.runs.at(id);
    const Attempt* latest = nullptr;
    for (const auto& [key, attempt] : store_.attempts)
      if (attempt.run == id && (latest == nullptr || attempt.number > latest->number)) latest = &attempt;
    if (latest == nullptr) return;
    if (schedule_.chance(0.5)) {
      process({[&, attempt = latest->id](const World& world, Now now) {
        return decide::request_stop(world, attempt, "bob", now);
      }});
      return;
    }
    decide::NewAttempt again;
    again.id = make_id<AttemptId>(schedule_, schedule_.now().wall);
    again.number = latest->number + 1;
    again.actor = "bob";
    process({[&](const World& world, Now now) { return decide::add_attempt(world, run, again, now); }});
  }

  void plan_crash() {
    schedule_.after(schedule_.between(1, crash_often_ms_ * 2), [this] {
      if (!faulty_) return;
      crash();
      plan_crash();
    });
  }
  void plan_reboot() {
    schedule_.after(schedule_.between(1, reboot_often_ms_ * 2), [this] {
      if (!faulty_) return;
      machine_->reboot();
      plan_reboot();
    });
  }

  // Checkers
  // --------------------------------------------------------------------------------------------------------------------

  void check() {
    for (const RunId& run : acknowledged_)
      if (!store_.runs.contains(run)) violation("acknowledged-lost", run.str());
    for (const auto& [attempt, truth] : machine_->truths())
      if (truth.launches > 1) violation("started-twice", attempt.str());
    check_events();
    for (const auto& [id, attempt] : store_.attempts) {
      if (!is_final(attempt.state))
        violation("stuck", fmt::format("attempt {} is {}", id.str(), json::name_of(attempt.state)));
      else
        check_ending(attempt);
    }
    for (const auto& [key, intent] : store_.intents) violation("stuck", "intent " + key);
    for (const auto& [key, timer] : store_.timers) violation("stuck", "timer " + key);
    if (machine_->living_runners() > 0) violation("orphan", fmt::format("{} runners", machine_->living_runners()));
    if (machine_->living_workloads() > 0)
      violation("orphan", fmt::format("{} processes", machine_->living_workloads()));
  }

  void check_events() {
    std::map<AttemptId, AttemptState> states;
    std::int64_t seq = 0;
    for (const Event& event : store_.events) {
      if (event.seq <= seq) violation("unexplained", fmt::format("seq {} after {}", event.seq, seq));
      seq = event.seq;
      if (event.kind == EventKind::attempt_created) states.emplace(event.attempt, AttemptState::submitted);
      if (event.kind != EventKind::attempt_state) continue;
      const auto it = states.find(event.attempt);
      if (it == states.end() || it->second != *event.from || !may_follow(*event.from, *event.to))
        violation("unexplained", fmt::format("{} -> {} of {}", json::name_of(*event.from), json::name_of(*event.to),
                                             event.attempt.str()));
      else
        it->second = *event.to;
      if (is_final(*event.to) != event.reason.has_value()) violation("unexplained", "a final state without a reason");
    }
    for (const auto& [id, attempt] : store_.attempts)
      if (!states.contains(id) || states[id] != attempt.state)
        violation("unexplained", fmt::format("attempt {} is {}", id.str(), json::name_of(attempt.state)));
  }

  void check_ending(const Attempt& attempt) {
    const auto it = machine_->truths().find(attempt.id);
    const Truth truth = it == machine_->truths().end() ? Truth{} : it->second;
    const auto wrong = [&](const char* what) {
      violation("guessed", fmt::format("attempt {} {}: {}", attempt.id.str(), json::name_of(attempt.state), what));
    };
    if (attempt.state == AttemptState::succeeded && (truth.launches != 1 || truth.exit_code != 0))
      wrong("the workload did not exit with 0");
    if (attempt.reason == Reason::exit_nonzero && (!truth.exit_code || truth.exit_code != attempt.exit_code))
      wrong("another exit code");
    if (attempt.reason == Reason::environment_mismatch && !truth.prechecks_failed) wrong("no precheck failed");
  }

  Schedule schedule_;
  MemoryStore store_;
  std::shared_ptr<Machine> machine_;
  BackendRegistry backends_;
  Policy policy_;
  std::unique_ptr<control::Engine> engine_;
  std::uint64_t life_ = 0;
  bool faulty_ = true;
  double commit_lost_ = 0, commit_ambiguous_ = 0, store_silent_ = 0, commit_refused_ = 0, crash_after_commit_ = 0;
  std::int64_t crash_often_ms_ = 0, reboot_often_ms_ = 0;
  bool clock_steps_ = false;
  std::vector<RunId> acknowledged_;
  int names_ = 0;
  std::map<AttemptId, std::int64_t> busy_until_;
  std::map<AttemptId, int> restarts_, failures_;
  Outcome outcome_;
};

}  // namespace

Outcome simulate(std::uint64_t seed) {
  return Simulation(seed).run();
}

}  // namespace orbit::sim
