// Real sockets for the tests of net/: a client that sends exactly the bytes it is told, a server that does, temp
// directories.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "orbit/net/http.hpp"

namespace orbit::net::test {

class TempDir {
 public:
  TempDir();
  ~TempDir();
  const std::filesystem::path& path() const { return path_; }
  std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

// Polls until the condition holds; false after a generous cap. Never a wait for a deadline.
bool eventually(const std::function<bool()>& condition);

struct RawResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  // lower-case names
  std::string body;
  bool complete = false;  // the framing says that everything arrived
};

// A blocking TCP client; every read has a cap of 20 s, after which it counts as closed.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port, int receive_buffer_bytes = 0);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return fd_ >= 0; }
  bool send(std::string_view bytes);  // false: the server closed
  void shutdown_write();
  void close();
  std::string receive_some();  // what one recv gives; empty at the end
  std::string read_until(std::string_view text);
  std::string read_to_end();
  bool at_end() { return pending_.empty() && receive_some().empty(); }
  // One response by its framing; body_follows is false for answers to HEAD.
  RawResponse response(bool body_follows = true);
  RawResponse ask(std::string_view bytes) {
    send(bytes);
    return response();
  }

 private:
  bool more();

  int fd_ = -1;
  std::string pending_;
};

// Accepts connections one after the other and gives each to the script, with its number; closes it when that returns.
class RawServer {
 public:
  using Script = std::function<void(int fd, int number)>;
  explicit RawServer(Script script);
  ~RawServer();
  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int accepted() const;

  static std::string read_head(int fd);
  static void write(int fd, std::string_view bytes);
  static void wait_for_close(int fd);

 private:
  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  int accepted_ = 0;
  std::thread thread_;
};

// A latch that a test opens while handlers wait at it.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

Guard anybody();
Response text(std::string body, int status = 200);
Route route(Method method, std::string pattern, Handler handler, RouteOptions options = {});
std::unique_ptr<HttpServer> start(std::vector<Route> routes, ServerOptions options = {});
std::string get(std::string_view target);

}  // namespace orbit::net::test
