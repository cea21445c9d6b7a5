#include "orbit/cli/event_follow.hpp"

#include <ostream>

#include "orbit/cli/event_view.hpp"
#include "orbit/cli/follow.hpp"

namespace orbit::cli {

Result<void> follow_events(const Connection& connection, const std::string& target, std::optional<std::string> last_id,
                           const EventSink& sink, const Backoff& backoff, std::stop_token stop) {
  int failures = 0;
  std::int64_t waited_ms = 0;
  bool connected = false;  // a server that never answered is said to be absent at once
  while (!stop.stop_requested()) {
    bool enough = false;
    net::SseParser parser;
    const auto once = [&]() -> Result<void> {
      ORBIT_TRY_ASSIGN(const auto api, Api::open(connection));
      net::HttpClient::Headers headers{{"Accept", "text/event-stream"}};
      if (last_id) headers.emplace_back("Last-Event-ID", *last_id);
      ORBIT_TRY(api->stream(target, headers, [&](std::string_view bytes) {
        connected = true;
        for (const net::SseEvent& event : parser.feed(bytes)) {
          failures = 0;
          waited_ms = 0;
          if (!event.id.empty()) last_id = event.id;
          if (!sink.take(event)) enough = true;
          if (enough) return false;
        }
        return !stop.stop_requested();
      }));
      return fail(ErrorCode::unavailable, "the server ended the stream");
    };
    auto result = once();
    if (enough || stop.stop_requested()) return {};
    Error error = std::move(result).error();
    if (error.code != ErrorCode::unavailable || (!connected && failures == 0)) return fail(std::move(error));
    const std::int64_t wait_ms = backoff.wait_ms(++failures);
    waited_ms += wait_ms;
    if (waited_ms > backoff.give_up_ms) return fail(std::move(error));
    if (failures == 2 && sink.notice) sink.notice("connection lost, trying again: " + error.message);
    pause_for(wait_ms, stop);
  }
  return {};
}

Result<int> print_events(Context& context, const std::string& target, std::optional<std::string> last_id) {
  ORBIT_TRY_ASSIGN(const Connection connection, context.connection());
  const DetachOnInterrupt guard("\n");
  std::optional<Error> error;
  const EventSink sink{[&](const net::SseEvent& event) {
                         if (context.json()) {
                           context.out << event.data << "\n" << std::flush;
                           return context.out.good();
                         }
                         auto object = json::decode<wire::EventObject>(event.data, json::From::ours);
                         if (!object) {
                           error = std::move(object).error();
                           return false;
                         }
                         context.out << event_line(*object, context.terminal) << std::flush;
                         return context.out.good();
                       },
                       [&](const std::string& notice) { context.note(notice); }};
  ORBIT_TRY(follow_events(connection, target, std::move(last_id), sink));
  if (error) return fail(std::move(*error));
  return 0;
}

}  // namespace orbit::cli
