#include "net_test_support.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "orbit/net/response_head.hpp"

namespace orbit::net::test {
namespace {

void cap_reads(int fd) {
  const timeval cap{20, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &cap, sizeof cap);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "orbit-net-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}
TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}
std::vector<std::string> TempDir::names() const {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) out.push_back(entry.path().filename().string());
  return out;
}

bool eventually(const std::function<bool()>& condition) {
  const auto cap = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < cap) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

RawClient::RawClient(std::uint16_t port, int receive_buffer_bytes) {
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_buffer_bytes > 0)
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  cap_reads(fd_);
  const sockaddr_in address = loopback(port);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) close();
}
RawClient::~RawClient() {
  close();
}

void RawClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}
void RawClient::shutdown_write() {
  ::shutdown(fd_, SHUT_WR);
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

std::string RawClient::receive_some() {
  std::string bytes(64 * 1024, '\0');
  const ssize_t size = ::recv(fd_, bytes.data(), bytes.size(), 0);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return bytes;
}

bool RawClient::more() {
  const std::string bytes = receive_some();
  pending_ += bytes;
  return !bytes.empty();
}

std::string RawClient::read_until(std::string_view text) {
  std::size_t found = pending_.find(text);
  while (found == std::string::npos && more()) found = pending_.find(text);
  const std::size_t size = found == std::string::npos ? pending_.size() : found + text.size();
  std::string out = pending_.substr(0, size);
  pending_.erase(0, size);
  return out;
}

std::string RawClient::read_to_end() {
  while (more()) {
  }
  return std::exchange(pending_, std::string());
}

RawResponse RawClient::response(bool body_follows) {
  RawResponse out;
  const std::string head = read_until("\r\n\r\n");
  if (!head.starts_with("HTTP/1.1 ") || !head.ends_with("\r\n\r\n")) {
    out.body = head;
    return out;
  }
  out.status = std::atoi(head.c_str() + 9);
  std::size_t at = head.find("\r\n") + 2;
  while (at + 2 < head.size()) {
    const std::size_t end = head.find("\r\n", at);
    const std::size_t colon = head.find(": ", at);
    out.headers[to_lower(head.substr(at, colon - at))] = head.substr(colon + 2, end - colon - 2);
    at = end + 2;
  }
  if (!body_follows || out.status == 204 || out.status == 304 || out.status / 100 == 1) {
    out.complete = true;
  } else if (out.headers.contains("content-length")) {
    const std::size_t size = std::stoull(out.headers["content-length"]);
    while (pending_.size() < size && more()) {
    }
    out.body = pending_.substr(0, size);
    pending_.erase(0, out.body.size());
    out.complete = out.body.size() == size;
  } else if (out.headers.contains("transfer-encoding")) {
    for (;;) {
      const std::string line = read_until("\r\n");
      if (!line.ends_with("\r\n")) return out;
      const std::size_t size = std::stoull(line, nullptr, 16);
      while (pending_.size() < size + 2 && more()) {
      }
      if (pending_.size() < size + 2) return out;
      out.body += pending_.substr(0, size);
      pending_.erase(0, size + 2);
      if (size == 0) break;
    }
    out.complete = true;
  } else {
    out.body = read_to_end();
    out.complete = true;
  }
  return out;
}

RawServer::RawServer(Script script) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 16) != 0 || ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    std::abort();
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this, script = std::move(script)] {
    for (int number = 0;; ++number) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      cap_reads(fd);
      {
        const std::lock_guard lock(mutex_);
        ++accepted_;
      }
      script(fd, number);
      ::close(fd);
    }
  });
}

RawServer::~RawServer() {
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
}

int RawServer::accepted() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

std::string RawServer::read_head(int fd) {
  std::string out;
  char byte = 0;
  while (!out.ends_with("\r\n\r\n") && ::recv(fd, &byte, 1, 0) == 1) out += byte;
  return out;
}

void RawServer::write(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
}

void RawServer::wait_for_close(int fd) {
  char bytes[4096];
  while (::recv(fd, bytes, sizeof bytes, 0) > 0) {
  }
}

Guard anybody() {
  return [](Request&) { return std::optional<Response>(); };
}

Response text(std::string body, int status) {
  Response response;
  response.status = status;
  response.content_type = "text/plain";
  response.body = std::move(body);
  return response;
}

Route route(Method method, std::string pattern, Handler handler, RouteOptions options) {
  Route out;
  out.method = method;
  out.pattern = std::move(pattern);
  out.options = options;
  out.guard = anybody();
  out.handler = std::move(handler);
  return out;
}

std::unique_ptr<HttpServer> start(std::vector<Route> routes, ServerOptions options) {
  auto server = HttpServer::listen(std::move(options), std::move(routes));
  if (!server) {
    ADD_FAILURE() << server.error().text();
    std::abort();
  }
  return std::move(*server);
}

std::string get(std::string_view target) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

}  // namespace orbit::net::test
