#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "orbit/base/text.hpp"
#include "orbit/net/http.hpp"
#include "orbit/net/response_head.hpp"

namespace orbit::net {
namespace {

namespace http = boost::beast::http;
using Parser = http::response_parser<http::buffer_body>;
using Clock = std::chrono::steady_clock;
using Sink = std::function<bool(std::string_view)>;

constexpr std::size_t max_head_bytes = 64 * 1024;
constexpr std::size_t max_body_bytes = 64 * 1024 * 1024;  // of a response held in memory
constexpr std::size_t piece_bytes = 64 * 1024;
constexpr std::int64_t stream_idle_ms = 60'000;

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

bool is_idempotent(Method method) {
  return method != Method::post && method != Method::patch;
}

struct FileHandle {
  int fd = -1;
  FileHandle() = default;
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  ~FileHandle() { close(); }
  void close() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

struct Address {
  std::string host;
  std::string port;
  std::string authority;  // as in the Host header
};

Failure bad_url(const std::string& url, std::string message) {
  return fail(ErrorCode::invalid_argument, std::move(message), to_valid_utf8(url), "for example http://127.0.0.1:7070");
}

Result<Address> parse_url(const std::string& url) {
  static constexpr std::string_view scheme = "http://";
  const std::string lower = to_lower(url);
  if (lower.starts_with("https://"))
    return fail(ErrorCode::unsupported, "https is not supported by this version", to_valid_utf8(url),
                "use an http:// address");
  if (!lower.starts_with(scheme)) return bad_url(url, "does not begin with http://");
  std::string_view rest = std::string_view(url).substr(scheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find_first_of("/?#") != rest.npos) return bad_url(url, "has a path; only the server's address is wanted");
  if (rest.find('@') != rest.npos) return bad_url(url, "has a user name; tokens are given by other means");
  Address out;
  out.port = "80";
  std::string_view port;
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == rest.npos) return bad_url(url, "has an unfinished IPv6 address");
    out.host = rest.substr(1, end - 1);
    port = rest.substr(end + 1);
  } else {
    const std::size_t colon = rest.find(':');
    out.host = rest.substr(0, colon);
    if (colon != rest.npos) port = rest.substr(colon);
  }
  if (out.host.empty() ||
      out.host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:") != out.host.npos)
    return bad_url(url, "has no valid host name");
  if (!port.empty()) {
    out.port = port.substr(1);
    const bool digits =
        !out.port.empty() && out.port.size() <= 5 && out.port.find_first_not_of("0123456789") == out.port.npos;
    if (port.front() != ':' || !digits || std::stoi(out.port) < 1 || std::stoi(out.port) > 65535)
      return bad_url(url, "has no valid port");
  }
  out.authority = rest;
  return out;
}

// What is sent as body.
struct Outgoing {
  std::string head;
  std::string_view body;
  FileHandle file;  // instead of body
  std::int64_t file_size = 0;
  std::function<void(std::int64_t)> progress;
};

struct Failed {
  Error error;
  bool nothing_received = false;  // and the connection is closed: it may have been so before the request
};

class Client final : public HttpClient {
 public:
  Client(Address address, std::int64_t timeout_ms) : address_(std::move(address)), timeout_ms_(timeout_ms) {}

  Result<void> open() {
    if (socket_.fd >= 0) {
      // Readable while nothing was asked: the server has closed it, or does not speak HTTP.
      pollfd state{socket_.fd, POLLIN, 0};
      if (::poll(&state, 1, 0) == 0) return {};
      close();
    }
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int error = ::getaddrinfo(address_.host.c_str(), address_.port.c_str(), &hints, &found); error != 0)
      return unreachable(::gai_strerror(error));
    std::string reason = "no address";
    for (const addrinfo* at = found; at != nullptr && socket_.fd < 0; at = at->ai_next) reason = try_open(*at);
    ::freeaddrinfo(found);
    if (socket_.fd < 0) return unreachable(reason);
    used_ = false;
    return {};
  }

  Result<ClientResponse> request(Method method, const std::string& target, const Headers& headers,
                                 std::string_view body) override {
    Outgoing out;
    out.body = body;
    return perform(method, target, headers, out, nullptr);
  }

  Result<ClientResponse> upload(Method method, const std::string& target, const Headers& headers,
                                const std::filesystem::path& file,
                                const std::function<void(std::int64_t)>& progress) override {
    Outgoing out;
    out.file.fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (out.file.fd < 0) return fail_errno(errno, "cannot open", file.string());
    struct stat info{};
    if (::fstat(out.file.fd, &info) != 0) return fail_errno(errno, "cannot read", file.string());
    if (!S_ISREG(info.st_mode)) return fail(ErrorCode::invalid_argument, "is not a regular file", file.string());
    out.file_size = info.st_size;
    out.progress = progress;
    return perform(method, target, headers, out, nullptr);
  }

  Result<ClientResponse> stream(Method method, const std::string& target, const Headers& headers,
                                const Sink& sink) override {
    Outgoing out;
    return perform(method, target, headers, out, sink);
  }

 private:
  Failure unreachable(std::string_view reason) const {
    return fail(ErrorCode::unavailable, fmt::format("cannot reach the server: {}", reason),
                "http://" + address_.authority, "is the server running, and is this its address?");
  }
  Error lost(std::string_view what) const {
    return Error{ErrorCode::unavailable, std::string(what), "http://" + address_.authority};
  }
  Error timed_out(std::string_view waiting_for, std::int64_t ms) const {
    return lost(fmt::format("no {} within {} ms", waiting_for, ms));
  }

  void close() { socket_.close(); }

  // Returns why not; empty when socket_ is connected.
  std::string try_open(const addrinfo& at) {
    socket_.fd = ::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, at.ai_protocol);
    if (socket_.fd < 0) return std::strerror(errno);
    const int on = 1;
    ::setsockopt(socket_.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    int error = 0;
    if (::connect(socket_.fd, at.ai_addr, at.ai_addrlen) != 0) error = errno;
    if (error == EINPROGRESS) {
      if (!wait_for(POLLOUT, timeout_ms_)) {
        close();
        return fmt::format("no answer within {} ms", timeout_ms_);
      }
      socklen_t size = sizeof error;
      if (::getsockopt(socket_.fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    }
    if (error == 0) return {};
    close();
    return std::strerror(error);
  }

  // The events that came; 0 when the time is up.
  short wait_for(short events, std::int64_t ms) const {
    const auto end = Clock::now() + std::chrono::milliseconds(ms);
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count() + 1;
      pollfd state{socket_.fd, events, 0};
      const int ready = ::poll(&state, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
      if (ready > 0) return state.revents;
      if (ready < 0 && errno != EINTR) return POLLERR;
      if (Clock::now() >= end) return 0;
    }
  }

  Result<std::string> make_head(Method method, const std::string& target, const Headers& headers,
                                const Outgoing& out) const {
    const bool valid_target = target.starts_with('/') && std::all_of(target.begin(), target.end(), [](char c) {
                                return static_cast<unsigned char>(c) > 0x20 && c != 0x7f && c != '#';
                              });
    if (!valid_target) return fail(ErrorCode::invalid_argument, "is not a request target", to_valid_utf8(target));
    std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", to_string(method), target, address_.authority);
    for (const auto& [name, value] : headers) {
      if (!is_valid_header(name, value))
        return fail(ErrorCode::invalid_argument, "is not a header that can be sent", to_valid_utf8(name));
      head.append(name).append(": ").append(value).append("\r\n");
    }
    const bool has_body = out.file.fd >= 0 || !out.body.empty();
    if (has_body || method == Method::post || method == Method::put || method == Method::patch)
      head += fmt::format("Content-Length: {}\r\n",
                          out.file.fd >= 0 ? out.file_size : static_cast<std::int64_t>(out.body.size()));
    return head + "\r\n";
  }

  Result<ClientResponse> perform(Method method, const std::string& target, const Headers& headers, Outgoing& out,
                                 const Sink& sink) {
    ORBIT_TRY_ASSIGN(out.head, make_head(method, target, headers, out));
    for (bool retried = false;; retried = true) {
      ORBIT_TRY(open());
      const bool reused = std::exchange(used_, true);
      tl::expected<ClientResponse, Failed> result = once(method, out, sink);
      if (result) return std::move(*result);
      close();
      if (!(result.error().nothing_received && reused && !retried && is_idempotent(method)))
        return fail(std::move(result.error().error));
    }
  }

  tl::expected<ClientResponse, Failed> once(Method method, const Outgoing& out, const Sink& sink) {
    bool keep_alive = true;
    auto sent = out.file.fd >= 0 ? send_file(out) : send_bytes(out.head, out.body);
    if (!sent) return tl::unexpected(std::move(sent).error());
    if (!*sent) keep_alive = false;
    auto response = receive(method, sink, keep_alive);
    if (!response || !keep_alive) close();
    return response;
  }

  // False: the server has answered, or closed, before everything was sent.
  tl::expected<bool, Failed> send_bytes(std::string_view first, std::string_view second) {
    while (!first.empty() || !second.empty()) {
      std::array<iovec, 2> parts{iovec{const_cast<char*>(first.data()), first.size()},
                                 iovec{const_cast<char*>(second.data()), second.size()}};
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = parts.size();
      const ssize_t size = ::sendmsg(socket_.fd, &message, MSG_NOSIGNAL);
      if (size >= 0) {
        const std::size_t of_first = std::min(static_cast<std::size_t>(size), first.size());
        first.remove_prefix(of_first);
        second.remove_prefix(static_cast<std::size_t>(size) - of_first);
        continue;
      }
      if (errno == EINTR) continue;
      // A refusal may lie in the receive buffer.
      if (errno == EPIPE || errno == ECONNRESET) return false;
      if (errno != EAGAIN) return tl::unexpected(Failed{lost(std::strerror(errno)), false});
      const short ready = wait_for(POLLOUT | POLLIN, timeout_ms_);
      if (ready == 0) return tl::unexpected(Failed{timed_out("progress in sending", timeout_ms_), false});
      if ((ready & POLLIN) != 0) return false;
    }
    return true;
  }

  tl::expected<bool, Failed> send_file(const Outgoing& out) {
    std::string piece;
    std::int64_t sent = 0;
    std::string_view head = out.head;
    do {
      piece.resize(static_cast<std::size_t>(std::min<std::int64_t>(out.file_size - sent, 4 * piece_bytes)));
      std::size_t filled = 0;
      while (filled < piece.size()) {
        const ssize_t size = ::pread(out.file.fd, piece.data() + filled, piece.size() - filled,
                                     sent + static_cast<std::int64_t>(filled));
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return tl::unexpected(Failed{fail_errno(errno, "cannot read the file").value(), false});
        if (size == 0)
          return tl::unexpected(Failed{Error{ErrorCode::io, "the file became shorter while it was sent"}, false});
        filled += static_cast<std::size_t>(size);
      }
      auto done = send_bytes(head, piece);
      if (!done || !*done) return done;
      head = {};
      sent += static_cast<std::int64_t>(piece.size());
      if (out.progress) out.progress(sent);
      pollfd state{socket_.fd, POLLIN, 0};
      if (sent < out.file_size && ::poll(&state, 1, 0) > 0) return false;
    } while (sent < out.file_size);
    return true;
  }

  // Bytes received, 0 at the end of the connection.
  tl::expected<std::size_t, Failed> receive_some(std::string& buffer, std::int64_t timeout_ms) {
    for (;;) {
      const std::size_t size = buffer.size();
      buffer.resize(size + piece_bytes);
      const ssize_t received = ::recv(socket_.fd, buffer.data() + size, piece_bytes, 0);
      const int error = errno;
      buffer.resize(size + static_cast<std::size_t>(std::max<ssize_t>(received, 0)));
      if (received >= 0) return static_cast<std::size_t>(received);
      if (error == EINTR) continue;
      if (error == ECONNRESET || error == EPIPE) return 0;
      if (error != EAGAIN) return tl::unexpected(Failed{lost(std::strerror(error)), false});
      if (wait_for(POLLIN, timeout_ms) == 0) return tl::unexpected(Failed{timed_out("answer", timeout_ms), false});
    }
  }

  Failed not_http(const std::string& why) const {
    return Failed{Error{ErrorCode::unavailable, "the server's answer is not valid HTTP: " + why,
                        "http://" + address_.authority, "is this the address of an orbit server?"},
                  false};
  }

  // Reads until the final head is complete.
  tl::expected<void, Failed> receive_head(std::optional<Parser>& parser, Method method, std::string& buffer) {
    const auto begin = [&] {
      parser.emplace();
      parser->header_limit(max_head_bytes);
      parser->body_limit(boost::none);
      parser->skip(method == Method::head);
    };
    begin();
    std::size_t consumed = 0;
    const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms_);
    for (;;) {
      if (!buffer.empty()) {
        boost::system::error_code error;
        const std::size_t used = parser->put(boost::asio::buffer(buffer), error);
        buffer.erase(0, used);
        consumed += used;
        if (error && error != http::error::need_more) return tl::unexpected(not_http(error.message()));
        if (consumed > max_head_bytes) return tl::unexpected(not_http("its head is too large"));
        if (parser->is_header_done()) {
          if (parser->get().result_int() / 100 != 1) return {};
          begin();  // 1xx: the answer is still to come
          continue;
        }
        if (!error) continue;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
      if (left <= 0) return tl::unexpected(Failed{timed_out("answer", timeout_ms_), false});
      auto received = receive_some(buffer, left);
      if (!received) return tl::unexpected(std::move(received).error());
      if (*received == 0) {
        const bool nothing = consumed == 0 && buffer.empty();
        return tl::unexpected(Failed{lost("the server closed the connection without an answer"), nothing});
      }
    }
  }

  tl::expected<ClientResponse, Failed> receive(Method method, const Sink& sink, bool& keep_alive) {
    std::string buffer;
    std::optional<Parser> parser;
    if (auto head = receive_head(parser, method, buffer); !head) return tl::unexpected(std::move(head).error());

    ClientResponse response;
    response.status = static_cast<int>(parser->get().result_int());
    for (const auto& field : parser->get()) {
      const auto [it, is_new] = response.headers.emplace(to_lower(view(field.name_string())), view(field.value()));
      if (!is_new) it->second.append(", ").append(view(field.value()));
    }
    const bool to_sink = sink && response.status / 100 == 2;
    const std::int64_t idle_ms = to_sink ? std::min(timeout_ms_, stream_idle_ms) : timeout_ms_;
    std::string piece(piece_bytes, '\0');
    while (!parser->is_done()) {
      if (!buffer.empty()) {
        auto& body = parser->get().body();
        body.data = piece.data();
        body.size = piece.size();
        boost::system::error_code error;
        const std::size_t used = parser->put(boost::asio::buffer(buffer), error);
        buffer.erase(0, used);
        const std::string_view got(piece.data(), piece.size() - body.size);
        if (!got.empty()) {
          if (to_sink && !sink(got)) {
            keep_alive = false;
            return response;
          }
          if (!to_sink) response.body += got;
          if (response.body.size() > max_body_bytes)
            return tl::unexpected(Failed{
                Error{ErrorCode::too_large, fmt::format("the answer is larger than {} bytes", max_body_bytes)}, false});
        }
        if (error && error != http::error::need_more && error != http::error::need_buffer)
          return tl::unexpected(not_http(error.message()));
        if (!error || error == http::error::need_buffer) continue;
      }
      auto received = receive_some(buffer, idle_ms);
      if (!received) return tl::unexpected(std::move(received).error());
      if (*received > 0) continue;
      boost::system::error_code error;
      parser->put_eof(error);
      if (error)
        return tl::unexpected(Failed{lost("the server cut the connection in the middle of its answer"), false});
    }
    keep_alive = keep_alive && parser->keep_alive() && buffer.empty();
    return response;
  }

  const Address address_;
  const std::int64_t timeout_ms_;
  FileHandle socket_;
  bool used_ = false;
};

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::connect(const std::string& url, std::int64_t timeout_ms) {
  if (timeout_ms <= 0) return fail(ErrorCode::invalid_argument, "must be greater than 0", "timeout");
  ORBIT_TRY_ASSIGN(Address address, parse_url(url));
  auto client = std::make_unique<Client>(std::move(address), timeout_ms);
  ORBIT_TRY(client->open());
  return client;
}

}  // namespace orbit::net
