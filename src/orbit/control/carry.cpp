#include "orbit/control/carry.hpp"

namespace orbit::control {

Order order_of(const LiveAttempt& attempt) {
  const Attempt& record = attempt.record;
  const TemplateValues& values = attempt.request.values;
  Order order;
  order.attempt = record.id;
  order.run = record.run;
  order.number = record.number;
  order.epoch = record.epoch;
  order.project = record.project;
  order.bundle = attempt.bundle;
  order.launch = record.launch;
  order.image = values.image;
  order.resources = values.resources;
  order.runtime_env = values.runtime_env;
  order.stop_grace_s = values.stop_grace_s;
  order.resume = record.resume;
  return order;
}

Result<decide::Outcome> carry_out(const Intent& intent, const LiveAttempt& attempt, const BackendRegistry& backends,
                                  const Collect& collect, WallTime now) {
  const Attempt& record = attempt.record;
  ORBIT_TRY_ASSIGN(Placement * placement, backends.find(record.placement, record.launch));
  decide::Outcome outcome;
  switch (intent.kind) {
    case IntentKind::provision: {
      ORBIT_TRY_ASSIGN(outcome.handle, placement->provision(record.id, attempt.request));
      break;
    }
    case IntentKind::start:
      ORBIT_TRY(placement->start(record.handle, StartRequest{order_of(attempt), attempt.bundle}));
      break;
    case IntentKind::stop: {
      Result<void> stopped = placement->stop(record.handle, StopOrder{record.desired_by, now});
      // A place that is gone has nothing left to stop.
      if (!stopped && stopped.error().code != ErrorCode::not_found) return fail(std::move(stopped).error());
      break;
    }
    case IntentKind::collect: {
      ORBIT_TRY_ASSIGN(outcome.collected, collect(*placement, record));
      break;
    }
    case IntentKind::release:
      ORBIT_TRY(placement->release(record.handle));
      break;
  }
  return outcome;
}

decide::Sight sight_of(Observation observation) {
  decide::Sight sight;
  sight.epoch = observation.epoch;
  sight.started = observation.started;
  sight.runner_dead = observation.started && observation.runner == RunnerLiveness::dead && !observation.result;
  sight.journal = std::move(observation.journal);
  sight.result = std::move(observation.result);
  return sight;
}

}  // namespace orbit::control
