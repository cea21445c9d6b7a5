#include "orbit/server/sse_events.hpp"

#include <stdexcept>

#include "orbit/net/sse.hpp"
#include "orbit/wire/convert.hpp"

namespace orbit::server {
namespace {

constexpr std::int32_t batch = 256;

}  // namespace

EventFollower::EventFollower(StorePool& readers, EventHub& hub, const RunId& run, std::int64_t after_seq)
    : readers_(readers), hub_(hub), run_(run), subscription_(hub, {run, AttemptId()}), seq_(after_seq) {}

std::vector<Event> EventFollower::more() {
  if (auto events = hub_.recent(seq_, batch)) {
    if (!events->empty()) seq_ = events->back().seq;
    if (!run_.empty()) std::erase_if(*events, [&](const Event& event) { return event.run != run_; });
    return std::move(*events);
  }
  // Behind what is kept in memory: the store has it all.
  const auto reader = readers_.reader();
  if (!reader) throw std::runtime_error(reader.error().text());
  auto events = (*reader)->events(seq_, batch, run_);
  if (!events) throw std::runtime_error(events.error().text());
  if (!events->empty()) seq_ = events->back().seq;
  return std::move(*events);
}

net::BodySource::Piece EventFollower::next(std::size_t max_bytes, std::function<void()> wake) {
  subscription_.arm(std::move(wake));
  Piece piece;
  while (piece.bytes.size() < max_bytes) {
    if (waiting_.empty()) {
      const std::int64_t before = seq_;
      for (Event& event : more()) waiting_.push_back(std::move(event));
      if (waiting_.empty() && seq_ == before) break;
      continue;
    }
    const wire::EventObject object = wire::event_object(waiting_.front());
    const std::string text =
        net::sse_encode({std::to_string(object.seq), std::string(json::name_of(object.kind)), json::encode(object)});
    if (!piece.bytes.empty() && piece.bytes.size() + text.size() > max_bytes) break;
    piece.bytes += text;
    waiting_.pop_front();
  }
  if (piece.bytes.empty()) {
    if (!spoke_) piece.bytes = net::sse_keep_alive;
    spoke_ = !spoke_;
  } else {
    spoke_ = true;
  }
  return piece;
}

Result<std::int64_t> newest_seq(StoreReader& reader, const EventHub& hub) {
  if (const std::int64_t seq = hub.last_seq(); seq > 0) return seq;
  // Nothing happened yet in the life of this process: gallop, then bisect. `low` has an event behind it or is 0.
  const auto anything_after = [&](std::int64_t seq) -> Result<bool> {
    ORBIT_TRY_ASSIGN(const auto events, reader.events(seq, 1, RunId()));
    return !events.empty();
  };
  std::int64_t low = 0;
  std::int64_t high = 1;
  for (;;) {
    ORBIT_TRY_ASSIGN(const bool more, anything_after(high - 1));
    if (!more) break;
    low = high;
    high *= 2;
  }
  // The newest is in [low, high - 1].
  while (low + 1 < high) {
    const std::int64_t middle = low + (high - low) / 2;
    ORBIT_TRY_ASSIGN(const bool more, anything_after(middle - 1));
    (more ? low : high) = middle;
  }
  return low;
}

}  // namespace orbit::server
