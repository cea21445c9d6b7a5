#include "orbit/sim/machine.hpp"

#include <csignal>

namespace orbit::sim {

namespace input = decide::runner_input;
namespace action = decide::runner_action;
using decide::RunnerInput;

namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

}  // namespace

Result<Machine::Place*> Machine::find(const std::string& handle) {
  const auto it = places_.find(handle);
  if (it == places_.end()) return fail(ErrorCode::not_found, "no such place", handle);
  return it->second.get();
}

Result<std::string> Machine::provision(const AttemptId& attempt, const ExecutionRequest&) {
  if (schedule_.chance(faults_.call_lost)) return fail(ErrorCode::unavailable, "the call was lost");
  auto& place = places_[attempt.str()];
  if (!place) {
    place = std::make_unique<Place>();
    place->attempt = attempt;
  }
  if (schedule_.chance(faults_.answer_lost)) return fail(ErrorCode::unavailable, "the answer was lost");
  return attempt.str();
}

Result<void> Machine::start(const std::string& handle, const StartRequest& request) {
  if (schedule_.chance(faults_.call_lost)) return fail(ErrorCode::unavailable, "the call was lost");
  ORBIT_TRY_ASSIGN(Place * place, find(handle));
  if (!place->order) place->order = request.order;
  if (!place->runner_alive && !place->result) start_runner(*place);
  if (schedule_.chance(faults_.answer_lost)) return fail(ErrorCode::unavailable, "the answer was lost");
  return {};
}

Result<Observation> Machine::observe(const std::string& handle, std::int64_t after_journal_seq) {
  if (schedule_.chance(faults_.call_lost + faults_.answer_lost)) return fail(ErrorCode::unavailable, "no answer");
  ORBIT_TRY_ASSIGN(Place * place, find(handle));
  Observation view;
  view.epoch = place->order ? place->order->epoch : 0;
  view.started = !place->journal.empty();
  view.runner = place->runner_alive ? RunnerLiveness::alive : RunnerLiveness::dead;
  view.result = place->result;
  view.journal = place->journal;
  place->synced = place->journal.size();  // what is told is on disk
  place->past.push_back(view);
  if (schedule_.chance(faults_.stale))
    view =
        place->past[static_cast<std::size_t>(schedule_.between(0, static_cast<std::int64_t>(place->past.size()) - 1))];
  std::erase_if(view.journal, [&](const JournalRecord& record) { return record.seq <= after_journal_seq; });
  return view;
}

Result<void> Machine::stop(const std::string& handle, const StopOrder&) {
  if (schedule_.chance(faults_.call_lost)) return fail(ErrorCode::unavailable, "the call was lost");
  ORBIT_TRY_ASSIGN(Place * place, find(handle));
  if (!place->stop) {
    place->stop = true;
    if (place->runner_alive) later(*place, schedule_.between(0, 20), input::StopSeen{"operator"});
  }
  if (schedule_.chance(faults_.answer_lost)) return fail(ErrorCode::unavailable, "the answer was lost");
  return {};
}

Result<void> Machine::release(const std::string& handle) {
  if (schedule_.chance(faults_.call_lost)) return fail(ErrorCode::unavailable, "the call was lost");
  ORBIT_TRY_ASSIGN(Place * place, find(handle));
  (void)place;
  return {};
}

Result<decide::Collected> Machine::collect(const Attempt& attempt) {
  if (schedule_.chance(faults_.call_lost + faults_.answer_lost)) return fail(ErrorCode::unavailable, "no answer");
  ORBIT_TRY_ASSIGN(Place * place, find(attempt.handle));
  if (!place->result) return fail(ErrorCode::unavailable, "no result yet");
  decide::Collected collected;
  collected.artifacts = 2;
  collected.manifest = place->result->artifacts;
  return collected;
}

void Machine::start_runner(Place& place) {
  place.runner_alive = true;
  place.life = ++lives_;
  place.state = {};
  feed(place, place.life,
       input::Begin{place.attempt, place.order->epoch, place.journal,
                    ProcessIdentity{++pids_, 1, std::to_string(boots_)}});
  if (place.runner_alive && place.stop) later(place, 0, input::StopSeen{"operator"});
}

void Machine::kill_runner(Place& place) {
  place.runner_alive = false;
}

void Machine::reboot() {
  ++boots_;
  for (auto& [handle, place] : places_) {
    kill_runner(*place);
    // What was written and not synced may be there or not.
    const std::int64_t unsynced = static_cast<std::int64_t>(place->journal.size() - place->synced);
    place->journal.resize(place->synced + static_cast<std::size_t>(schedule_.between(0, unsynced)));
    place->synced = place->journal.size();
    if (place->workload && place->workload->alive) {
      place->workload->alive = false;
      place->workload->others = 0;
      truths_[place->attempt].signal = SIGKILL;
    }
    if (place->workload) place->workload->others = 0;
  }
}

int Machine::living_runners() const {
  int count = 0;
  for (const auto& [handle, place] : places_) count += place->runner_alive ? 1 : 0;
  return count;
}

int Machine::living_workloads() const {
  int count = 0;
  for (const auto& [handle, place] : places_)
    if (place->workload) count += (place->workload->alive ? 1 : 0) + place->workload->others;
  return count;
}

void Machine::later(Place& place, std::int64_t ms, RunnerInput what) {
  schedule_.after(ms, [this, &place, life = place.life, what = std::move(what)] { feed(place, life, what); });
}

void Machine::feed(Place& place, std::uint64_t life, const RunnerInput& what) {
  if (!place.runner_alive || place.life != life) return;
  for (const decide::RunnerAction& next : decide::step(place.state, what, schedule_.now().wall)) {
    if (schedule_.chance(faults_.runner_dies)) {
      kill_runner(place);
      return;
    }
    if (!act(place, next)) return;
  }
}

void Machine::launch(Place& place) {
  Truth& truth = truths_[place.attempt];
  ++truth.launches;
  Workload workload;
  workload.process = ProcessIdentity{++pids_, schedule_.time_ms(), std::to_string(boots_)};
  workload.alive = true;
  workload.keeper = !schedule_.chance(faults_.keeper_dies);
  workload.ignores_sigterm = schedule_.chance(faults_.ignores_sigterm);
  workload.others = schedule_.chance(faults_.leaves_processes) ? 2 : 0;
  place.workload = workload;
  const std::int32_t code = schedule_.chance(0.7) ? 0 : static_cast<std::int32_t>(schedule_.between(1, 3));
  schedule_.after(schedule_.between(1, 60'000), [this, &place, process = workload.process, code] {
    if (place.workload && place.workload->alive && place.workload->process.pid == process.pid)
      end_workload(place, code, std::nullopt);
  });
}

void Machine::end_workload(Place& place, std::optional<std::int32_t> exit_code, std::optional<std::int32_t> signal) {
  place.workload->alive = false;
  // The keeper writes it down; without one only a living runner... cannot know either: it is the keeper's parent, not
  // the entry's.
  place.workload->exit_recorded = place.workload->keeper;
  Truth& truth = truths_[place.attempt];
  truth.exit_code = exit_code;
  truth.signal = signal;
  if (place.runner_alive) schedule_.after(schedule_.between(0, 5), [this, &place] { tell_end(place); });
}

void Machine::tell_end(Place& place) {
  if (!place.runner_alive || !place.workload) return;
  const Truth& truth = truths_[place.attempt];
  input::WorkloadEnded ended;
  if (place.workload->exit_recorded) {
    ended.exit_code = truth.exit_code;
    ended.signal = truth.signal;
  }
  feed(place, place.life, ended);
}

input::Found Machine::found(const Place& place) const {
  input::Found found;
  if (!place.workload) {
    // Launching was recorded before the fork; no mark of a child at all proves that it never came to it.
    found.fate = input::Fate::never_started;
    return found;
  }
  found.process = place.workload->process;
  if (place.workload->alive) {
    found.fate = input::Fate::running;
  } else if (place.workload->exit_recorded) {
    const Truth& truth = truths_.at(place.attempt);
    found.fate = input::Fate::ended;
    found.exit_code = truth.exit_code;
    found.signal = truth.signal;
  } else {
    found.fate = input::Fate::unknown;
  }
  return found;
}

bool Machine::act(Place& place, const decide::RunnerAction& next) {
  return std::visit(
      Overloaded{
          [&](const action::Append& append) {
            JournalRecord record = append.record;
            record.seq = place.journal.empty() ? 1 : place.journal.back().seq + 1;
            place.journal.push_back(record);
            if (append.sync) place.synced = place.journal.size();
            return true;
          },
          [&](const action::RunPrechecks&) {
            const bool bad = schedule_.chance(faults_.precheck_fails);
            if (bad) truths_[place.attempt].prechecks_failed = true;
            later(place, schedule_.between(1, 500),
                  input::Prechecked{bad ? std::optional(Reason::environment_mismatch) : std::nullopt,
                                    bad ? "python" : ""});
            return true;
          },
          [&](const action::Launch&) {
            if (schedule_.chance(faults_.launch_fails)) {
              later(place, 1, input::LaunchFailed{"exec format error"});
              return true;
            }
            launch(place);
            // The most delicate instant: the workload lives, and nobody has written so.
            if (schedule_.chance(faults_.runner_dies * 5)) {
              kill_runner(place);
              return false;
            }
            later(place, 0, input::Launched{place.workload->process});
            return true;
          },
          [&](const action::Find&) {
            later(place, schedule_.between(0, 50), found(place));
            return true;
          },
          [&](const action::Watch&) {
            if (place.workload && !place.workload->alive) schedule_.after(0, [this, &place] { tell_end(place); });
            return true;
          },
          [&](const action::SignalAll& signal) {
            if (!place.workload) return true;
            if (signal.signal == SIGKILL || !place.workload->ignores_sigterm) {
              place.workload->others = 0;
              if (place.workload->alive)
                schedule_.after(schedule_.between(1, 3000), [this, &place, s = signal.signal] {
                  if (place.workload->alive) end_workload(place, std::nullopt, s);
                });
            }
            return true;
          },
          [&](const action::StartGrace&) {
            later(place, 10'000, input::GraceOver{});
            return true;
          },
          [&](const action::CancelTimers&) {
            return true;
          },  // late timers mean nothing to the machine, which is tested by not cancelling
          [&](const action::KillAll&) {
            if (!place.workload) return true;
            place.workload->others = 0;
            if (place.workload->alive) end_workload(place, std::nullopt, SIGKILL);
            return true;
          },
          [&](const action::CountLeftovers&) {
            later(place, schedule_.between(0, 10),
                  input::LeftoversCounted{place.workload ? place.workload->others : 0});
            if (place.workload && place.workload->others > 0)
              later(place, 20'000,
                    input::LeftoversCounted{0});  // SIGKILL after the grace, at the latest, has come by then
            return true;
          },
          [&](const action::Collect&) {
            input::Collected collected;
            collected.artifact_count = 2;
            collected.artifacts = Sha256::of(place.attempt.str());
            later(place, schedule_.between(1, 1000), collected);
            return true;
          },
          [&](const action::WriteResult& write) {
            place.result = write.result;
            place.synced = place.journal.size();
            later(place, 0, input::ResultWritten{});
            return true;
          },
          [&](const action::Finish&) {
            kill_runner(place);
            return false;
          },
      },
      next);
}

}  // namespace orbit::sim
