// The feed of what happened: as a list, or live.
#include <algorithm>
#include <deque>
#include <limits>

#include "orbit/server/routes_common.hpp"
#include "orbit/server/sse_events.hpp"
#include "orbit/server/sse_guarded.hpp"

namespace orbit::server {
namespace {

constexpr std::int64_t any_seq = std::numeric_limits<std::int64_t>::max();

// Where the reader is: Last-Event-ID (it comes back), else ?after= or ?cursor=; nothing when it did not say.
Result<std::optional<std::int64_t>> position(const RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto seen, last_event_id(context));
  if (seen) return seen;
  if (context.request.query_value("after")) {
    ORBIT_TRY_ASSIGN(const std::int64_t after, query_integer(context, "after", 0, 0, any_seq));
    return std::optional(after);
  }
  if (context.request.query_value("cursor")) {
    ORBIT_TRY_ASSIGN(const std::int64_t after, page_number(context));
    return std::optional(after);
  }
  return std::optional<std::int64_t>();
}

constexpr std::int32_t most_newest = 1000;

// The last `count` of them, oldest first. The store counts from the front only: looks back from the end, further and
// further, as the events of one run lie scattered among those of all.
Result<std::deque<Event>> newest_events(StoreReader& reader, const EventHub& hub, const RunId& run, std::size_t count) {
  constexpr std::int32_t batch = 1000;
  ORBIT_TRY_ASSIGN(const std::int64_t newest, newest_seq(reader, hub));
  for (auto span = static_cast<std::int64_t>(count);; span *= 2) {
    const std::int64_t start = std::max<std::int64_t>(0, newest - span);
    std::deque<Event> found;
    std::int64_t after = start;
    for (bool more = true; more;) {
      ORBIT_TRY_ASSIGN(auto events, reader.events(after, batch, run));
      more = events.size() == static_cast<std::size_t>(batch);
      for (Event& event : events) {
        after = event.seq;
        found.push_back(std::move(event));
        if (found.size() > count) found.pop_front();
      }
    }
    if (found.size() == count || start == 0) return found;
  }
}

Result<net::Response> list_or_follow(RouteContext& context, StoreReader& reader, const RunId& run) {
  ORBIT_TRY_ASSIGN(const auto after, position(context));
  ORBIT_TRY_ASSIGN(const std::int32_t limit, page_limit(context));
  if (wants_events(context.request)) {
    for (const char* of_lists : {"limit", "newest"})
      if (context.request.query_value(of_lists))
        return fail(ErrorCode::invalid_argument, "a stream goes on until it is closed: this is for lists", of_lists,
                    "leave it out, or do not accept text/event-stream");
    // Of a run its whole story; of everything what happens from now on.
    std::int64_t start = 0;
    if (after) {
      start = *after;
    } else if (run.empty()) {
      ORBIT_TRY_ASSIGN(start, newest_seq(reader, context.api.events));
    }
    net::Response response;
    response.content_type = "text/event-stream";
    response.source = std::make_shared<GuardedSource>(
        std::make_shared<EventFollower>(context.api.readers, context.api.events, run, start), context.api.authenticator,
        context.caller.token);
    return response;
  }
  wire::List<wire::EventObject> list;
  if (context.request.query_value("newest")) {
    if (after)
      return fail(ErrorCode::invalid_argument, "goes without a position", "newest", "leave after and cursor out");
    ORBIT_TRY_ASSIGN(const std::int64_t count, query_integer(context, "newest", 0, 1, most_newest));
    ORBIT_TRY_ASSIGN(const auto newest,
                     newest_events(reader, context.api.events, run, static_cast<std::size_t>(count)));
    for (const Event& event : newest) list.items.push_back(wire::event_object(event));
    return json_response(list);
  }
  ORBIT_TRY_ASSIGN(auto events, reader.events(after.value_or(0), limit + 1, run));
  if (events.size() > static_cast<std::size_t>(limit)) {
    events.resize(static_cast<std::size_t>(limit));
    list.next_cursor = cursor_after(std::to_string(events.back().seq));
  }
  for (const Event& event : events) list.items.push_back(wire::event_object(event));
  return json_response(list);
}

Result<net::Response> all_events(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  return list_or_follow(context, *reader, RunId());
}

Result<net::Response> run_events(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const RunView view, run_in_path(context, *reader));
  return list_or_follow(context, *reader, view.run.id);
}

constexpr const char* about =
    "With Accept: text/event-stream: the id of each event is its seq, its type the kind; Last-Event-ID goes on without "
    "loss "
    "or repetition.";

}  // namespace

void add_event_routes(RouteTable& table) {
  using net::Method;
  const Access viewer = Access::at_least(Role::viewer);
  table.add(Method::get, "/api/v1/events", viewer, "listEvents", "What happened, oldest first", all_events)
      .describe(std::string(about) + " Without a position the stream begins now, the list at the beginning.")
      .param("after", "Only events with a greater seq", QueryKind::integer)
      .param("newest", "The list: only the last so many, oldest first, at most 1000", QueryKind::integer)
      .paged()
      .header("Last-Event-ID")
      .returns<wire::List<wire::EventObject>>()
      .returns_bytes("text/event-stream", 200, "Events");
  table
      .add(Method::get, "/api/v1/runs/{run}/events", viewer, "listRunEvents", "The story of a run, oldest first",
           run_events)
      .describe(about)
      .run_in_path()
      .param("after", "Only events with a greater seq", QueryKind::integer)
      .param("newest", "The list: only the last so many, oldest first, at most 1000", QueryKind::integer)
      .paged()
      .header("Last-Event-ID")
      .returns<wire::List<wire::EventObject>>()
      .returns_bytes("text/event-stream", 200, "Events");
}

}  // namespace orbit::server
