// The live feed of events: after any cut it goes on behind the last one seen.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "orbit/cli/api.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/cli/logs.hpp"
#include "orbit/net/sse.hpp"

namespace orbit::cli {

struct EventSink {
  std::function<bool(const net::SseEvent&)> take;  // false: enough
  std::function<void(const std::string&)> notice;
};

// `target`: a path below /api/v1 that answers text/event-stream. `last_id`: where to go on; absent: from now.
Result<void> follow_events(const Connection& connection, const std::string& target, std::optional<std::string> last_id,
                           const EventSink& sink, const Backoff& backoff = {}, std::stop_token stop = {});

// Prints them, a line each (with -o json an object each), until Ctrl-C.
Result<int> print_events(Context& context, const std::string& target, std::optional<std::string> last_id);

}  // namespace orbit::cli
