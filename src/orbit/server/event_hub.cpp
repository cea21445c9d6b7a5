#include "orbit/server/event_hub.hpp"

#include <algorithm>

namespace orbit::server {

template <class Wanted>
void EventHub::wake_if(Wanted&& wanted, std::unique_lock<std::mutex> lock) {
  std::vector<std::function<void()>> wakes;
  for (auto& [id, follower] : followers_)
    if (follower.wake && wanted(follower.interest)) wakes.push_back(std::exchange(follower.wake, nullptr));
  lock.unlock();
  for (const auto& wake : wakes) wake();
}

void EventHub::publish(const std::vector<Event>& events) {
  if (events.empty()) return;
  std::unique_lock lock(mutex_);
  if (ring_.empty()) reaches_back_to_ = events.front().seq - 1;
  for (const Event& event : events) ring_.push_back(event);
  while (ring_.size() > ring_size_) {
    reaches_back_to_ = ring_.front().seq;
    ring_.pop_front();
  }
  wake_if(
      [&](const Interest& interest) {
        return std::any_of(events.begin(), events.end(), [&](const Event& event) {
          if (!interest.attempt.empty()) return event.attempt == interest.attempt;
          return interest.run.empty() || event.run == interest.run;
        });
      },
      std::move(lock));
}

void EventHub::logs_grew(const AttemptId& attempt) {
  wake_if([&](const Interest& interest) { return interest.attempt == attempt; }, std::unique_lock(mutex_));
}

std::optional<std::vector<Event>> EventHub::recent(std::int64_t after_seq, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  if (ring_.empty() || after_seq < reaches_back_to_) return std::nullopt;
  auto it = std::upper_bound(ring_.begin(), ring_.end(), after_seq,
                             [](std::int64_t seq, const Event& event) { return seq < event.seq; });
  std::vector<Event> out;
  for (; it != ring_.end() && out.size() < limit; ++it) out.push_back(*it);
  return out;
}

std::int64_t EventHub::last_seq() const {
  const std::lock_guard lock(mutex_);
  return ring_.empty() ? 0 : ring_.back().seq;
}

std::int64_t EventHub::followers() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(followers_.size());
}

EventHub::Subscription::Subscription(EventHub& hub, Interest interest) : hub_(hub) {
  const std::lock_guard lock(hub_.mutex_);
  id_ = hub_.next_id_++;
  hub_.followers_.emplace(id_, Follower{std::move(interest), nullptr});
}

EventHub::Subscription::~Subscription() {
  const std::lock_guard lock(hub_.mutex_);
  hub_.followers_.erase(id_);
}

void EventHub::Subscription::arm(std::function<void()> wake) {
  const std::lock_guard lock(hub_.mutex_);
  hub_.followers_.at(id_).wake = std::move(wake);
}

}  // namespace orbit::server
