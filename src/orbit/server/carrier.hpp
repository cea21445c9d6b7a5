// Carries intents out: the only place where decisions become side effects on placements.
#pragma once

#include "orbit/control/writer.hpp"
#include "orbit/decide/lifecycle.hpp"
#include "orbit/ports/backend_registry.hpp"
#include "orbit/ports/blob_store.hpp"
#include "orbit/ports/clock.hpp"
#include "orbit/ports/log_store.hpp"
#include "orbit/server/worker_pool.hpp"

namespace orbit::server {

class Carrier {
 public:
  Carrier(const BackendRegistry& backends, LogStore& logs, BlobStore& blobs, Clock& clock, WorkerPool& workers);

  // Queues the intent behind whatever is done for its attempt now; its outcome is posted to `writer`. Does not block.
  void carry(const Intent& intent, const LiveAttempt& attempt, control::Writer& writer);

 private:
  Result<decide::Outcome> carry_out(const Intent& intent, const LiveAttempt& attempt);

  const BackendRegistry& backends_;
  LogStore& logs_;
  BlobStore& blobs_;
  Clock& clock_;
  WorkerPool& workers_;
};

// The order of an attempt, as its runner will read it.
Order order_of(const LiveAttempt& attempt);

}  // namespace orbit::server
