// One log stream of an attempt as server-sent events, from an offset to its end.
#pragma once

#include <memory>

#include "orbit/net/http.hpp"
#include "orbit/ports/log_store.hpp"
#include "orbit/server/event_hub.hpp"
#include "orbit/server/store_pool.hpp"

namespace orbit::server {

// Events "log" with a wire::LogChunk; the id of each is the offset behind it. After the last byte of an attempt that is
// over one event "end" with {"size_bytes": n}: a stream without it was cut, and goes on from the last id.
class LogFollower : public net::BodySource {
 public:
  LogFollower(StorePool& readers, LogStore& logs, EventHub& hub, const AttemptId& attempt, Stream stream,
              std::int64_t offset);
  Piece next(std::size_t max_bytes, std::function<void()> wake) override;

 private:
  StorePool& readers_;
  LogStore& logs_;
  EventHub::Subscription subscription_;
  const AttemptId attempt_;
  const Stream stream_;
  std::int64_t offset_;
  bool spoke_ = false;  // since the last silence
};

// The size of a stream; 0 where nothing of it has arrived yet.
Result<std::int64_t> log_size(LogStore& logs, const AttemptId& attempt, Stream stream);

}  // namespace orbit::server
