#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <optional>
#include <set>
#include <thread>

#include "orbit/base/log.hpp"
#include "orbit/net/http_serve.hpp"
#include "orbit/net/spool_file.hpp"

namespace orbit::net {
namespace {

constexpr std::size_t max_turned_away = 64;  // told why; beyond that just closed
constexpr auto accept_pause = std::chrono::milliseconds(100);

std::string text_of(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return fmt::format("{}:{}", endpoint.address().is_v6() ? "[" + address + "]" : address, endpoint.port());
}

// Close-on-exec from the first moment on: a detached runner that inherited the socket would keep the port in use.
Result<int> open_listener(const tcp::endpoint& endpoint) {
  const std::string where = text_of(endpoint);
  const int fd = ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
  if (fd < 0) return fail_errno(errno, "cannot open a socket", where);
  const auto failed = [&](std::string_view what) {
    const int error = errno;
    ::close(fd);
    if (error == EADDRINUSE)
      return fail(ErrorCode::conflict, where + " is already in use", "listen",
                  "stop the other program or choose another port");
    return fail_errno(error, what, where);
  };
  const int on = 1;
  if (::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) return failed("cannot set up a socket");
  if (::bind(fd, endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0) return failed("cannot listen");
  if (::listen(fd, SOMAXCONN) != 0) return failed("cannot listen");
  return fd;
}

class Server final : public HttpServer {
 public:
  Server(ServerOptions options, Router router)
      : context_(options, options.worker_threads),
        router_(std::move(router)),
        acceptor_(context_.io),
        accept_timer_(context_.io),
        cut_timer_(context_.io),
        work_(context_.io.get_executor()) {}

  ~Server() override {
    stop(0);
    {
      std::unique_lock lock(mutex_);
      progress_.wait(lock, [this] { return connections_left_ == 0; });
    }
    context_.workers.join();
    work_.reset();
    if (thread_.joinable()) thread_.join();
  }

  Result<void> start(const tcp::endpoint& endpoint) {
    ORBIT_TRY_ASSIGN(const int fd, open_listener(endpoint));
    error_code error;
    acceptor_.assign(endpoint.protocol(), fd, error);
    if (error) {
      ::close(fd);
      return fail(ErrorCode::io, "cannot listen: " + error.message(), text_of(endpoint));
    }
    port_ = acceptor_.local_endpoint(error).port();
    if (error) return fail(ErrorCode::io, "cannot listen: " + error.message(), text_of(endpoint));
    asio::co_spawn(context_.io, accept_loop(), [](const std::exception_ptr& thrown) {
      if (thrown) log::error("the HTTP server stopped accepting connections");
    });
    thread_ = std::thread([this] { run(); });
    return {};
  }

  std::uint16_t port() const override { return port_; }

  void stop(std::int64_t grace_ms) override {
    if (!thread_.joinable()) return;
    asio::post(context_.io, [this, grace_ms] { begin_stop(grace_ms); });
    std::unique_lock lock(mutex_);
    progress_.wait(lock, [this] {
      return stopped_ && (connections_left_ == 0 || (cut_ && connections_left_ == in_workers_left_));
    });
    if (connections_left_ > 0)
      log::warning("{} requests were still being handled when the grace period ended", connections_left_);
  }

 private:
  void run() {
    for (;;) {
      try {
        context_.io.run();
        return;
      } catch (const std::exception& error) {
        log::error("HTTP server: {}", error.what());
      }
    }
  }

  asio::awaitable<void> accept_loop() {
    while (!context_.stopping) {
      const auto [error] = co_await acceptor_.async_wait(tcp::acceptor::wait_read, use_tuple);
      if (error || context_.stopping) co_return;
      if (!accept_pending()) {
        accept_timer_.expires_after(accept_pause);
        co_await accept_timer_.async_wait(use_tuple);
      }
    }
  }

  // Takes what waits. False: nothing can be taken now (out of descriptors or memory).
  bool accept_pending() {
    for (int i = 0; i < 64; ++i) {
      tcp::endpoint peer;
      auto size = static_cast<socklen_t>(peer.capacity());
      const int fd = ::accept4(acceptor_.native_handle(), peer.data(), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
        if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO || errno == EPERM) continue;
        if (!accept_failing_) log::error("cannot accept connections: {}", fail_errno(errno, "accept").value().message);
        accept_failing_ = true;
        return false;
      }
      accept_failing_ = false;
      peer.resize(size);
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      tcp::socket socket(context_.io);
      error_code error;
      socket.assign(peer.protocol(), fd, error);
      if (error)
        ::close(fd);
      else
        begin(std::move(socket), text_of(peer));
    }
    return true;
  }

  void begin(tcp::socket socket, std::string remote) {
    const bool full = connections_.size() - turned_away_ >= context_.options.max_connections;
    if (full && turned_away_ >= max_turned_away) return;  // closes
    auto connection = std::make_shared<Connection>(context_, std::move(socket), std::move(remote));
    connections_.insert(connection);
    if (full) ++turned_away_;
    auto life = full ? turn_away(connection) : serve(connection, router_);
    asio::co_spawn(context_.io, std::move(life), [this, connection, full](const std::exception_ptr& thrown) {
      if (thrown) log_thrown(thrown);
      connection->close();
      connections_.erase(connection);
      if (full) --turned_away_;
      if (context_.stopping) report();
    });
  }

  static void log_thrown(const std::exception_ptr& thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      log::error("a connection failed: {}", error.what());
    } catch (...) {
      log::error("a connection failed");
    }
  }

  void begin_stop(std::int64_t grace_ms) {
    if (!context_.stopping) {
      context_.stopping = true;
      context_.on_progress = [this] { report(); };
      error_code ignored;
      acceptor_.close(ignored);
      accept_timer_.cancel();
      for (const auto& connection : copy_of_connections()) connection->stop_gently();
    }
    const auto at = std::chrono::steady_clock::now() + std::chrono::milliseconds(std::max<std::int64_t>(grace_ms, 0));
    if (!cut_at_ || at < *cut_at_) {
      cut_at_ = at;
      cut_timer_.expires_at(at);
      cut_timer_.async_wait([this](error_code error) {
        if (!error) cut();
      });
    }
    report();
  }

  void cut() {
    cut_done_ = true;
    for (const auto& connection : copy_of_connections()) connection->close();
    report();
  }

  std::vector<std::shared_ptr<Connection>> copy_of_connections() const {
    return {connections_.begin(), connections_.end()};
  }

  void report() {
    if (connections_.empty()) cut_timer_.cancel();
    {
      const std::lock_guard lock(mutex_);
      stopped_ = context_.stopping;
      cut_ = cut_done_;
      connections_left_ = connections_.size();
      in_workers_left_ = context_.in_workers;
    }
    progress_.notify_all();
  }

  ServerContext context_;
  const Router router_;
  std::uint16_t port_ = 0;

  // io thread only
  tcp::acceptor acceptor_;
  asio::steady_timer accept_timer_;
  asio::steady_timer cut_timer_;
  std::set<std::shared_ptr<Connection>> connections_;
  std::size_t turned_away_ = 0;
  std::optional<std::chrono::steady_clock::time_point> cut_at_;
  bool cut_done_ = false;
  bool accept_failing_ = false;

  std::mutex mutex_;
  std::condition_variable progress_;
  bool stopped_ = false;
  bool cut_ = false;
  std::size_t connections_left_ = 0;
  std::size_t in_workers_left_ = 0;

  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

Result<void> check_options(const ServerOptions& options, const std::vector<Route>& routes) {
  const auto bad = [](std::string field) {
    return fail(ErrorCode::invalid_argument, "must be greater than 0", std::move(field));
  };
  if (options.worker_threads == 0) return bad("worker_threads");
  if (options.max_connections == 0) return bad("max_connections");
  if (options.header_timeout_ms <= 0) return bad("header_timeout_ms");
  if (options.body_idle_timeout_ms <= 0) return bad("body_idle_timeout_ms");
  if (options.idle_timeout_ms <= 0) return bad("idle_timeout_ms");
  if (options.stream_ask_ms <= 0) return bad("stream_ask_ms");
  if (options.max_header_bytes < 256)
    return fail(ErrorCode::invalid_argument, "must be at least 256", "max_header_bytes");
  const bool stores_bodies = std::any_of(routes.begin(), routes.end(),
                                         [](const Route& route) { return route.options.body == BodyKind::file; });
  if (!stores_bodies) return {};
  std::error_code error;
  if (!std::filesystem::is_directory(options.spool_directory, error))
    return fail(ErrorCode::invalid_argument, "is not a directory", "spool_directory");
  return SpoolFile::clean(options.spool_directory);
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(ServerOptions options, std::vector<Route> routes) {
  ORBIT_TRY(check_options(options, routes));
  error_code error;
  const auto address = asio::ip::make_address(options.address == "localhost" ? "127.0.0.1" : options.address, error);
  if (error)
    return fail(ErrorCode::invalid_argument, "'" + options.address + "' is not an IP address", "listen",
                "for example 127.0.0.1, ::1 or 0.0.0.0");
  const tcp::endpoint endpoint(address, options.port);
  ORBIT_TRY_ASSIGN(Router router, Router::build(std::move(routes)));
  auto server = std::make_unique<Server>(std::move(options), std::move(router));
  ORBIT_TRY(server->start(endpoint));
  return server;
}

}  // namespace orbit::net
