#include "orbit/cli/logs.hpp"

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <mutex>

#include "orbit/base/json.hpp"
#include "orbit/net/sse.hpp"
#include "orbit/wire/api.hpp"
#include "orbit/wire/base64.hpp"

namespace orbit::cli {
namespace {

std::string with_range(const std::string& target, std::int64_t offset, std::int64_t limit = 0) {
  std::string out = target + (target.find('?') == std::string::npos ? "?" : "&") + "offset=" + std::to_string(offset);
  if (limit > 0) out += "&limit=" + std::to_string(limit);
  return out;
}
constexpr std::int64_t read_bytes = std::int64_t{8} << 20;  // what the server gives at most in one answer

Result<std::int64_t> header_number(const net::ClientResponse& response, const std::string& name) {
  const auto it = response.headers.find(name);
  std::int64_t number = 0;
  if (it != response.headers.end()) {
    const auto [end, error] = std::from_chars(it->second.data(), it->second.data() + it->second.size(), number);
    if (error == std::errc{} && end == it->second.data() + it->second.size() && number >= 0) return number;
  }
  return fail(ErrorCode::internal, "the server's answer has no valid header " + name, {},
              "do the versions of orbit here and there fit? see orbit doctor");
}

bool header_true(const net::ClientResponse& response, const std::string& name) {
  const auto it = response.headers.find(name);
  return it != response.headers.end() && it->second == "true";
}

bool may_pass(const Error& error) {
  return error.code == ErrorCode::unavailable || error.code == ErrorCode::exhausted;
}

}  // namespace

std::int64_t Backoff::wait_ms(int failures) const {
  std::int64_t wait = first_ms;
  for (int i = 1; i < failures && wait < longest_ms; ++i) wait *= 2;
  return std::min(wait, longest_ms);
}

bool pause_for(std::int64_t ms, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, std::chrono::milliseconds(ms), [] { return false; });
  return !stop.stop_requested();
}

LogReader::LogReader(Connection connection, std::string target, std::int64_t offset, LogSink sink, Backoff backoff)
    : connection_(std::move(connection)),
      target_(std::move(target)),
      offset_(offset),
      sink_(std::move(sink)),
      backoff_(backoff) {}

Result<Api*> LogReader::api() {
  if (!api_) {
    ORBIT_TRY_ASSIGN(api_, Api::open(connection_));
  }
  return api_.get();
}

bool LogReader::deliver(std::string_view bytes) {
  if (bytes.empty()) return true;
  if (!sink_.write(bytes)) return false;
  offset_ += static_cast<std::int64_t>(bytes.size());
  progressed_ = true;
  failures_ = 0;
  waited_ms_ = 0;
  return true;
}

Result<bool> LogReader::retry(Error error, std::stop_token stop) {
  api_.reset();
  ++failures_;
  const std::int64_t wait = backoff_.wait_ms(failures_);
  if (waited_ms_ + wait > backoff_.give_up_ms) return fail(std::move(error));
  if (failures_ == 2 &&
      sink_.notice)  // the first failure is usually a server restarted or a proxy's time-out: not worth a line
    sink_.notice(fmt::format("connection lost at byte {}, trying again: {}", offset_, error.message));
  waited_ms_ += wait;
  return pause_for(wait, stop);
}

Result<LogReader::Outcome> LogReader::follow_once(std::stop_token stop) {
  ORBIT_TRY_ASSIGN(Api * client, api());
  net::SseParser parser;
  std::optional<Error> error;
  bool ended = false;
  bool abandoned = false;
  const auto on_event = [&](const net::SseEvent& event) -> Result<bool> {
    if (event.event == "end") {
      ORBIT_TRY_ASSIGN(const json::Value end, json::parse(event.data));
      std::int64_t size = -1;
      if (end.is_object())
        if (const json::Value* member = end.get_object().if_contains("size_bytes");
            member != nullptr && member->is_int64())
          size = member->get_int64();
      ended = size == offset_;  // otherwise something is missing yet: ask again from where we are
      return false;
    }
    if (event.event != "log") return true;  // an event of a later server
    ORBIT_TRY_ASSIGN(const auto chunk, json::decode<wire::LogChunk>(event.data, json::From::ours));
    ORBIT_TRY_ASSIGN(const std::string bytes, wire::base64_decode(chunk.bytes_base64));
    const auto length = static_cast<std::int64_t>(bytes.size());
    if (chunk.offset > offset_) {
      if (gap_at_ == offset_)
        return fail(ErrorCode::corrupt,
                    fmt::format("the server has no bytes {} to {} of this log", offset_, chunk.offset));
      gap_at_ = offset_;
      return false;
    }
    if (chunk.offset + length <= offset_) return true;  // known already
    if (!deliver(std::string_view(bytes).substr(static_cast<std::size_t>(offset_ - chunk.offset)))) {
      abandoned = true;
      return false;
    }
    return true;
  };
  const auto response =
      client->stream(with_range(target_, offset_), {{"Accept", "text/event-stream"}}, [&](std::string_view bytes) {
        if (stop.stop_requested()) abandoned = true;
        if (abandoned) return false;
        for (const net::SseEvent& event : parser.feed(bytes)) {
          const auto go_on = on_event(event);
          if (!go_on) error = go_on.error();
          if (!go_on || !*go_on) return false;
        }
        return true;
      });
  if (error) return fail(std::move(*error));
  if (abandoned) return Outcome::stopped;
  if (ended) return Outcome::ended;
  if (!response) return fail(response.error());
  return Outcome::cut;
}

Result<void> LogReader::follow(std::stop_token stop) {
  while (!stop.stop_requested()) {
    auto outcome = follow_once(stop);
    Error error{ErrorCode::unavailable, "the server ended the stream before the log's end"};
    if (outcome) {
      if (*outcome != Outcome::cut) return {};
    } else {
      error = std::move(outcome).error();
      if (!may_pass(error)) return fail(std::move(error));
    }
    ORBIT_TRY_ASSIGN(const bool go_on, retry(std::move(error), stop));
    if (!go_on) return {};
  }
  return {};
}

Result<bool> LogReader::read_once(std::stop_token stop) {
  while (true) {
    ORBIT_TRY_ASSIGN(Api * client, api());
    const std::int64_t before = offset_;
    bool abandoned = false;
    ORBIT_TRY_ASSIGN(const auto response,
                     client->stream(with_range(target_, offset_, read_bytes), {}, [&](std::string_view bytes) {
                       abandoned = stop.stop_requested() || !deliver(bytes);
                       return !abandoned;
                     }));
    if (abandoned) return false;
    ORBIT_TRY_ASSIGN(const std::int64_t size, header_number(response, "orbit-log-size"));
    if (offset_ >= size || offset_ == before) return header_true(response, "orbit-log-end");
  }
}

Result<bool> LogReader::read(std::stop_token stop) {
  while (true) {
    auto ended = read_once(stop);
    if (ended || !may_pass(ended.error()) || !progressed_) return ended;  // say at once that nobody answers
    ORBIT_TRY_ASSIGN(const bool go_on, retry(std::move(ended).error(), stop));
    if (!go_on) return false;
  }
}

Result<std::int64_t> log_size(Api& api, const std::string& target) {
  ORBIT_TRY_ASSIGN(const auto response, api.request(net::Method::head, with_range(target, 0, 1)));
  return header_number(response, "orbit-log-size");
}

Result<std::int64_t> offset_of_last_lines(Api& api, const std::string& target, std::int64_t size_bytes,
                                          std::int64_t lines) {
  if (lines <= 0) return size_bytes;
  constexpr std::int64_t block = 64 * 1024;
  std::int64_t end = size_bytes;
  std::int64_t found = 0;
  while (end > 0) {
    const std::int64_t begin = std::max<std::int64_t>(0, end - block);
    std::string bytes;
    const auto wanted = static_cast<std::size_t>(end - begin);
    const auto response = api.stream(with_range(target, begin, block), {}, [&](std::string_view piece) {
      bytes.append(piece.substr(0, wanted - bytes.size()));
      return bytes.size() < wanted;
    });
    if (bytes.size() < wanted) {
      if (!response) return fail(response.error());
      return fail(ErrorCode::unavailable, "the server sent less of the log than there is");
    }
    for (std::int64_t at = end - 1; at >= begin; --at) {
      if (bytes[static_cast<std::size_t>(at - begin)] != '\n' || at == size_bytes - 1)
        continue;  // the last line's own end
      if (++found == lines) return at + 1;
    }
    end = begin;
  }
  return std::int64_t{0};
}

}  // namespace orbit::cli
