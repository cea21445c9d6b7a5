#include "orbit/net/http_send.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <exception>

#include "orbit/base/log.hpp"
#include "orbit/net/response_head.hpp"

namespace orbit::net {
namespace {

constexpr std::size_t piece_bytes = 64 * 1024;
constexpr std::size_t file_piece_bytes = 256 * 1024;

struct OpenFile {
  int fd = -1;
  std::int64_t offset = 0;
  std::int64_t length = 0;

  OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }

  Result<void> open(const Response& response) {
    // O_NONBLOCK: a FIFO put in the file's place must not hold a worker.
    fd = ::open(response.file->c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return fail_errno(errno, "cannot open", response.file->string());
    struct stat info{};
    if (::fstat(fd, &info) != 0) return fail_errno(errno, "cannot read", response.file->string());
    if (!S_ISREG(info.st_mode)) return fail(ErrorCode::internal, "is not a regular file", response.file->string());
    offset = response.file_offset;
    length = response.file_length;
    if (offset < 0 || offset > info.st_size || length > info.st_size - offset)
      return fail(ErrorCode::internal, "does not have the bytes that were to be sent", response.file->string());
    if (length < 0) length = info.st_size - offset;
    return {};
  }

  // Fills `piece` with the next bytes.
  Result<void> read(std::string& piece) {
    piece.resize(std::min<std::size_t>(file_piece_bytes, static_cast<std::size_t>(length)));
    std::size_t filled = 0;
    while (filled < piece.size()) {
      const ssize_t size = ::pread(fd, piece.data() + filled, piece.size() - filled, offset);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return fail_errno(errno, "cannot read");
      if (size == 0) return fail(ErrorCode::io, "became shorter while it was sent");
      filled += static_cast<std::size_t>(size);
      offset += size;
    }
    length -= static_cast<std::int64_t>(filled);
    return {};
  }
};

asio::awaitable<bool> send_own(Connection& connection, int status, Error error, Exchange& exchange) {
  Response response = own_response(connection.context(), status, std::move(error));
  if (auto head = response_head(response, Framing{}); !head || response.source || response.file) {
    log::error("error_response made a response that cannot be sent");
    response = Response{};
    response.status = status;
    response.content_type = "text/plain";
  }
  const bool sent = co_await send_response(connection, std::move(response), exchange);
  co_return sent;
}

asio::awaitable<bool> send_file(Connection& connection, Response response, Exchange& exchange) {
  OpenFile file;
  Result<void> opened;
  std::string piece;
  std::function<void()> work = [&] {
    opened = file.open(response);
    if (opened && !exchange.head_only) opened = file.read(piece);
  };
  co_await connection.on_worker(std::move(work));
  if (!opened) {
    log::warning("cannot send a file: {}", opened.error().text());
    const bool missing = opened.error().code == ErrorCode::not_found;
    Error error{missing ? ErrorCode::not_found : ErrorCode::internal, "the file cannot be read"};
    const bool sent = co_await send_own(connection, missing ? 404 : 500, std::move(error), exchange);
    co_return sent;
  }
  Framing framing;
  framing.content_length = file.length + static_cast<std::int64_t>(piece.size());
  framing.keep_alive = exchange.keep_alive;
  framing.http_1_0 = exchange.http_1_0;
  const Result<std::string> head = response_head(response, framing);
  ORBIT_ASSERT(head.has_value());  // checked by send_response
  bool sent = co_await connection.write(*head, piece);
  while (sent && !exchange.head_only && file.length > 0) {
    Result<void> result;
    std::function<void()> next = [&] { result = file.read(piece); };
    co_await connection.on_worker(std::move(next));
    if (!result) {
      log::warning("{}: {}", response.file->string(), result.error().text());
      co_return false;
    }
    sent = co_await connection.write(piece, std::string_view());
  }
  co_return sent;
}

std::string chunk_head(std::size_t size) {
  return fmt::format("{:x}\r\n", size);
}

// The last reference to the source goes on a worker: its destructor may close files or wait for locks.
class SourceHolder {
 public:
  SourceHolder(Connection& connection, std::shared_ptr<BodySource> source)
      : context_(connection.context()), source_(std::move(source)) {}
  SourceHolder(const SourceHolder&) = delete;
  SourceHolder& operator=(const SourceHolder&) = delete;
  ~SourceHolder() {
    asio::post(context_.workers, [source = std::move(source_)]() mutable { source.reset(); });
  }
  BodySource& operator*() const { return *source_; }

 private:
  ServerContext& context_;
  std::shared_ptr<BodySource> source_;
};

asio::awaitable<bool> send_source(Connection& connection, std::string out, std::shared_ptr<BodySource> body,
                                  Exchange exchange) {
  const bool chunked = !exchange.http_1_0;
  const std::chrono::milliseconds ask_again(connection.context().options.stream_ask_ms);
  const SourceHolder source(connection, std::move(body));
  Waker waker(connection.context().io);
  connection.phase = Connection::Phase::streaming;
  connection.watch_client([&waker] { waker.wake(); });

  bool ended = false;
  while (!ended && !connection.closed()) {
    waker.forget();
    BodySource::Piece piece;
    bool failed = false;
    std::function<void()> work = [&] {
      try {
        piece = (*source).next(piece_bytes, waker.function());
      } catch (const std::exception& error) {
        log::error("a response's body failed: {}", error.what());
        failed = true;
      } catch (...) {
        log::error("a response's body failed");
        failed = true;
      }
    };
    co_await connection.on_worker(std::move(work));
    if (failed || connection.closed()) break;

    if (!piece.bytes.empty() && chunked)
      out.append(chunk_head(piece.bytes.size())).append(piece.bytes).append("\r\n");
    else
      out += piece.bytes;
    if (piece.end && chunked) out += "0\r\n\r\n";
    if (!out.empty()) {
      const bool written = co_await connection.write(out, std::string_view());
      if (!written) break;
    }
    out.clear();
    ended = piece.end;
    if (!ended && piece.bytes.empty()) co_await waker.wait(ask_again);
  }
  connection.unwatch_client();
  connection.phase = Connection::Phase::handling;
  // Not ended: cut, without the last chunk, so that nobody takes the part for the whole.
  if (!ended) connection.close();
  co_return ended;
}

}  // namespace

Response own_response(const ServerContext& context, int status, Error error) {
  if (context.options.error_response) {
    try {
      return context.options.error_response(status, error);
    } catch (const std::exception& thrown) {
      log::error("error_response failed: {}", thrown.what());
    } catch (...) {
      log::error("error_response failed");
    }
  }
  Response response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = error.text() + "\n";
  return response;
}

asio::awaitable<bool> send_response(Connection& connection, Response response, Exchange& exchange) {
  const bool by_source = response.source != nullptr;
  Framing framing;
  // HTTP/1.0 knows no chunks: the end of the connection is the end of the body.
  if (asks_to_close(response) || (by_source && exchange.http_1_0)) exchange.keep_alive = false;
  framing.keep_alive = exchange.keep_alive;
  framing.http_1_0 = exchange.http_1_0;
  framing.chunked = by_source && !exchange.http_1_0;
  if (!by_source) framing.content_length = static_cast<std::int64_t>(response.body.size());

  Result<std::string> head = response_head(response, framing);
  if (!head) {
    log::error("a handler's response cannot be sent: {}", head.error().text());
    Error error{ErrorCode::internal, "the server could not answer this request", {}, "see the server's log"};
    const bool sent = co_await send_own(connection, 500, std::move(error), exchange);
    co_return sent;
  }
  const bool without_body = exchange.head_only || !status_has_body(response.status);
  if (!status_has_body(response.status)) response.file.reset();
  bool sent = false;
  if (response.file) {
    sent = co_await send_file(connection, std::move(response), exchange);
  } else if (by_source && !without_body) {
    sent = co_await send_source(connection, std::move(*head), std::move(response.source), exchange);
  } else {
    sent = co_await connection.write(*head, without_body ? std::string_view() : std::string_view(response.body));
  }
  co_return sent;
}

}  // namespace orbit::net
