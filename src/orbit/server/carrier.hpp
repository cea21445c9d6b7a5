// Carries intents out on the worker pool.
#pragma once

#include "orbit/control/carry.hpp"
#include "orbit/control/writer.hpp"
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
  const BackendRegistry& backends_;
  LogStore& logs_;
  BlobStore& blobs_;
  Clock& clock_;
  WorkerPool& workers_;
};

}  // namespace orbit::server
