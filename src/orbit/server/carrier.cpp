#include "orbit/server/carrier.hpp"

#include "orbit/base/json.hpp"
#include "orbit/base/log.hpp"
#include "orbit/server/collect.hpp"

namespace orbit::server {

Carrier::Carrier(const BackendRegistry& backends, LogStore& logs, BlobStore& blobs, Clock& clock, WorkerPool& workers)
    : backends_(backends), logs_(logs), blobs_(blobs), clock_(clock), workers_(workers) {}

void Carrier::carry(const Intent& intent, const LiveAttempt& attempt, control::Writer& writer) {
  workers_.post(attempt.record.id.str(), [this, intent, attempt, &writer] {
    const control::Collect bring_in = [this](Placement& placement, const Attempt& record) {
      return collect(placement, record, logs_, blobs_);
    };
    Result<decide::Outcome> outcome = control::carry_out(intent, attempt, backends_, bring_in, clock_.now().wall);
    if (!outcome)
      log::warning("{} of attempt {} failed: {}", json::name_of(intent.kind), attempt.record.id.str(),
                   outcome.error().text());
    writer.post_outcome(intent, std::move(outcome));
  });
}

}  // namespace orbit::server
