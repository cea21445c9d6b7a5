#include "orbit/decide/runner_machine.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "orbit/base/json.hpp"

namespace orbit::decide {
namespace {

using namespace runner_input;
using namespace runner_action;

const ProcessIdentity runner{10, 100, "boot"};
const ProcessIdentity entry{20, 200, "boot"};
AttemptId attempt() {
  return *AttemptId::parse("01jdw0000000000000000000aa");
}

CheckpointRecord checkpoint(const std::string& path) {
  CheckpointRecord record;
  record.path = path;
  record.sha256 = Sha256::of(path);
  return record;
}

std::vector<std::pair<std::string, RunnerInput>> all_inputs() {
  const auto found = [](Fate fate) {
    Found out;
    out.fate = fate;
    if (fate == Fate::running || fate == Fate::ended) out.process = entry;
    if (fate == Fate::ended) out.exit_code = 0;
    return out;
  };
  return {
      {"Begin fresh", Begin{attempt(), 1, {}, runner}},
      {"Prechecked ok", Prechecked{}},
      {"Prechecked failed", Prechecked{Reason::dataset_changed, "data"}},
      {"Launched", Launched{entry}},
      {"LaunchFailed", LaunchFailed{"no interpreter"}},
      {"Found never_started", found(Fate::never_started)},
      {"Found start_failed", found(Fate::start_failed)},
      {"Found running", found(Fate::running)},
      {"Found ended", found(Fate::ended)},
      {"Found unknown", found(Fate::unknown)},
      {"StopSeen", StopSeen{"ada"}},
      {"TimeLimitReached", TimeLimitReached{}},
      {"GraceOver", GraceOver{}},
      {"WorkloadEnded 0", WorkloadEnded{0, {}}},
      {"WorkloadEnded signal 9", WorkloadEnded{{}, 9}},
      {"WorkloadEnded unknown", WorkloadEnded{}},
      {"LeftoversCounted 0", LeftoversCounted{0}},
      {"LeftoversCounted 2", LeftoversCounted{2}},
      {"CheckpointComplete", CheckpointComplete{checkpoint("checkpoints/step-1")}},
      {"Collected", Collected{{}, {}, 3, Sha256::of("a"), {}, false}},
      {"ResultWritten", ResultWritten{}},
  };
}

std::string text(const JournalRecord& record) {
  std::string out(json::name_of(record.kind));
  if (record.reason) out += fmt::format(" {}", json::name_of(*record.reason));
  if (record.exit_code) out += fmt::format(" exit {}", *record.exit_code);
  if (record.signal) out += fmt::format(" signal {}", *record.signal);
  return out;
}

std::string text(const RunnerAction& action) {
  struct Name {
    std::string operator()(const Append& a) const {
      return fmt::format("journal[{}]{}", text(a.record), a.sync ? "!" : "");
    }
    std::string operator()(const RunPrechecks&) const { return "precheck"; }
    std::string operator()(const Launch&) const { return "LAUNCH"; }
    std::string operator()(const Find&) const { return "find"; }
    std::string operator()(const Watch&) const { return "watch"; }
    std::string operator()(const SignalAll& a) const { return fmt::format("signal-all {}", a.signal); }
    std::string operator()(const StartGrace&) const { return "grace"; }
    std::string operator()(const CancelTimers&) const { return "cancel-timers"; }
    std::string operator()(const KillAll&) const { return "kill-all"; }
    std::string operator()(const CountLeftovers&) const { return "count-leftovers"; }
    std::string operator()(const Collect&) const { return "collect"; }
    std::string operator()(const WriteResult& a) const {
      const auto& r = a.result;
      return fmt::format("result[started={} exit={} signal={} stop={} timeout={} check={}]", r.workload_started,
                         r.exit_code ? std::to_string(*r.exit_code) : "-", r.signal ? std::to_string(*r.signal) : "-",
                         r.stop_requested, r.timed_out, r.failed_check ? json::name_of(*r.failed_check) : "-");
    }
    std::string operator()(const Finish&) const { return "finish"; }
  };
  return std::visit(Name{}, action);
}

// How a state is reached: by real steps, never by setting its members.
struct Situation {
  std::string name;
  std::vector<RunnerInput> inputs;
};
std::vector<Situation> situations() {
  const Begin fresh{attempt(), 1, {}, runner};
  const Collected collected{{}, {}, 3, Sha256::of("a"), {}, false};
  JournalRecord launching;
  launching.kind = JournalKind::workload_launching;
  JournalRecord started;
  started.kind = JournalKind::workload_started;
  started.process = entry;
  const Begin after_launching{attempt(), 1, {launching}, runner};
  const Begin after_started{attempt(), 1, {launching, started}, runner};
  std::vector<RunnerInput> running{fresh, Prechecked{}, Launched{entry}};
  const auto then = [](std::vector<RunnerInput> first, std::initializer_list<RunnerInput> more) {
    first.insert(first.end(), more);
    return first;
  };
  return {
      {"idle", {}},
      {"prechecking", {fresh}},
      {"prechecking, stop asked for", {fresh, StopSeen{"ada"}}},
      {"launching", {fresh, Prechecked{}}},
      {"launching, stop asked for", {fresh, Prechecked{}, StopSeen{"ada"}}},
      {"finding after workload_launching", {after_launching}},
      {"finding after workload_launching, stop asked for", {after_launching, StopSeen{"ada"}}},
      {"finding after workload_started", {after_started}},
      {"running", running},
      {"running, checkpoint announced", then(running, {CheckpointComplete{checkpoint("checkpoints/step-1")}})},
      {"stopping", then(running, {StopSeen{"ada"}})},
      {"stopping, timed out", then(running, {TimeLimitReached{}})},
      {"stopping, killed", then(running, {StopSeen{"ada"}, GraceOver{}})},
      {"leftovers", then(running, {WorkloadEnded{0, {}}})},
      {"leftovers, SIGTERM sent", then(running, {WorkloadEnded{0, {}}, LeftoversCounted{2}})},
      {"leftovers, killed", then(running, {WorkloadEnded{0, {}}, LeftoversCounted{2}, GraceOver{}})},
      {"leftovers after a stop", then(running, {StopSeen{"ada"}, WorkloadEnded{0, {}}})},
      {"collecting", then(running, {WorkloadEnded{0, {}}, LeftoversCounted{0}})},
      {"collecting after a failed precheck", {fresh, Prechecked{Reason::precheck_failed, "x"}}},
      {"recording", then(running, {WorkloadEnded{0, {}}, LeftoversCounted{0}, collected})},
      {"finished", then(running, {WorkloadEnded{0, {}}, LeftoversCounted{0}, collected, ResultWritten{}})},
  };
}

std::string matrix() {
  std::string out =
      "# Phase x input of decide/runner_machine. Written by decide_tests with ORBIT_UPDATE_GOLDEN=1; reviewed as "
      "code.\n"
      "# '!' is synced before anything after it is done. Inputs not listed for a situation change nothing.\n";
  for (const auto& situation : situations()) {
    RunnerState state;
    for (const auto& each : situation.inputs) step(state, each, WallTime{1000});
    out += "\n" + situation.name + "\n";
    for (const auto& [name, input] : all_inputs()) {
      RunnerState next = state;
      const auto actions = step(next, input, WallTime{2000});
      if (actions.empty() && next.phase == state.phase && next.stop_requested == state.stop_requested) continue;
      std::string did;
      for (const auto& action : actions) did += (did.empty() ? "" : " ") + text(action);
      out += fmt::format("  {:<24} -> {:<12} {}\n", name, json::name_of(next.phase), did);
    }
  }
  return out;
}

TEST(RunnerMachine, R10_GoldenMatrix) {
  const std::string path = ORBIT_SOURCE_DIR "/tests/golden/runner_machine.txt";
  const std::string now = matrix();
  if (std::getenv("ORBIT_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << now;
  std::ifstream in(path);
  std::ostringstream golden;
  golden << in.rdbuf();
  EXPECT_EQ(golden.str(), now) << "run decide_tests with ORBIT_UPDATE_GOLDEN=1 and review the difference";
}

// A world that answers actions, crashes the runner between any two of them and adopts again.
class World {
 public:
  // The next answer is taken from `choices`.
  explicit World(std::vector<std::uint8_t> choices) : choices_(std::move(choices)) {}

  void run() {
    for (int lives = 0; lives < 200 && !finished_; ++lives) {
      RunnerState state;
      std::vector<RunnerInput> inputs{Begin{attempt(), 1, journal_, runner}};
      crashed_ = false;
      for (int steps = 0; !crashed_ && !finished_ && steps < 500; ++steps) {
        if (inputs.empty()) {
          idle(state, inputs);
          continue;
        }
        const RunnerInput next = inputs.front();
        inputs.erase(inputs.begin());
        const RunnerPhase before = state.phase;
        for (const auto& action : step(state, next, WallTime{++time_})) {
          if (choose(12) == 0) {
            crashed_ = true;
            break;
          }
          std::visit([&](const auto& value) { act(value, inputs); }, action);
        }
        RC_ASSERT(before != RunnerPhase::finished || state.phase == RunnerPhase::finished);
      }
    }
  }

  int starts = 0;
  bool finished_ = false;
  std::optional<RunnerResult> result;
  std::optional<std::int32_t> true_exit;
  bool keeper_killed = false;
  std::vector<JournalRecord> journal_;

 private:
  int choose(int of) {
    if (at_ >= choices_.size()) return of - 1;
    return choices_[at_++] % of;
  }

  // Time passes: something of the world happens.
  void idle(RunnerState& state, std::vector<RunnerInput>& inputs) {
    if (state.phase == RunnerPhase::running || state.phase == RunnerPhase::stopping) {
      switch (choose(5)) {
        case 0:
          inputs.push_back(StopSeen{"ada"});
          break;
        case 1:
          inputs.push_back(TimeLimitReached{});
          break;
        case 2:
          inputs.push_back(GraceOver{});
          break;
        case 3:
          inputs.push_back(CheckpointComplete{checkpoint("checkpoints/step-1")});
          break;
        default:
          end();
          inputs.push_back(known_ ? WorkloadEnded{true_exit, {}} : WorkloadEnded{});
      }
    } else if (state.phase == RunnerPhase::leftovers) {
      if (choose(2) == 0)
        inputs.push_back(GraceOver{});
      else
        inputs.push_back(LeftoversCounted{0});
    } else {
      crashed_ = true;  // nothing to wait for: a lost answer
    }
  }
  void end() {
    if (!alive_) return;
    alive_ = false;
    true_exit = choose(3);
    known_ = !keeper_killed;
  }

  void act(const Append& append, std::vector<RunnerInput>&) {
    journal_.push_back(append.record);
    journal_.back().seq = static_cast<std::int64_t>(journal_.size());
  }
  void act(const RunPrechecks&, std::vector<RunnerInput>& inputs) {
    if (choose(6) == 0)
      inputs.push_back(Prechecked{Reason::precheck_failed, "x"});
    else
      inputs.push_back(Prechecked{});
  }
  void act(const Launch&, std::vector<RunnerInput>& inputs) {
    RC_ASSERT(!journal_.empty());
    RC_ASSERT(journal_.back().kind == JournalKind::workload_launching);  // the intent before the effect
    ++starts;
    alive_ = true;
    keeper_killed = choose(4) == 0;
    if (choose(4) == 0) end();
    if (choose(6) == 0) {
      crashed_ = true;  // right after the exec, before anybody knew
      return;
    }
    inputs.push_back(Launched{entry});
  }
  void act(const Find&, std::vector<RunnerInput>& inputs) {
    Found found;
    if (starts == 0) {
      found.fate = Fate::never_started;
    } else {
      if (choose(3) == 0) end();
      found.process = entry;
      found.fate = alive_ ? Fate::running : known_ ? Fate::ended : Fate::unknown;
      if (found.fate == Fate::ended) found.exit_code = true_exit;
    }
    inputs.push_back(found);
  }
  void act(const Watch&, std::vector<RunnerInput>&) {}
  void act(const SignalAll&, std::vector<RunnerInput>&) {}
  void act(const StartGrace&, std::vector<RunnerInput>&) {}
  void act(const CancelTimers&, std::vector<RunnerInput>&) {}
  void act(const KillAll&, std::vector<RunnerInput>&) { end(); }
  void act(const CountLeftovers&, std::vector<RunnerInput>& inputs) {
    inputs.push_back(LeftoversCounted{choose(3) == 0 ? 2 : 0});
  }
  void act(const Collect&, std::vector<RunnerInput>& inputs) {
    RC_ASSERT(!alive_);  // nothing is collected from under a living workload
    inputs.push_back(Collected{{}, {}, 1, Sha256::of("a"), {}, false});
  }
  void act(const WriteResult& write, std::vector<RunnerInput>& inputs) {
    result = write.result;
    inputs.push_back(ResultWritten{});
  }
  void act(const Finish&, std::vector<RunnerInput>&) { finished_ = true; }

  std::vector<std::uint8_t> choices_;
  std::size_t at_ = 0;
  std::int64_t time_ = 0;
  bool alive_ = false;
  bool known_ = false;
  bool crashed_ = false;
};

RC_GTEST_PROP(RunnerMachine, R9_R10_CrashedAnywhereItStartsOnceAndNeverGuesses,
              (const std::vector<std::uint8_t>& choices)) {
  World world(choices);
  world.run();
  RC_ASSERT(world.finished_);
  RC_ASSERT(world.starts <= 1);
  RC_ASSERT(world.result.has_value());
  const auto& result = *world.result;
  if (world.starts == 1) RC_ASSERT(result.workload_started);
  if (result.exit_code) {
    RC_ASSERT(result.exit_code == world.true_exit);
    RC_ASSERT(world.starts == 1);
  }
  if (world.starts == 1 && !world.keeper_killed) RC_ASSERT(result.exit_code == world.true_exit);
  int checkpoints = 0;
  for (const auto& record : world.journal_) checkpoints += record.kind == JournalKind::checkpoint ? 1 : 0;
  RC_ASSERT(checkpoints <= 1);
}

TEST(RunnerMachine, R10_ProcessesThatCannotBeEndedDoNotHoldTheResultBack) {
  RunnerState state;
  for (const RunnerInput& input :
       std::vector<RunnerInput>{Begin{attempt(), 1, {}, runner}, Prechecked{}, Launched{entry}, WorkloadEnded{0, {}},
                                LeftoversCounted{1}, GraceOver{}})
    step(state, input, WallTime{1});
  step(state, LeftoversCounted{1}, WallTime{1});
  EXPECT_EQ(state.phase, RunnerPhase::collecting);
}

}  // namespace
}  // namespace orbit::decide
