#include "orbit/net/http_serve.hpp"

#include <algorithm>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <exception>

#include "orbit/base/log.hpp"
#include "orbit/base/text.hpp"
#include "orbit/net/http_send.hpp"
#include "orbit/net/response_head.hpp"
#include "orbit/net/spool_file.hpp"
#include "orbit/net/url.hpp"

namespace orbit::net {
namespace {

namespace http = boost::beast::http;
using Parser = http::request_parser<http::buffer_body>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t drain_limit_bytes = 64 * 1024;  // an unwanted body up to here does not cost the connection
constexpr std::size_t memory_piece_bytes = 64 * 1024;
constexpr std::size_t file_piece_bytes = 256 * 1024;
constexpr std::int64_t slowest_body_bytes_per_s =
    512;  // below this for longer than the idle time-out, a body is given up

struct Refusal {
  int status;
  Error error;
  bool close = false;  // the framing of what follows cannot be trusted
};

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

std::optional<Method> known_method(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return Method::get;
    case http::verb::head:
      return Method::head;
    case http::verb::post:
      return Method::post;
    case http::verb::put:
      return Method::put;
    case http::verb::patch:
      return Method::patch;
    case http::verb::delete_:
      return Method::delete_;
    default:
      return std::nullopt;
  }
}

// --- head ---

struct HeadRead {
  bool complete = false;
  std::optional<Refusal> refusal;  // neither: the client went away or said nothing in time
};

Refusal head_too_large(const ServerOptions& options) {
  return {431,
          Error{ErrorCode::too_large,
                fmt::format("the request's head is larger than {} bytes", options.max_header_bytes), "header"},
          true};
}

HeadRead refused(Refusal refusal) {
  HeadRead out;
  out.refusal = std::move(refusal);
  return out;
}

asio::awaitable<HeadRead> read_head(Connection& connection, Parser& parser, bool first) {
  const ServerOptions& options = connection.context().options;
  boost::beast::flat_buffer& buffer = connection.buffer();
  if (buffer.size() == 0) {
    connection.set_deadline_in(first ? options.header_timeout_ms : options.idle_timeout_ms);
    const error_code error = co_await connection.read_more(1024);
    if (error) co_return HeadRead();
  }
  connection.set_deadline_in(options.header_timeout_ms);
  std::size_t consumed = 0;
  while (!parser.is_header_done()) {
    // An empty line before the request is forgiven (RFC 9112, 2.2).
    while (!parser.got_some() && buffer.size() >= 2 &&
           std::string_view(static_cast<const char*>(buffer.data().data()), 2) == "\r\n") {
      buffer.consume(2);
      consumed += 2;
    }
    if (buffer.size() > 0) {
      error_code error;
      const std::size_t used = parser.put(buffer.data(), error);
      buffer.consume(used);
      consumed += used;
      // The parser's own limit holds for one call; here is the sum.
      if (error == http::error::header_limit || consumed > options.max_header_bytes)
        co_return refused(head_too_large(options));
      if (error == http::error::bad_version)
        co_return refused(Refusal{
            505, Error{ErrorCode::unsupported, "only HTTP/1.0 and HTTP/1.1, with CRLF line ends, are spoken here"},
            true});
      if (error && error != http::error::need_more)
        co_return refused(Refusal{
            400, Error{ErrorCode::invalid_argument, "the request is not valid HTTP: " + error.message()}, true});
      if (!error) continue;
    }
    if (consumed + buffer.size() > options.max_header_bytes) co_return refused(head_too_large(options));
    const error_code error = co_await connection.read_more(4096);
    if (error && connection.timed_out())
      co_return refused(
          Refusal{408,
                  Error{ErrorCode::unavailable,
                        fmt::format("the request's head did not arrive within {} ms", options.header_timeout_ms)},
                  true});
    if (error) co_return HeadRead();
  }
  connection.clear_deadline();
  HeadRead out;
  out.complete = true;
  co_return out;
}

struct Head {
  Request request;
  std::optional<Method> method;
  std::vector<std::string> segments;
  bool expects_continue = false;
};

Refusal bad_request(std::string message, std::string field) {
  return {400, Error{ErrorCode::invalid_argument, std::move(message), std::move(field)}, true};
}

std::optional<Refusal> take_head(const Parser& parser, Head& head) {
  const auto& message = parser.get();
  Request& request = head.request;
  for (const auto& field : message) {
    const std::string name = to_lower(view(field.name_string()));
    const std::string_view value = view(field.value());
    const auto [it, is_new] = request.headers.emplace(name, value);
    if (is_new) continue;
    if (name == "host") return bad_request("is given twice", "Host");
    it->second.append(name == "cookie" ? "; " : ", ").append(value);
  }
  if (message.version() == 11 && !request.headers.contains("host")) return bad_request("is missing", "Host");
  if (const auto it = request.headers.find("transfer-encoding"); it != request.headers.end()) {
    // Anything else would leave it open where the body ends, and so what the next request is.
    if (message.version() == 10) return bad_request("does not exist in HTTP/1.0", "Transfer-Encoding");
    if (to_lower(it->second) != "chunked")
      return Refusal{501, Error{ErrorCode::unsupported, "only 'chunked' is supported", "Transfer-Encoding"}, true};
  }
  if (const auto it = request.headers.find("expect"); it != request.headers.end() && message.version() == 11) {
    if (to_lower(it->second) != "100-continue")
      return Refusal{417, Error{ErrorCode::unsupported, "only '100-continue' is supported", "Expect"}, true};
    head.expects_continue = true;
  }
  Result<Target> target = parse_target(view(message.target()));
  if (!target) return Refusal{400, std::move(target).error()};
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  head.segments = std::move(target->segments);
  head.method = known_method(message.method());
  if (head.method) request.method = *head.method;
  return std::nullopt;
}

// --- body ---

struct Piece {
  std::size_t size = 0;  // 0: the body is complete, or ...
  error_code error;
};

// Some bytes of the body, at most `room`; the caller has set the deadline.
asio::awaitable<Piece> read_piece(Connection& connection, Parser& parser, char* data, std::size_t room) {
  Piece out;
  boost::beast::flat_buffer& buffer = connection.buffer();
  while (!parser.is_done()) {
    if (buffer.size() > 0) {
      auto& body = parser.get().body();
      body.data = data;
      body.size = room;
      error_code error;
      const std::size_t used = parser.put(buffer.data(), error);
      buffer.consume(used);
      out.size = room - body.size;
      if (out.size > 0) break;
      if (error && error != http::error::need_more && error != http::error::need_buffer) {
        out.error = error;
        break;
      }
      if (!error) continue;
    }
    out.error = co_await connection.read_more(memory_piece_bytes);
    if (out.error) break;
  }
  co_return out;
}

// Reads and forgets what is left of a body that nobody wants.
asio::awaitable<bool> drain(Connection& connection, Parser& parser) {
  std::array<char, 4096> bytes;
  std::size_t total = 0;
  connection.set_deadline_in(connection.context().options.body_idle_timeout_ms);
  while (!parser.is_done()) {
    const Piece piece = co_await read_piece(connection, parser, bytes.data(), bytes.size());
    total += piece.size;
    if (piece.error || total > drain_limit_bytes) co_return false;
  }
  connection.clear_deadline();
  co_return true;
}

bool is_drainable(const Parser& parser, bool expects_continue) {
  if (parser.is_done()) return true;
  const auto length = parser.content_length();
  return !expects_continue && length && *length <= drain_limit_bytes;
}

std::optional<Refusal> check_body(const Parser& parser, const RouteOptions& options) {
  const bool has_body = !parser.is_done();
  const auto length = parser.content_length();
  if (!has_body) return std::nullopt;
  if (options.body == BodyKind::none) {
    if (length && *length <= drain_limit_bytes)
      return Refusal{400, Error{ErrorCode::invalid_argument, "this request takes no body", "body"}};
    return Refusal{413, Error{ErrorCode::too_large, "this request takes no body (limit: 0 bytes)", "body"}, true};
  }
  if (options.max_body_bytes <= 0) {
    if (!length)
      return Refusal{411, Error{ErrorCode::invalid_argument, "is needed for this request", "Content-Length"}, true};
    return std::nullopt;
  }
  if (length && *length > static_cast<std::uint64_t>(options.max_body_bytes))
    return Refusal{
        413,
        Error{ErrorCode::too_large,
              fmt::format("the body has {} bytes, the limit is {} bytes", *length, options.max_body_bytes), "body"}};
  return std::nullopt;
}

Refusal storage_refusal(const Error& error) {
  log::error("cannot store a request body: {}", error.text());
  const bool full = error.code == ErrorCode::exhausted;
  return {full ? 507 : 500,
          Error{full ? ErrorCode::exhausted : ErrorCode::internal,
                full ? "the server could not store the body: its disk is full" : "the server could not store the body",
                {},
                "see the server's log"},
          true};
}

struct BodyRead {
  bool gone = false;  // the client is
  std::optional<Refusal> refusal;
};

BodyRead body_failed(Connection& connection, const error_code& error, std::int64_t limit) {
  BodyRead out;
  if (connection.timed_out())
    out.refusal = Refusal{408, Error{ErrorCode::unavailable, "the body arrived too slowly", "body"}, true};
  else if (error == http::error::body_limit)
    out.refusal = Refusal{
        413, Error{ErrorCode::too_large, fmt::format("the body is larger than the limit of {} bytes", limit), "body"},
        true};
  else if (error.category() == http::make_error_code(http::error::bad_chunk).category() ||
           error == asio::error::no_buffer_space)
    out.refusal = Refusal{
        400, Error{ErrorCode::invalid_argument, "the body is not valid HTTP: " + error.message(), "body"}, true};
  else
    out.gone = true;
  return out;
}

asio::awaitable<BodyRead> read_body(Connection& connection, Parser& parser, const RouteOptions& options, Head& head,
                                    SpoolFile& spool) {
  const ServerOptions& server = connection.context().options;
  Request& request = head.request;
  BodyRead out;
  if (head.expects_continue && connection.buffer().size() == 0) {
    const bool written = co_await connection.write("HTTP/1.1 100 Continue\r\n\r\n", std::string_view());
    if (!written) {
      out.gone = true;
      co_return out;
    }
  }
  if (options.max_body_bytes > 0) parser.body_limit(static_cast<std::uint64_t>(options.max_body_bytes));
  const bool to_file = options.body == BodyKind::file;
  std::size_t room = to_file ? file_piece_bytes : memory_piece_bytes;
  if (const auto length = parser.content_length()) room = std::min<std::uint64_t>(room, *length);
  connection.buffer().reserve(std::min(room, memory_piece_bytes));

  std::string piece(room, '\0');
  std::size_t filled = 0;
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const auto allowance =
        std::chrono::milliseconds(server.body_idle_timeout_ms + request.body_size * 1000 / slowest_body_bytes_per_s);
    const auto idle = std::chrono::milliseconds(server.body_idle_timeout_ms);
    connection.set_deadline(std::min(Clock::now() + idle, begin + allowance));
    const Piece got = co_await read_piece(connection, parser, piece.data() + filled, piece.size() - filled);
    connection.clear_deadline();
    if (got.error) co_return body_failed(connection, got.error, options.max_body_bytes);
    filled += got.size;
    request.body_size += static_cast<std::int64_t>(got.size);
    const bool complete = parser.is_done();
    if (!to_file) {
      request.body.append(piece, 0, filled);
      filled = 0;
    } else if (filled == piece.size() || complete) {
      Result<void> written;
      std::function<void()> work = [&] { written = spool.write(std::string_view(piece).substr(0, filled)); };
      co_await connection.on_worker(std::move(work));
      if (!written) {
        out.refusal = storage_refusal(written.error());
        co_return out;
      }
      filled = 0;
    }
    if (complete) co_return out;
  }
}

// --- one request ---

asio::awaitable<bool> answer(Connection& connection, Parser& parser, Response response, Exchange exchange) {
  const bool sent = co_await send_response(connection, std::move(response), exchange);
  if (!sent || !exchange.keep_alive) co_return false;
  const bool drained = co_await drain(connection, parser);
  co_return drained;
}

asio::awaitable<bool> refuse(Connection& connection, Parser& parser, Refusal refusal, Exchange exchange) {
  if (refusal.close) exchange.keep_alive = false;
  Response response = own_response(connection.context(), refusal.status, std::move(refusal.error));
  const bool again = co_await answer(connection, parser, std::move(response), exchange);
  co_return again;
}

Response unknown_route(const ServerContext& context, const Head& head, const Router::Match& match) {
  if (match.allowed.empty())
    return own_response(context, 404, Error{ErrorCode::not_found, "there is nothing at this path", head.request.path});
  std::vector<std::string> names;
  for (const Method method : match.allowed) names.emplace_back(to_string(method));
  Response response = own_response(context, 405,
                                   Error{ErrorCode::unsupported, "this method is not allowed here", head.request.path,
                                         "allowed: " + join(names, ", ")});
  response.headers.emplace_back("Allow", join(names, ", "));
  return response;
}

// Guards and handlers are other people's code: whatever they throw ends here.
template <class Function>
void contained(const ServerContext& context, const Request& request, std::optional<Response>& response,
               Function function) {
  std::string reason = "unknown exception";
  try {
    function();
    return;
  } catch (const std::exception& error) {
    reason = error.what();
  } catch (...) {
  }
  log::error("{} {} failed: {}", to_string(request.method), request.path, reason);
  response = own_response(context, 500,
                          Error{ErrorCode::internal, "the server failed on this request", {}, "see the server's log"});
}

asio::awaitable<bool> serve_request(Connection& connection, const Router& router, Parser& parser) {
  ServerContext& context = connection.context();
  Head head;
  std::optional<Refusal> refusal = take_head(parser, head);
  head.request.remote = connection.remote();
  Exchange exchange;
  exchange.head_only = head.method == Method::head;
  exchange.http_1_0 = parser.get().version() == 10;
  // What is left of the body is read after the response, if that is worth it.
  exchange.keep_alive = parser.keep_alive() && !context.stopping && is_drainable(parser, head.expects_continue);
  if (refusal) {
    const bool again = co_await refuse(connection, parser, std::move(*refusal), exchange);
    co_return again;
  }

  Router::Match match = router.match(head.method, head.segments);
  if (match.route == nullptr) {
    Response response = unknown_route(context, head, match);
    const bool again = co_await answer(connection, parser, std::move(response), exchange);
    co_return again;
  }
  const Route& route = *match.route;
  Request& request = head.request;
  request.path_params = std::move(match.path_params);

  const bool has_body = !parser.is_done();
  const bool makes_file = route.options.body == BodyKind::file;
  std::optional<Response> response;
  std::optional<Refusal> storage;
  SpoolFile spool;
  const auto run_handler = [&] { response = route.handler(request); };
  std::function<void()> before_body = [&] {
    contained(context, request, response, [&] {
      response = route.guard(request);
      if (response) return;
      refusal = check_body(parser, route.options);
      if (refusal) return;
      if (makes_file) {
        Result<SpoolFile> created = SpoolFile::create(context.options.spool_directory);
        if (created) {
          spool = std::move(*created);
          request.body_file = spool.path();
        } else {
          refusal = storage_refusal(created.error());
        }
      }
      if (!has_body && !refusal) run_handler();
    });
    if (!has_body || response) spool = SpoolFile();
  };
  co_await connection.on_worker(std::move(before_body));
  if (refusal) {
    const bool again = co_await refuse(connection, parser, std::move(*refusal), exchange);
    co_return again;
  }
  if (!response) {
    BodyRead body = co_await read_body(connection, parser, route.options, head, spool);
    if (body.gone) {
      connection.close();
      co_return false;
    }
    if (body.refusal) {
      const bool again = co_await refuse(connection, parser, std::move(*body.refusal), exchange);
      co_return again;
    }
    exchange.keep_alive = parser.keep_alive();
    std::function<void()> after_body = [&] {
      contained(context, request, response, run_handler);
      spool = SpoolFile();
    };
    co_await connection.on_worker(std::move(after_body));
  }
  if (context.stopping) exchange.keep_alive = false;
  const bool again = co_await answer(connection, parser, std::move(*response), exchange);
  co_return again;
}

}  // namespace

asio::awaitable<void> serve(std::shared_ptr<Connection> connection, const Router& router) {
  bool first = true;
  while (!connection->closed() && !connection->context().stopping) {
    connection->phase = Connection::Phase::between_requests;
    Parser parser;
    parser.header_limit(static_cast<std::uint32_t>(connection->context().options.max_header_bytes));
    parser.body_limit(boost::none);  // the route decides, once it is known
    HeadRead head = co_await read_head(*connection, parser, first);
    first = false;
    if (!head.complete && !head.refusal) break;
    connection->phase = Connection::Phase::handling;
    bool again = false;
    if (head.refusal) {
      Exchange exchange;
      exchange.keep_alive = false;
      again = co_await refuse(*connection, parser, std::move(*head.refusal), exchange);
    } else {
      again = co_await serve_request(*connection, router, parser);
    }
    if (!again) {
      co_await connection->linger();
      co_return;
    }
    if (connection->buffer().size() == 0) connection->buffer().shrink_to_fit();
  }
  connection->close();
}

asio::awaitable<void> turn_away(std::shared_ptr<Connection> connection) {
  connection->phase = Connection::Phase::lingering;
  Exchange exchange;
  exchange.keep_alive = false;
  Response response = own_response(connection->context(), 503,
                                   Error{ErrorCode::unavailable,
                                         fmt::format("the server has reached its limit of {} connections",
                                                     connection->context().options.max_connections),
                                         {},
                                         "try again later"});
  response.headers.emplace_back("Retry-After", "1");
  const bool sent = co_await send_response(*connection, std::move(response), exchange);
  if (sent) co_await connection->linger();
  connection->close();
}

}  // namespace orbit::net
