#include "orbit/server/carrier.hpp"

#include "orbit/base/json.hpp"
#include "orbit/base/log.hpp"
#include "orbit/server/collect.hpp"

namespace orbit::server {

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

Carrier::Carrier(const BackendRegistry& backends, LogStore& logs, BlobStore& blobs, Clock& clock, WorkerPool& workers)
    : backends_(backends), logs_(logs), blobs_(blobs), clock_(clock), workers_(workers) {}

void Carrier::carry(const Intent& intent, const LiveAttempt& attempt, control::Writer& writer) {
  workers_.post(attempt.record.id.str(), [this, intent, attempt, &writer] {
    Result<decide::Outcome> outcome = carry_out(intent, attempt);
    if (!outcome)
      log::warning("{} of attempt {} failed: {}", json::name_of(intent.kind), attempt.record.id.str(), outcome.error().text());
    writer.post([intent, outcome = std::move(outcome)](const World& world, Now now) -> Result<Effects> {
      if (outcome) return decide::intent_done(world, intent, *outcome, now);
      return decide::intent_failed(world, intent, outcome.error(), now);
    });
  });
}

Result<decide::Outcome> Carrier::carry_out(const Intent& intent, const LiveAttempt& attempt) {
  const Attempt& record = attempt.record;
  ORBIT_TRY_ASSIGN(Placement * placement, backends_.find(record.placement, record.launch));
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
      Result<void> stopped = placement->stop(record.handle, StopOrder{record.desired_by, clock_.now().wall});
      // A place that is gone has nothing left to stop.
      if (!stopped && stopped.error().code != ErrorCode::not_found) return fail(std::move(stopped).error());
      break;
    }
    case IntentKind::collect: {
      ORBIT_TRY_ASSIGN(outcome.collected, collect(*placement, record, logs_, blobs_));
      break;
    }
    case IntentKind::release: ORBIT_TRY(placement->release(record.handle)); break;
  }
  return outcome;
}

}  // namespace orbit::server
