// From the one writer to whoever follows. The writer never waits for a follower: it appends to a ring of recent events
// and wakes those concerned. Who is too slow for the ring reads from the store from where he was, so nothing is lost.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "orbit/domain/records.hpp"

namespace orbit::server {

// Thread-safe.
class EventHub {
 public:
  explicit EventHub(std::size_t ring_size = 4096) : ring_size_(ring_size) {}

  // control::Writer's Publish: after each commit, in order.
  void publish(const std::vector<Event>& events);
  // Bytes of a live attempt's logs arrived: to be called after LogStore::sync.
  void logs_grew(const AttemptId& attempt);

  // Events after `after_seq`, oldest first; nothing when the ring does not reach back that far: read the store.
  std::optional<std::vector<Event>> recent(std::int64_t after_seq, std::size_t limit) const;
  // Of the last event published; 0 before the first one.
  std::int64_t last_seq() const;
  std::int64_t followers() const;

  // What a follower wants to be woken for.
  struct Interest {
    RunId run;          // empty: events of every run
    AttemptId attempt;  // not empty: this attempt's events and the growth of its logs
  };
  // A place among the followers, given back by the destructor. `wake` is called at most once after each arm(): arm
  // first, look then, so that nothing that comes in between is missed.
  class Subscription {
   public:
    Subscription(EventHub& hub, Interest interest);
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;
    void arm(std::function<void()> wake);

   private:
    EventHub& hub_;
    std::uint64_t id_ = 0;
  };

 private:
  struct Follower {
    Interest interest;
    std::function<void()> wake;
  };
  template <class Wanted>
  void wake_if(Wanted&& wanted, std::unique_lock<std::mutex> lock);

  const std::size_t ring_size_;
  mutable std::mutex mutex_;  // guards what follows; held for moments only
  std::deque<Event> ring_;
  std::int64_t reaches_back_to_ = 0;  // every event after this seq is in the ring, once it has any
  std::map<std::uint64_t, Follower> followers_;
  std::uint64_t next_id_ = 1;
};

}  // namespace orbit::server
