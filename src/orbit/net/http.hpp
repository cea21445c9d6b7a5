// HTTP as values. No domain, no Beast in this header: few files pay for the heavy ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orbit/base/result.hpp"

namespace orbit::net {

enum class Method { get, head, post, put, patch, delete_ };
std::string_view to_string(Method method);

struct Request {
  Method method = Method::get;
  std::string path;  // decoded once, by the one decoder; never contains "..", "//", NUL or a backslash;
                     // an encoded slash stays %2F here (in path_params it is a slash, checked the same way)
  std::map<std::string, std::string> path_params;  // {name} segments of the route
  std::multimap<std::string, std::string> query;   // decoded
  std::map<std::string, std::string> headers;      // lower-case names
  std::string body;                                // routes with BodyKind::memory
  std::filesystem::path
      body_file;  // routes with BodyKind::file: a temporary file; removed after the handler unless moved away
  std::int64_t body_size = 0;
  std::string remote;  // address:port

  std::optional<std::string> query_value(const std::string& key) const {
    const auto it = query.find(key);
    return it == query.end() ? std::nullopt : std::optional(it->second);
  }
};

// A body produced piece by piece, for SSE and downloads. Called on the worker threads, never two calls at once.
class BodySource {
 public:
  virtual ~BodySource() = default;
  struct Piece {
    std::string bytes;
    bool end = false;
  };
  // Bytes available now (may be empty). With nothing to say, arranges that `wake` is called once there is more (from
  // any thread; calling it spuriously or after the source is gone is allowed) and returns empty. The server asks again
  // on wake or after 15 s, so that an SSE source can send a comment line as keep-alive.
  virtual Piece next(std::size_t max_bytes, std::function<void()> wake) = 0;
};

struct Response {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;  // Content-Type is set from content_type
  std::string content_type = "application/json";
  std::string body;
  std::shared_ptr<BodySource> source;         // instead of body: chunked
  std::optional<std::filesystem::path> file;  // instead of body: sent from disk, Content-Length known
  std::int64_t file_offset = 0;
  std::int64_t file_length = -1;  // -1: to the end
};

enum class BodyKind { none, memory, file };

struct RouteOptions {
  BodyKind body = BodyKind::none;
  std::int64_t max_body_bytes =
      1 << 20;  // larger: 413 naming the limit, before reading the body where Content-Length tells
                // BodyKind::file only: 0 or less is no limit, and then 411 without Content-Length
};

using Handler = std::function<Response(const Request&)>;  // runs on a worker thread; may block

// Runs before the body is read and before the handler: returns the refusal, or nothing to go on. May add headers for
// the handler (an authenticated identity) to the request.
using Guard = std::function<std::optional<Response>(Request&)>;

struct Route {
  Method method = Method::get;
  std::string pattern;  // "/api/v1/runs/{id}"; a last "{name...}" takes the rest of the path
  RouteOptions options;
  Guard guard;
  Handler handler;
};

struct ServerOptions {
  std::string address = "127.0.0.1";      // an IP address or "localhost"
  std::uint16_t port = 0;                 // 0: any free one
  std::filesystem::path spool_directory;  // for BodyKind::file; must exist; what a killed server left there is removed
  std::size_t worker_threads = 4;
  std::size_t max_connections = 10'000;
  std::int64_t header_timeout_ms = 10'000;  // slowloris: a whole head within this, else 408 and close
  std::int64_t body_idle_timeout_ms = 30'000;
  std::int64_t idle_timeout_ms = 75'000;  // between requests of a kept-alive connection
  std::int64_t stream_ask_ms = 15'000;    // a BodySource that was not woken is asked again after this
  std::size_t max_header_bytes = 16 * 1024;
  // Makes the answer for errors found by the server itself (404, 405, 408, 413, 431, 400, 500 when a handler throws,
  // ...). Called from the io thread and from workers at once; must not block.
  std::function<Response(int status, const Error& error)> error_response;
};

// Listens from the constructor's return on. One write per small response, TCP_NODELAY, keep-alive, HEAD answered from
// GET routes.
class HttpServer {
 public:
  static Result<std::unique_ptr<HttpServer>> listen(ServerOptions options, std::vector<Route> routes);
  virtual ~HttpServer() = default;
  virtual std::uint16_t port() const = 0;
  // Stops accepting, ends streams, lets running handlers finish for at most grace_ms, closes. Idempotent; blocks.
  // Streams are cut without their last chunk: a client can tell the end from a cut. A handler that outlives the grace
  // still runs when this returns; only the destructor waits for it without limit, so destroy the server before what its
  // handlers use.
  virtual void stop(std::int64_t grace_ms) = 0;
};

struct ClientResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  // lower-case names
  std::string body;
};

// A blocking client for one server with one kept-alive connection. Not thread-safe. http:// only for now (TLS in a
// later part).
class HttpClient {
 public:
  // url: "http://host:port"; a path prefix is refused.
  static Result<std::unique_ptr<HttpClient>> connect(const std::string& url, std::int64_t timeout_ms = 30'000);
  virtual ~HttpClient() = default;
  using Headers = std::vector<std::pair<std::string, std::string>>;
  // `unavailable` when the server cannot be reached or cut the connection; an idempotent request (GET, HEAD, PUT,
  // DELETE) on a kept-alive connection that turned out closed is tried once more on a fresh one.
  virtual Result<ClientResponse> request(Method method, const std::string& target, const Headers& headers,
                                         std::string_view body) = 0;
  // Sends the file as the body; `progress` is told the bytes sent so far.
  virtual Result<ClientResponse> upload(Method method, const std::string& target, const Headers& headers,
                                        const std::filesystem::path& file,
                                        const std::function<void(std::int64_t)>& progress) = 0;
  // Hands the body to `sink` piece by piece as it arrives (status 2xx only; otherwise the body is in the response); the
  // sink returns false to stop. The idle time-out is timeout_ms, at most 60 s: servers send a keep-alive every 15 s.
  virtual Result<ClientResponse> stream(Method method, const std::string& target, const Headers& headers,
                                        const std::function<bool(std::string_view)>& sink) = 0;
};

// Percent-encodes everything but unreserved characters: for path segments and query values.
std::string url_encode(std::string_view text);

}  // namespace orbit::net
