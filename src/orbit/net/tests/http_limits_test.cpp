// HttpServer: limits, slow clients, many clients (security.md row 17). Time-outs are set to milliseconds; the tests
// wait for what the server does, never for the clock.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>

#include "net_test_support.hpp"

namespace orbit::net {
namespace {

using test::get;
using test::RawClient;
using test::RawResponse;
using test::route;
using test::start;
using test::text;

std::vector<Route> routes(std::int64_t limit = 1 << 20) {
  return {route(Method::get, "/hello", [](const Request&) { return text("hello"); }),
          route(Method::post, "/echo", [](const Request& request) { return text(request.body); },
                {BodyKind::memory, limit})};
}

ServerOptions with(std::int64_t header_ms, std::int64_t body_ms, std::int64_t idle_ms) {
  ServerOptions options;
  options.header_timeout_ms = header_ms;
  options.body_idle_timeout_ms = body_ms;
  options.idle_timeout_ms = idle_ms;
  return options;
}

TEST(HttpLimits, TenMegabytesAgainstOneAreRefusedByName) {
  const auto server = start(routes());
  RawClient client(server->port());
  std::thread sender([&] {
    client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10485760\r\n\r\n");
    client.send(std::string(10 << 20, 'x'));
  });
  // The whole body is sent whatever the server says; its answer is still there to be read.
  sender.join();
  const RawResponse response = client.response();
  EXPECT_EQ(response.status, 413);
  EXPECT_NE(response.body.find("1048576"), std::string::npos) << response.body;
  EXPECT_EQ(response.headers.at("connection"), "close");
}

TEST(HttpLimits, FiveGigabytesAreRefusedBeforeTheyAreSent) {
  const auto server = start(routes());
  RawClient client(server->port());
  EXPECT_EQ(client.ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5368709120\r\n\r\n").status, 413);
}

TEST(HttpLimits, TheLimitIsExact) {
  const auto server = start(routes(10));
  RawClient client(server->port());
  EXPECT_EQ(client.ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789").body, "0123456789");
  EXPECT_EQ(client.ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n0123456789a").status, 413);
  const std::string chunked = "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(client.ask(chunked + "5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n").body, "0123456789");
  EXPECT_EQ(client.ask(chunked + "5\r\n01234\r\n6\r\n").status, 413);  // at the announcement already
  EXPECT_TRUE(client.at_end());
}

TEST(HttpLimits, ManyChunksAreCountedTogether) {
  const auto server = start(routes());
  RawClient client(server->port());
  std::thread sender([&] {
    client.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "ffff\r\n" + std::string(0xffff, 'x') + "\r\n";
    for (int i = 0; i < 20; ++i)
      if (!client.send(chunk)) break;
  });
  const RawResponse response = client.response();
  EXPECT_EQ(response.status, 413);
  EXPECT_NE(response.body.find("1048576"), std::string::npos);
  sender.join();
}

TEST(HttpLimits, LargeHeadsAreRefused) {
  const auto server = start(routes());
  {
    RawClient client(server->port());
    const RawResponse response =
        client.ask("GET /hello HTTP/1.1\r\nHost: h\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");
    EXPECT_EQ(response.status, 431);
    EXPECT_NE(response.body.find("16384"), std::string::npos);
  }
  {
    RawClient client(server->port());
    EXPECT_EQ(client.ask("GET /" + std::string(20'000, 'x')).status, 431);
  }
  {
    // Line by line, so that each one alone is small.
    RawClient client(server->port());
    client.send("GET /hello HTTP/1.1\r\nHost: h\r\n");
    for (int i = 0; i < 2000; ++i)
      if (!client.send("X-" + std::to_string(i) + ": 0123456789\r\n")) break;
    EXPECT_EQ(client.response().status, 431);
  }
  RawClient client(server->port());
  EXPECT_EQ(client.ask("GET /hello HTTP/1.1\r\nHost: h\r\nX: " + std::string(15'000, 'x') + "\r\n\r\n").body, "hello");
}

TEST(HttpLimits, AHeadThatDoesNotArriveInTime) {
  const auto server = start(routes(), with(50, 10'000, 10'000));
  {
    RawClient client(server->port());
    EXPECT_EQ(client.ask("GET /hello HT").status, 408);
    EXPECT_TRUE(client.at_end());
  }
  {
    // A byte now and then does not help.
    RawClient client(server->port());
    std::atomic<bool> done = false;
    std::thread dripping([&] {
      client.send("GET /hello HTTP/1.1\r\nX: ");
      while (!done && client.send("x")) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    });
    EXPECT_EQ(client.response().status, 408);
    done = true;
    dripping.join();
  }
  RawClient client(server->port());
  EXPECT_TRUE(client.at_end());  // nothing said: closed without a word
}

TEST(HttpLimits, AnIdleConnectionIsClosed) {
  const auto server = start(routes(), with(10'000, 10'000, 50));
  RawClient client(server->port());
  EXPECT_EQ(client.ask(get("/hello")).body, "hello");
  EXPECT_TRUE(client.at_end());
}

TEST(HttpLimits, ABodyThatDoesNotArriveInTime) {
  const auto server = start(routes(), with(10'000, 50, 10'000));
  {
    RawClient client(server->port());
    EXPECT_EQ(client.ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc").status, 408);
    EXPECT_TRUE(client.at_end());
  }
  RawClient client(server->port());
  std::atomic<bool> done = false;
  std::thread dripping([&] {
    client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n");
    while (!done && client.send("x")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  EXPECT_EQ(client.response().status, 408);
  done = true;
  dripping.join();
}

TEST(HttpLimits, AClientThatDoesNotReadIsDropped) {
  std::vector<Route> table = routes();
  table.push_back(route(Method::get, "/large", [](const Request&) { return text(std::string(64 << 20, 'x')); }));
  const auto server = start(std::move(table), with(10'000, 50, 10'000));
  RawClient client(server->port(), 4096);
  client.send(get("/large"));
  client.read_until("\r\n\r\n");
  // The server gives up on its own: what is left to read ends short of the promised size.
  server->stop(20'000);
  EXPECT_LT(client.read_to_end().size(), std::size_t{64} << 20);
}

TEST(HttpLimits, ConnectionsBeyondTheLimitAreToldSo) {
  ServerOptions options;
  options.max_connections = 3;
  const auto server = start(routes(), options);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<RawClient>(server->port()));
    EXPECT_EQ(clients.back()->ask(get("/hello")).body, "hello");
  }
  for (int i = 0; i < 100; ++i) {
    RawClient beyond(server->port());
    const RawResponse response = beyond.ask(get("/hello"));
    EXPECT_EQ(response.status, 503);
    EXPECT_EQ(response.headers.at("retry-after"), "1");
    EXPECT_TRUE(beyond.at_end());
  }
  EXPECT_EQ(clients[0]->ask(get("/hello")).body, "hello");
  clients.pop_back();
  EXPECT_TRUE(test::eventually([&] {
    RawClient next(server->port());
    return next.ask(get("/hello")).status == 200;
  }));
}

TEST(HttpLimits, AFloodBeyondTheLimitIsClosedWithoutWaiting) {
  ServerOptions options;
  options.max_connections = 1;
  const auto server = start(routes(), options);
  RawClient served(server->port());
  EXPECT_EQ(served.ask(get("/hello")).body, "hello");
  std::vector<std::unique_ptr<RawClient>> flood;
  for (int i = 0; i < 200; ++i) flood.push_back(std::make_unique<RawClient>(server->port()));
  for (const auto& client : flood) client->read_to_end();  // all of them are closed
  EXPECT_EQ(served.ask(get("/hello")).body, "hello");
}

TEST(HttpLimits, TwoHundredConnectionsAtOnce) {
  const auto server = start(routes());
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(std::make_unique<RawClient>(server->port()));
  for (int round = 0; round < 5; ++round) {
    for (const auto& client : clients)
      ASSERT_TRUE(
          client->send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n" + std::to_string(1000 + round)));
    for (const auto& client : clients) ASSERT_EQ(client->response().body, std::to_string(1000 + round));
  }
}

TEST(HttpLimits, ConcurrentThreadsOfClients) {
  const auto server = start(routes());
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      RawClient client(server->port());
      for (int i = 0; i < 50; ++i) {
        const std::string body = std::to_string(t * 1000 + i);
        const RawResponse response = client.ask(
            "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
        if (response.body == body) ++good;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 800);
}

TEST(HttpLimits, OutOfDescriptorsIsSurvived) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  // UBSan's vptr check asks the kernel through a pipe whether memory is readable; without descriptors it takes every
  // object for broken.
  GTEST_SKIP() << "the sanitizer itself needs descriptors";
#endif
#endif
  const auto server = start(routes());
  RawClient before(server->port());
  EXPECT_EQ(before.ask(get("/hello")).body, "hello");
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  // The client's own descriptor is opened first, then there is none left for the server's end.
  const int lowest_free = ::dup(0);
  ASSERT_GE(lowest_free, 0);
  ::close(lowest_free);
  rlimit tight = old;
  tight.rlim_cur = static_cast<rlim_t>(lowest_free) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  RawClient waiting(server->port());
  const bool sent = waiting.connected() && waiting.send(get("/hello"));
  const std::string still_served = before.ask(get("/hello")).body;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_TRUE(sent);
  EXPECT_EQ(still_served, "hello");
  EXPECT_EQ(waiting.response().body, "hello");
}

// Blocked handlers must not hold up those who wait for something else.
TEST(HttpLimits, IdleConnectionsAndRefusalsNeedNoWorker) {
  test::Gate gate;
  ServerOptions options;
  options.worker_threads = 1;
  std::vector<Route> table = routes();
  table.push_back(route(Method::get, "/block", [&](const Request&) {
    gate.wait();
    return text("done");
  }));
  const auto server = start(std::move(table), options);
  RawClient blocked(server->port());
  blocked.send(get("/block"));
  RawClient client(server->port());
  EXPECT_EQ(client.ask(get("/nothing")).status, 404);
  client.send(get("/hello"));
  gate.open();
  EXPECT_EQ(client.response().body, "hello");
  EXPECT_EQ(blocked.response().body, "done");
}

}  // namespace
}  // namespace orbit::net
