// The feed of events as server-sent events.
#pragma once

#include <deque>

#include "orbit/net/http.hpp"
#include "orbit/server/event_hub.hpp"
#include "orbit/server/store_pool.hpp"

namespace orbit::server {

// Every event after `after_seq`, in order, none left out however slow the reader is; the id is the event's seq.
class EventFollower : public net::BodySource {
 public:
  // `run` empty: events of all runs.
  EventFollower(StorePool& readers, EventHub& hub, const RunId& run, std::int64_t after_seq);
  Piece next(std::size_t max_bytes, std::function<void()> wake) override;

 private:
  std::vector<Event> more();

  StorePool& readers_;
  EventHub& hub_;
  const RunId run_;
  EventHub::Subscription subscription_;
  std::int64_t seq_;  // of the last event taken over into waiting_
  std::deque<Event> waiting_;
  bool spoke_ = false;  // since the last silence
};

// The seq of the newest recorded event; 0 when there is none.
Result<std::int64_t> newest_seq(StoreReader& reader, const EventHub& hub);

}  // namespace orbit::server
