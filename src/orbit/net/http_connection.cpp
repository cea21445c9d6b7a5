#include "orbit/net/http_connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <cerrno>
#include <utility>

namespace orbit::net {
namespace {

constexpr std::size_t linger_limit_bytes = 64 * 1024 * 1024;
constexpr std::int64_t linger_ms = 5'000;
constexpr std::int64_t linger_while_stopping_ms = 250;

}  // namespace

Waker::Waker(asio::io_context& io) : io_(io), timer_(io), state_(std::make_shared<State>()) {
  state_->waker = this;
}

Waker::~Waker() {
  const std::lock_guard lock(state_->mutex);
  state_->waker = nullptr;
}

void Waker::wake(const std::shared_ptr<State>& state) {
  const std::lock_guard lock(state->mutex);
  if (std::exchange(state->pending, true) || state->waker == nullptr) return;
  asio::post(state->waker->io_, [state] {
    // The pointer only changes on this thread.
    if (state->waker != nullptr) state->waker->timer_.cancel();
  });
}

void Waker::wake() {
  wake(state_);
}

std::function<void()> Waker::function() const {
  return [state = state_] { wake(state); };
}

void Waker::forget() {
  const std::lock_guard lock(state_->mutex);
  state_->pending = false;
}

asio::awaitable<void> Waker::wait(std::chrono::milliseconds at_most) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->pending) co_return;
  }
  timer_.expires_after(at_most);
  co_await timer_.async_wait(use_tuple);
}

Connection::Connection(ServerContext& context, tcp::socket socket, std::string remote)
    : context_(context),
      socket_(std::move(socket)),
      remote_(std::move(remote)),
      buffer_(context.options.max_header_bytes + 64 * 1024),
      timer_(context.io) {}

void Connection::set_deadline(std::chrono::steady_clock::time_point at) {
  timed_out_ = false;
  deadline_ = at;
  // A later deadline is found when the timer fires: no timer is touched for most reads and writes.
  if (!timer_running_ || deadline_ < timer_.expiry()) start_timer();
}

void Connection::start_timer() {
  timer_running_ = true;
  timer_.expires_at(deadline_);
  timer_.async_wait([self = shared_from_this(), generation = ++timer_generation_](error_code) {
    if (generation != self->timer_generation_) return;
    self->timer_running_ = false;
    if (self->closed_ || self->deadline_ == never) return;
    if (std::chrono::steady_clock::now() < self->deadline_) {
      self->start_timer();
      return;
    }
    self->deadline_ = never;
    self->timed_out_ = true;
    error_code ignored;
    self->socket_.cancel(ignored);
  });
}

asio::awaitable<error_code> Connection::read_more(std::size_t at_most) {
  const std::size_t room = std::min(at_most, buffer_.max_size() - buffer_.size());
  if (room == 0) co_return asio::error::no_buffer_space;
  const asio::mutable_buffer space = buffer_.prepare(room);
  const auto [error, size] = co_await socket_.async_read_some(space, use_tuple);
  buffer_.commit(size);
  co_return error;
}

asio::awaitable<bool> Connection::write(std::string_view first, std::string_view second) {
  while (!first.empty() || !second.empty()) {
    if (closed_) co_return false;
    set_deadline_in(context_.options.body_idle_timeout_ms);
    const std::array<asio::const_buffer, 2> buffers{asio::buffer(first), asio::buffer(second)};
    const auto [error, size] = co_await socket_.async_write_some(buffers, use_tuple);
    clear_deadline();
    if (error) co_return false;
    const std::size_t of_first = std::min(size, first.size());
    first.remove_prefix(of_first);
    second.remove_prefix(size - of_first);
  }
  co_return true;
}

asio::awaitable<void> Connection::on_worker(std::function<void()> work) {
  const auto initiate = [this, &work](auto handler) {
    asio::post(context_.workers, [this, &work, handler = std::move(handler)]() mutable {
      work();
      asio::post(context_.io, std::move(handler));
    });
  };
  ++context_.in_workers;
  if (context_.on_progress) context_.on_progress();
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(initiate, asio::use_awaitable);
  --context_.in_workers;
  if (context_.on_progress) context_.on_progress();
}

void Connection::watch_client(std::function<void()> gone) {
  gone_ = std::move(gone);
  ++watch_generation_;
  start_watch();
}

void Connection::unwatch_client() {
  gone_ = nullptr;
  ++watch_generation_;
  if (closed_) return;
  // Nothing else is outstanding between two reads or writes.
  error_code ignored;
  socket_.cancel(ignored);
}

void Connection::start_watch() {
  socket_.async_wait(tcp::socket::wait_read,
                     [self = shared_from_this(), generation = watch_generation_](error_code error) {
                       if (generation != self->watch_generation_ || self->closed_) return;
                       // Cancelled by a write's deadline: the write's error is what counts.
                       if (error) return;
                       self->on_readable();
                     });
}

// With TLS this becomes a read through the stream.
void Connection::on_readable() {
  std::array<char, 1024> bytes;
  const ssize_t size = ::recv(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
    start_watch();
    return;
  }
  const auto received = static_cast<std::size_t>(std::max<ssize_t>(size, 0));
  if (received > 0 && received <= buffer_.max_size() - buffer_.size()) {
    // A pipelined request, for later.
    std::copy_n(bytes.data(), received, static_cast<char*>(buffer_.prepare(received).data()));
    buffer_.commit(received);
    start_watch();
    return;
  }
  const std::function<void()> gone = std::exchange(gone_, nullptr);
  close();
  if (gone) gone();
}

asio::awaitable<void> Connection::linger() {
  if (closed_) co_return;
  phase = Phase::lingering;
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  set_deadline_in(context_.stopping ? linger_while_stopping_ms : linger_ms);
  std::size_t discarded = 0;
  while (!closed_ && discarded < linger_limit_bytes) {
    const asio::mutable_buffer space = asio::buffer(context_.discarded);
    const auto [error, size] = co_await socket_.async_read_some(space, use_tuple);
    if (error) break;
    discarded += size;
  }
  close();
}

void Connection::stop_gently() {
  if (phase == Phase::lingering) {
    set_deadline_in(linger_while_stopping_ms);
  } else if (phase != Phase::handling) {
    close();
    if (const std::function<void()> gone = std::exchange(gone_, nullptr)) gone();
  }
}

void Connection::close() {
  if (std::exchange(closed_, true)) return;
  ++watch_generation_;
  deadline_ = never;
  timer_.cancel();
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace orbit::net
