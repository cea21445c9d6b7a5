// A simulated machine that runs attempts: real runner step machines (decide/runner_machine.hpp) over imagined disks and
// processes. The runner, its keeper and the whole machine can die between any two actions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orbit/decide/conclusion.hpp"
#include "orbit/decide/runner_machine.hpp"
#include "orbit/ports/placement.hpp"
#include "orbit/sim/schedule.hpp"

namespace orbit::sim {

// Probabilities, chosen anew for each seed.
struct Faults {
  double runner_dies = 0;  // before an action of a runner
  double keeper_dies = 0;  // when a workload starts: its exit cannot be proven after its runner's death
  double call_lost = 0;    // a call of a placement does nothing and answers an error
  double answer_lost = 0;  // a call takes place and answers an error
  double stale = 0;        // an observation shows what was true before
  double precheck_fails = 0;
  double launch_fails = 0;
  double ignores_sigterm = 0;
  double leaves_processes = 0;  // the entry ends, something it started does not
};

// What really happened: what the checkers hold the records against.
struct Truth {
  int launches = 0;  // of the workload; more than one is a fault
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;
  bool prechecks_failed = false;
};

class Machine : public Placement {
 public:
  Machine(Schedule& schedule, Faults faults) : schedule_(schedule), faults_(faults) {}

  // Everything that runs is gone; what was synced stays.
  void reboot();
  void stop_faults() { faults_ = {}; }

  const std::map<AttemptId, Truth>& truths() const { return truths_; }
  int living_runners() const;
  int living_workloads() const;
  Result<decide::Collected> collect(const Attempt& attempt);

  Result<std::string> provision(const AttemptId& attempt, const ExecutionRequest& request) override;
  Result<void> start(const std::string& handle, const StartRequest& request) override;
  Result<Observation> observe(const std::string& handle, std::int64_t after_journal_seq) override;
  Result<void> stop(const std::string& handle, const StopOrder& order) override;
  Result<std::string> read_log(const std::string&, Stream, std::int64_t, std::size_t) override { return std::string(); }
  Result<std::string> read_artifact(const std::string&, const std::string&, std::int64_t, std::size_t) override {
    return std::string();
  }
  Result<ArtifactManifest> list_artifacts(const std::string&) override { return ArtifactManifest{}; }
  Result<std::string> read_manifest(const std::string&) override { return std::string("{}"); }
  Result<std::map<std::string, std::string>> verify_artifacts(const std::string&, const ArtifactManifest&) override {
    return std::map<std::string, std::string>{};
  }
  Result<void> release(const std::string& handle) override;

 private:
  struct Workload {
    ProcessIdentity process;
    bool alive = false;
    bool keeper = true;  // would record the exit
    bool exit_recorded = false;
    int others = 0;  // processes beside the entry
    bool ignores_sigterm = false;
  };
  // A directory of the machine and what runs in it.
  struct Place {
    AttemptId attempt;
    std::optional<Order> order;
    std::vector<JournalRecord> journal;
    std::size_t synced = 0;
    bool stop = false;
    std::optional<RunnerResult> result;
    std::optional<Workload> workload;
    // The living runner. `life` tells it from its predecessors: an answer meant for a dead one is dropped.
    bool runner_alive = false;
    std::uint64_t life = 0;
    decide::RunnerState state;
    std::vector<Observation> past;  // earlier views, for stale answers
  };

  Result<Place*> find(const std::string& handle);
  void start_runner(Place& place);
  void kill_runner(Place& place);
  void feed(Place& place, std::uint64_t life, const decide::RunnerInput& input);
  void later(Place& place, std::int64_t ms, decide::RunnerInput input);
  bool act(Place& place, const decide::RunnerAction& action);  // false: the runner died
  void launch(Place& place);
  void end_workload(Place& place, std::optional<std::int32_t> exit_code, std::optional<std::int32_t> signal);
  void tell_end(Place& place);
  decide::runner_input::Found found(const Place& place) const;

  Schedule& schedule_;
  Faults faults_;
  std::map<std::string, std::unique_ptr<Place>> places_;
  std::map<AttemptId, Truth> truths_;
  std::int32_t pids_ = 100;
  std::uint64_t lives_ = 0;
  int boots_ = 1;
};

}  // namespace orbit::sim
