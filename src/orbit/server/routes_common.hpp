// What the handlers share: bodies in, objects out, pages, and finding what a path names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orbit/server/lookup.hpp"
#include "orbit/server/routes_table.hpp"
#include "orbit/wire/convert.hpp"
#include "orbit/wire/problem.hpp"

namespace orbit::server {

net::Response problem_response(const Error& error, int status = 0);

template <class T>
net::Response json_response(const T& value, int status = 200) {
  net::Response response;
  response.status = status;
  response.body = json::encode(value);
  return response;
}

// Never rendered by a browser, whatever a run wrote: bytes to be saved under `file_name`.
void make_download(net::Response& response, const std::string& file_name);

// The JSON body; nothing sent is {}.
template <class T>
Result<T> body_of(const RouteContext& context) {
  return json::decode<T>(context.request.body.empty() ? std::string_view("{}") : std::string_view(context.request.body),
                         json::From::user);
}

// A query parameter as an integer within bounds; absent: `otherwise`.
Result<std::int64_t> query_integer(const RouteContext& context, const std::string& key, std::int64_t otherwise,
                                   std::int64_t least, std::int64_t most);
// ?limit=
Result<std::int32_t> page_limit(const RouteContext& context, std::int32_t otherwise = 100, std::int32_t most = 1000);
// ?cursor=, made by cursor_after: the key of the last item of the page before; empty at the first page.
Result<std::string> page_key(const RouteContext& context);
std::string cursor_after(const std::string& key);
// ?cursor= that holds a number.
Result<std::int64_t> page_number(const RouteContext& context);

// A page of items sorted by `key_of`, which must be unique.
template <class T, class Key>
Result<wire::List<T>> page_of(const RouteContext& context, const std::vector<T>& items, Key key_of,
                              std::int32_t otherwise = 100, std::int32_t most = 1000) {
  ORBIT_TRY_ASSIGN(const std::string after, page_key(context));
  ORBIT_TRY_ASSIGN(const std::int32_t limit, page_limit(context, otherwise, most));
  wire::List<T> page;
  auto it = after.empty() ? items.begin()
                          : std::upper_bound(items.begin(), items.end(), after,
                                             [&](const auto& key, const T& item) { return key < key_of(item); });
  for (; it != items.end(); ++it) {
    if (page.items.size() == static_cast<std::size_t>(limit)) {
      page.next_cursor = cursor_after(key_of(page.items.back()));
      break;
    }
    page.items.push_back(*it);
  }
  return page;
}

// Whether the client asks for server-sent events instead of a list or bytes.
bool wants_events(const net::Request& request);
// Where a client that comes back was.
Result<std::optional<std::int64_t>> last_event_id(const RouteContext& context);

const std::string& path_param(const RouteContext& context, const std::string& name);

// {run}: an id, or a name with ?project= or when only one run has it.
Result<RunView> run_in_path(const RouteContext& context, StoreReader& reader);
// {n} of a run: a number, or `latest`.
Result<Attempt> attempt_in_path(const RouteContext& context, const RunView& run);

// With the params typed as they were frozen, where job.json can be read.
wire::RunObject run_object(const RouteContext& context, const RunView& view);
// A member acts on what is his own, an operator on everybody's (X1). `what` for the message: "this run".
Result<void> check_may_act_on(const RouteContext& context, const std::string& created_by, const std::string& what);

// The run as it is recorded now.
Result<wire::RunObject> run_object_now(const RouteContext& context, const RunId& id);

// Runs a decision that needs nothing of the world.
Result<void> commit(const RouteContext& context, std::function<Result<Effects>(Now)> decide);

// A Range header against `size` bytes (RFC 9110): nothing when there is none that can be honoured (a list of ranges,
// another unit), for which the whole is the right answer.
struct ByteRange {
  std::int64_t offset = 0;
  std::int64_t length = 0;
};
struct RangeAnswer {
  std::optional<ByteRange> range;
  bool unsatisfiable = false;
};
RangeAnswer byte_range(const net::Request& request, std::int64_t size, const std::string& etag);
net::Response unsatisfiable_range(std::int64_t size);

}  // namespace orbit::server
