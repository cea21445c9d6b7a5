// One accepted connection: bytes in, bytes out, a deadline, and blocking work sent to the worker threads. Everything
// here runs on the io thread. Only http_*.cpp include this header: it brings Asio.
#pragma once

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "orbit/net/http.hpp"

namespace orbit::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// A completion token instead of a call in each co_await: GCC 12 mishandles temporaries there.
inline constexpr auto use_tuple = asio::as_tuple(asio::use_awaitable);

// What all connections of a server share.
struct ServerContext {
  ServerContext(ServerOptions server_options, std::size_t worker_threads)
      : options(std::move(server_options)), workers(worker_threads) {}

  ServerOptions options;
  asio::io_context io{1};
  asio::thread_pool workers;
  bool stopping = false;                    // io thread only
  std::size_t in_workers = 0;               // connections whose work is on a worker; io thread only
  std::function<void()> on_progress;        // called while stopping, when in_workers changes
  std::array<char, 64 * 1024> discarded{};  // where bytes nobody wants are read into
};

// Lets a body source, from any thread and at any time, end a wait of its connection. Lives in the connection's
// coroutine; what the source holds is only the shared state, harmless once the connection or the server is gone.
class Waker {
 public:
  explicit Waker(asio::io_context& io);
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  std::function<void()> function() const;
  void forget();  // before asking the source again
  asio::awaitable<void> wait(std::chrono::milliseconds at_most);
  void wake();

 private:
  struct State {
    std::mutex mutex;
    Waker* waker = nullptr;
    bool pending = false;
  };
  static void wake(const std::shared_ptr<State>& state);

  asio::io_context& io_;
  asio::steady_timer timer_;
  std::shared_ptr<State> state_;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  enum class Phase { between_requests, handling, streaming, lingering };

  Connection(ServerContext& context, tcp::socket socket, std::string remote);

  ServerContext& context() { return context_; }
  const std::string& remote() const { return remote_; }
  boost::beast::flat_buffer& buffer() { return buffer_; }
  Phase phase = Phase::between_requests;

  // From now on, or never. When it passes, what is being read or written ends with an error and timed_out() holds.
  void set_deadline(std::chrono::steady_clock::time_point at);
  void set_deadline_in(std::int64_t ms) {
    set_deadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(ms));
  }
  void clear_deadline() { deadline_ = never; }
  bool timed_out() const { return timed_out_; }

  // Appends what arrives to buffer(); at least one byte unless it is an error (eof among them).
  asio::awaitable<error_code> read_more(std::size_t at_most);
  // Head and body in one write where they are small; each piece of a large one gets the whole idle time-out.
  asio::awaitable<bool> write(std::string_view first, std::string_view second);

  // Runs `work`, which must not throw, on a worker thread and comes back.
  asio::awaitable<void> on_worker(std::function<void()> work);

  // While nothing is read: notices that the client has gone, closes, and calls `gone`.
  void watch_client(std::function<void()> gone);
  void unwatch_client();

  // Tells the client that no more comes, and waits a little for it to close: closing with bytes unread would reset the
  // connection and could take the response away from the client before it was read.
  asio::awaitable<void> linger();

  void stop_gently();  // the server stops: what is not a running request ends now
  void close();
  bool closed() const { return closed_; }

 private:
  static constexpr auto never = std::chrono::steady_clock::time_point::max();

  void start_timer();
  void start_watch();
  void on_readable();

  ServerContext& context_;
  tcp::socket socket_;
  const std::string remote_;
  boost::beast::flat_buffer buffer_;
  asio::steady_timer timer_;
  std::chrono::steady_clock::time_point deadline_ = never;
  std::uint64_t timer_generation_ = 0;
  bool timer_running_ = false;
  bool timed_out_ = false;
  bool closed_ = false;
  std::function<void()> gone_;
  std::uint64_t watch_generation_ = 0;
};

}  // namespace orbit::net
