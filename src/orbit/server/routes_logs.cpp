// Logs of an attempt: bytes by offset, or followed live.
#include "orbit/server/routes_common.hpp"
#include "orbit/server/sse_guarded.hpp"
#include "orbit/server/sse_logs.hpp"

namespace orbit::server {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{8} << 20;
constexpr std::int64_t default_bytes = std::int64_t{1} << 20;
constexpr std::int64_t any_offset = std::int64_t{1} << 60;

Result<net::Response> follow(RouteContext& context, const Attempt& attempt, Stream stream, std::int64_t offset) {
  ORBIT_TRY_ASSIGN(const auto seen, last_event_id(context));
  if (seen) offset = *seen;
  net::Response response;
  response.content_type = "text/event-stream";
  response.source =
      std::make_shared<GuardedSource>(std::make_shared<LogFollower>(context.api.readers, context.api.logs,
                                                                    context.api.events, attempt.id, stream, offset),
                                      context.api.authenticator, context.caller.token);
  return response;
}

Result<net::Response> log(RouteContext& context) {
  const auto stream = parse_stream(path_param(context, "stream"));
  if (!stream)
    return fail(ErrorCode::invalid_argument, "there is no such stream", "stream", "one of stdout, stderr, execution");
  ORBIT_TRY_ASSIGN(std::int64_t offset, query_integer(context, "offset", 0, -any_offset, any_offset));
  ORBIT_TRY_ASSIGN(const std::int64_t limit, query_integer(context, "limit", default_bytes, 1, most_bytes));
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const RunView view, run_in_path(context, *reader));
  // The state is read before the size, so that "this is the end" is never said too early.
  ORBIT_TRY_ASSIGN(const Attempt attempt, attempt_in_path(context, view));
  ORBIT_TRY_ASSIGN(const std::int64_t size, log_size(context.api.logs, attempt.id, *stream));
  if (offset < 0) offset = std::max<std::int64_t>(0, size + offset);
  if (wants_events(context.request)) return follow(context, attempt, *stream, offset);

  std::string bytes;
  if (offset < size) {
    ORBIT_TRY_ASSIGN(bytes, context.api.logs.read(attempt.id, *stream, offset, static_cast<std::size_t>(limit)));
  }
  const bool end = is_final(attempt.state) && offset + static_cast<std::int64_t>(bytes.size()) >= size;
  net::Response response;
  make_download(response, fmt::format("{}-{}-{}.log", view.run.name, attempt.number, stream_name(*stream)));
  response.headers.emplace_back("Orbit-Log-Offset", std::to_string(offset));
  response.headers.emplace_back("Orbit-Log-Size", std::to_string(size));
  response.headers.emplace_back("Orbit-Log-End", end ? "true" : "false");
  response.body = std::move(bytes);
  return response;
}

}  // namespace

void add_log_routes(RouteTable& table) {
  table
      .add(net::Method::get, "/api/v1/runs/{run}/attempts/{n}/logs/{stream}", Access::at_least(Role::viewer), "getLog",
           "Bytes of a log stream, or the stream itself", log)
      .describe(
          "Bytes come with Orbit-Log-Offset (of the first one), Orbit-Log-Size (of the stream now) and Orbit-Log-End "
          "(true: "
          "nothing will follow). With Accept: text/event-stream: events `log`, whose id is the offset behind them, "
          "then one "
          "`end`; after a cut, Last-Event-ID goes on without loss or repetition.")
      .run_in_path()
      .param("offset", "First byte; negative: counted from the end", QueryKind::integer)
      .param("limit", "How many bytes at most", QueryKind::integer)
      .header("Last-Event-ID")
      .returns_bytes("application/octet-stream")
      .returns_bytes("text/event-stream", 200, "Events");
}

}  // namespace orbit::server
