#include "orbit/server/routes_common.hpp"

#include <charconv>

#include "orbit/wire/base64.hpp"

namespace orbit::server {
namespace {

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

net::Response problem_response(const Error& error, int status) {
  net::Response response;
  const wire::Problem problem = wire::to_problem(error, status);
  response.status = problem.status;
  response.content_type = wire::problem_content_type;
  response.body = json::encode(problem);
  if (response.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"orbit\"");
  return response;
}

void make_download(net::Response& response, const std::string& file_name) {
  response.content_type = "application/octet-stream";
  // RFC 6266: a plain name for old clients, the real one percent-encoded.
  std::string plain;
  for (const char c : file_name)
    plain +=
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_'
            ? c
            : '_';
  response.headers.emplace_back(
      "Content-Disposition", "attachment; filename=\"" + plain + "\"; filename*=UTF-8''" + net::url_encode(file_name));
}

Result<std::int64_t> query_integer(const RouteContext& context, const std::string& key, std::int64_t otherwise,
                                   std::int64_t least, std::int64_t most) {
  const auto text = context.request.query_value(key);
  if (!text) return otherwise;
  const auto value = parse_integer(*text);
  if (!value || *value < least || *value > most)
    return fail(ErrorCode::invalid_argument, fmt::format("must be a whole number from {} to {}", least, most), key);
  return *value;
}

Result<std::int32_t> page_limit(const RouteContext& context, std::int32_t otherwise, std::int32_t most) {
  ORBIT_TRY_ASSIGN(const std::int64_t limit, query_integer(context, "limit", otherwise, 1, most));
  return static_cast<std::int32_t>(limit);
}

Result<std::string> page_key(const RouteContext& context) {
  const auto text = context.request.query_value("cursor");
  if (!text || text->empty()) return std::string();
  auto key = wire::base64url_decode(*text);
  if (!key)
    return fail(ErrorCode::invalid_argument, "is no cursor of this list", "cursor", "pass next_cursor unchanged");
  return key;
}

std::string cursor_after(const std::string& key) {
  return wire::base64url_encode(key);
}

Result<std::int64_t> page_number(const RouteContext& context) {
  ORBIT_TRY_ASSIGN(const std::string key, page_key(context));
  if (key.empty()) return 0;
  const auto number = parse_integer(key);
  if (!number || *number < 1)
    return fail(ErrorCode::invalid_argument, "is no cursor of this list", "cursor", "pass next_cursor unchanged");
  return *number;
}

bool wants_events(const net::Request& request) {
  const auto accept = request.headers.find("accept");
  return accept != request.headers.end() && accept->second.find("text/event-stream") != std::string::npos;
}

Result<std::optional<std::int64_t>> last_event_id(const RouteContext& context) {
  const auto header = context.request.headers.find("last-event-id");
  if (header == context.request.headers.end()) return std::optional<std::int64_t>();
  const auto seen = parse_integer(header->second);
  if (!seen || *seen < 0)
    return fail(ErrorCode::invalid_argument, "is no id of this stream", "Last-Event-ID",
                "send the id of the last event you saw, a whole number, or none");
  return seen;
}

const std::string& path_param(const RouteContext& context, const std::string& name) {
  const auto it = context.request.path_params.find(name);
  ORBIT_ASSERT(it != context.request.path_params.end());
  return it->second;
}

Result<RunView> run_in_path(const RouteContext& context, StoreReader& reader) {
  return find_run(reader, path_param(context, "run"), context.request.query_value("project"), "run");
}

Result<Attempt> attempt_in_path(const RouteContext& context, const RunView& run) {
  const std::string& text = path_param(context, "n");
  if (text == "latest" && !run.attempts.empty()) return run.attempts.back();
  const auto number = parse_integer(text);
  if (text != "latest" && (!number || *number < 1))
    return fail(ErrorCode::invalid_argument, "must be the number of an attempt, or `latest`", "attempt");
  for (const Attempt& attempt : run.attempts)
    if (number && attempt.number == *number) return attempt;
  return fail(ErrorCode::not_found, fmt::format("run '{}' has no attempt {}", run.run.name, to_valid_utf8(text)),
              "attempt", fmt::format("it has {}", run.attempts.size()));
}

wire::RunObject run_object(const RouteContext& context, const RunView& view) {
  const auto params = context.frozen.of(context.api.blobs, view.run.bundle);
  return wire::run_object(view.run, view.attempts, params ? *params : view.run.submission.params, context.now.wall);
}

Result<void> check_may_act_on(const RouteContext& context, const std::string& created_by, const std::string& what) {
  if (context.caller.role >= Role::operator_ || context.caller.name == created_by) return {};
  return fail(ErrorCode::refused, fmt::format("{} is {}'s: as a member you act on your own", what, created_by), "token",
              "ask them, or somebody with the role operator");
}

Result<wire::RunObject> run_object_now(const RouteContext& context, const RunId& id) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const auto view, reader->run(id));
  if (!view) return fail(ErrorCode::internal, "the run was recorded but cannot be read", "run");
  return run_object(context, *view);
}

Result<void> commit(const RouteContext& context, std::function<Result<Effects>(Now)> decide) {
  return context.api.writer.run([decide = std::move(decide)](const World&, Now now) { return decide(now); });
}

RangeAnswer byte_range(const net::Request& request, std::int64_t size, const std::string& etag) {
  const auto header = request.headers.find("range");
  if (header == request.headers.end()) return {};
  if (const auto condition = request.headers.find("if-range");
      condition != request.headers.end() && (etag.empty() || condition->second != etag))
    return {};
  std::string_view text = header->second;
  if (!text.starts_with("bytes=")) return {};
  text.remove_prefix(6);
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos || text.find(',') != std::string_view::npos) return {};
  const std::string_view first_text = text.substr(0, dash);
  const std::string_view last_text = text.substr(dash + 1);
  const auto first = parse_integer(first_text);
  const auto last = parse_integer(last_text);
  if (first_text.empty()) {  // the last n bytes
    if (!last || *last < 0) return {};
    if (*last == 0 || size == 0) return {std::nullopt, true};
    const std::int64_t length = std::min(*last, size);
    return {ByteRange{size - length, length}, false};
  }
  if (!first || *first < 0 || (!last_text.empty() && (!last || *last < *first))) return {};
  if (*first >= size) return {std::nullopt, true};
  const std::int64_t end = last ? std::min(*last, size - 1) : size - 1;
  return {ByteRange{*first, end - *first + 1}, false};
}

net::Response unsatisfiable_range(std::int64_t size) {
  net::Response response = problem_response(
      Error{ErrorCode::invalid_argument, fmt::format("the range begins behind the end at {} bytes", size), "Range"},
      416);
  response.headers.emplace_back("Content-Range", fmt::format("bytes */{}", size));
  return response;
}

}  // namespace orbit::server
