#include "orbit/server/sse_logs.hpp"

#include <algorithm>
#include <stdexcept>

#include "orbit/net/sse.hpp"
#include "orbit/wire/api.hpp"
#include "orbit/wire/base64.hpp"

namespace orbit::server {
namespace {

constexpr std::size_t frame_bytes = 256;  // what an event needs beside its bytes
constexpr std::size_t least_chunk_bytes = 1024;
constexpr std::size_t most_chunk_bytes = 48 * 1024;

// A body that cannot go on is cut, never ended: the follower comes back and hears the reason then.
template <class T>
T or_cut(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return std::move(*result);
}

}  // namespace

Result<std::int64_t> log_size(LogStore& logs, const AttemptId& attempt, Stream stream) {
  auto size = logs.size(attempt, stream);
  if (!size && size.error().code == ErrorCode::not_found) return 0;
  return size;
}

LogFollower::LogFollower(StorePool& readers, LogStore& logs, EventHub& hub, const AttemptId& attempt, Stream stream,
                         std::int64_t offset)
    : readers_(readers),
      logs_(logs),
      subscription_(hub, {RunId(), attempt}),
      attempt_(attempt),
      stream_(stream),
      offset_(offset) {}

net::BodySource::Piece LogFollower::next(std::size_t max_bytes, std::function<void()> wake) {
  subscription_.arm(std::move(wake));
  Piece piece;
  if (offset_ < or_cut(log_size(logs_, attempt_, stream_))) {
    const std::size_t room = max_bytes > frame_bytes ? (max_bytes - frame_bytes) / 4 * 3 : 0;
    const std::size_t chunk = std::clamp(room, least_chunk_bytes, most_chunk_bytes);
    const std::string bytes = or_cut(logs_.read(attempt_, stream_, offset_, chunk));
    if (!bytes.empty()) {
      const wire::LogChunk data{offset_, wire::base64_encode(bytes)};
      offset_ += static_cast<std::int64_t>(bytes.size());
      piece.bytes = net::sse_encode({std::to_string(offset_), "log", json::encode(data)});
      spoke_ = true;
      return piece;
    }
  }
  // Whether it is over is looked at before the size: what an attempt that is over wrote is all there.
  const auto attempt = or_cut(or_cut(readers_.reader())->attempt(attempt_));
  const bool over = !attempt || is_final(attempt->state);
  const std::int64_t size = or_cut(log_size(logs_, attempt_, stream_));
  if (over && offset_ >= size) {
    json::Object end;
    end["size_bytes"] = size;
    piece.bytes = net::sse_encode({std::to_string(offset_), "end", json::dump(end)});
    piece.end = true;
    return piece;
  }
  // Nothing to say, at the beginning or after a silence: a comment shows that the stream is open.
  if (!spoke_) piece.bytes = net::sse_keep_alive;
  spoke_ = !spoke_;
  return piece;
}

}  // namespace orbit::server
