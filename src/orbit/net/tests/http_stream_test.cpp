// HttpServer: bodies produced piece by piece, clients that go away, and stopping.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "net_test_support.hpp"
#include "orbit/net/sse.hpp"

namespace orbit::net {
namespace {

using test::eventually;
using test::get;
using test::RawClient;
using test::RawResponse;
using test::route;
using test::start;
using test::text;

// What the test puts in comes out; counts what the server does with it.
struct Feed {
  std::mutex mutex;
  std::string bytes;
  bool end = false;
  std::function<void()> wake;
  std::atomic<int> asked = 0;
  std::atomic<int> at_once = 0;
  std::atomic<bool> overlapped = false;
  std::atomic<int> alive = 0;

  void put(std::string_view more, bool and_end = false) {
    std::function<void()> call;
    {
      const std::lock_guard lock(mutex);
      bytes += more;
      end = and_end;
      call = wake;
    }
    if (call) call();
  }
};

class FeedSource : public BodySource {
 public:
  explicit FeedSource(std::shared_ptr<Feed> feed) : feed_(std::move(feed)) { ++feed_->alive; }
  ~FeedSource() override { --feed_->alive; }
  Piece next(std::size_t max_bytes, std::function<void()> wake) override {
    ++feed_->asked;
    if (++feed_->at_once > 1) feed_->overlapped = true;
    Piece piece;
    {
      const std::lock_guard lock(feed_->mutex);
      piece.bytes = feed_->bytes.substr(0, max_bytes);
      feed_->bytes.erase(0, piece.bytes.size());
      piece.end = feed_->end && feed_->bytes.empty();
      feed_->wake = std::move(wake);
    }
    --feed_->at_once;
    return piece;
  }

 private:
  std::shared_ptr<Feed> feed_;
};

Route feeding(const std::shared_ptr<Feed>& feed) {
  return route(Method::get, "/feed", [feed](const Request&) {
    Response response;
    response.content_type = "text/event-stream";
    response.source = std::make_shared<FeedSource>(feed);
    return response;
  });
}
Route hello() {
  return route(Method::get, "/hello", [](const Request&) { return text("hello"); });
}

TEST(HttpStream, PiecesArriveAsTheyAreMade) {
  const auto feed = std::make_shared<Feed>();
  const auto server = start({feeding(feed), hello()});
  RawClient client(server->port());
  client.send(get("/feed"));
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_NE(head.find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_EQ(head.find("Content-Length"), std::string::npos);
  for (const std::string piece : {"one", "two", "three"}) {
    feed->put(piece);
    EXPECT_EQ(client.read_until("\r\n"), std::to_string(piece.size()) + "\r\n");
    EXPECT_EQ(client.read_until("\r\n"), piece + "\r\n");
  }
  feed->put("", true);
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
  EXPECT_EQ(client.ask(get("/hello")).body, "hello");  // the connection goes on
  EXPECT_TRUE(eventually([&] { return feed->alive == 0; }));
  EXPECT_FALSE(feed->overlapped);
}

TEST(HttpStream, ASourceThatIsNotWokenIsAskedAgain) {
  class Pulse : public BodySource {
    Piece next(std::size_t, std::function<void()>) override {
      return ++asked_ % 2 == 0 ? Piece{std::string(sse_keep_alive), asked_ == 6} : Piece{};
    }
    int asked_ = 0;
  };
  ServerOptions options;
  options.stream_ask_ms = 5;
  const auto server = start({route(Method::get, "/",
                                   [](const Request&) {
                                     Response response;
                                     response.source = std::make_shared<Pulse>();
                                     return response;
                                   })},
                            options);
  RawClient client(server->port());
  EXPECT_EQ(client.ask(get("/")).body, ":\n\n:\n\n:\n\n");
}

TEST(HttpStream, RequestsPipelinedBehindAStreamAreAnsweredAfterIt) {
  const auto feed = std::make_shared<Feed>();
  const auto server = start({feeding(feed), hello()});
  RawClient client(server->port());
  client.send(get("/feed"));
  client.read_until("\r\n\r\n");
  client.send(get("/hello"));
  client.send(get("/hello"));
  EXPECT_TRUE(eventually([&] { return feed->asked >= 1; }));
  feed->put("x", true);
  client.read_until("0\r\n\r\n");
  EXPECT_EQ(client.response().body, "hello");
  EXPECT_EQ(client.response().body, "hello");
}

TEST(HttpStream, LargeStreamsWakeStorms) {
  const auto feed = std::make_shared<Feed>();
  const auto server = start({feeding(feed)});
  RawClient client(server->port());
  client.send(get("/feed"));
  std::string all;
  for (int i = 0; i < 200'000; ++i) all += std::to_string(i);
  std::thread producer([&] {
    for (std::size_t at = 0; at < all.size(); at += 1000) feed->put(std::string_view(all).substr(at, 1000));
    feed->put("", true);
    for (int i = 0; i < 10'000; ++i) feed->put("", true);  // spurious, and after the end
  });
  const RawResponse response = client.response();
  producer.join();
  EXPECT_TRUE(response.complete);
  EXPECT_TRUE(response.body == all);
  EXPECT_FALSE(feed->overlapped);
}

TEST(HttpStream, TheSourceIsNotAskedFasterThanTheClientReads) {
  class Endless : public BodySource {
   public:
    explicit Endless(std::atomic<int>& asked) : asked_(asked) {}
    Piece next(std::size_t max_bytes, std::function<void()>) override {
      ++asked_;
      return {std::string(max_bytes, 'x'), false};
    }
    std::atomic<int>& asked_;
  };
  std::atomic<int> asked = 0;
  const auto server = start({route(Method::get, "/endless",
                                   [&](const Request&) {
                                     Response response;
                                     response.source = std::make_shared<Endless>(asked);
                                     return response;
                                   }),
                             hello()});
  RawClient client(server->port(), 4096);
  client.send(get("/endless"));
  client.read_until("\r\n\r\n");
  // It stops asking while the client does not read: the count stands still over many other requests.
  EXPECT_TRUE(eventually([&] {
    const int before = asked;
    RawClient other(server->port());
    for (int i = 0; i < 20; ++i) other.ask(get("/hello"));
    return asked == before && before > 0;
  }));
  EXPECT_LT(asked, 1000);
}

TEST(HttpStream, EndsWhenTheClientGoesAway) {
  const auto feed = std::make_shared<Feed>();
  const auto server = start({feeding(feed)});
  for (int i = 0; i < 5; ++i) {
    RawClient client(server->port());
    client.send(get("/feed"));
    client.read_until("\r\n\r\n");
    EXPECT_TRUE(eventually([&] { return feed->alive == 1; }));
    if (i % 2 == 1) feed->put("something");
    client.close();
    EXPECT_TRUE(eventually([&] { return feed->alive == 0; }));
  }
}

TEST(HttpStream, EndsWhenTheClientGoesAwayInTheMiddleOfALargeWrite) {
  const auto feed = std::make_shared<Feed>();
  const auto server = start({feeding(feed)});
  RawClient client(server->port(), 4096);
  client.send(get("/feed"));
  client.read_until("\r\n\r\n");
  feed->put(std::string(32 << 20, 'x'));
  client.read_until("xxxx");
  client.close();
  EXPECT_TRUE(eventually([&] { return feed->alive == 0; }));
}

TEST(HttpStream, ASourceThatFailsCutsTheResponse) {
  class Failing : public BodySource {
    Piece next(std::size_t, std::function<void()>) override {
      if (first_) {
        first_ = false;
        return {"part", false};
      }
      throw std::runtime_error("disk");
    }
    bool first_ = true;
  };
  const auto server = start({route(Method::get, "/", [](const Request&) {
    Response response;
    response.source = std::make_shared<Failing>();
    return response;
  })});
  RawClient client(server->port());
  const RawResponse response = client.ask(get("/"));
  EXPECT_EQ(response.body, "part");
  EXPECT_FALSE(response.complete);
  EXPECT_TRUE(client.at_end());
}

TEST(HttpStream, HeadDoesNotAskTheSource) {
  const auto feed = std::make_shared<Feed>();
  const auto server = start({feeding(feed), hello()});
  RawClient client(server->port());
  client.send("HEAD /feed HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.response(false).status, 200);
  EXPECT_EQ(client.ask(get("/hello")).body, "hello");
  EXPECT_EQ(feed->asked, 0);
}

TEST(HttpStream, Http10GetsTheBytesAndAClose) {
  const auto feed = std::make_shared<Feed>();
  feed->put("abc", true);
  const auto server = start({feeding(feed)});
  RawClient client(server->port());
  const RawResponse response = client.ask("GET /feed HTTP/1.0\r\n\r\n");
  EXPECT_EQ(response.body, "abc");
  EXPECT_FALSE(response.headers.contains("transfer-encoding"));
}

TEST(HttpStream, ManyStreamsAtOnce) {
  const auto feed = std::make_shared<Feed>();
  const auto server = start({feeding(feed), hello()});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<RawClient>(server->port()));
    clients.back()->send(get("/feed"));
    clients.back()->read_until("\r\n\r\n");
  }
  EXPECT_EQ(feed->alive, 100);  // far more streams than workers
  RawClient other(server->port());
  EXPECT_EQ(other.ask(get("/hello")).body, "hello");
  clients.clear();
  EXPECT_TRUE(eventually([&] { return feed->alive == 0; }));
}

// --- stop ---

TEST(HttpStop, EndsStreamsWithoutPretendingTheyWereComplete) {
  const auto feed = std::make_shared<Feed>();
  auto server = start({feeding(feed)});
  RawClient client(server->port());
  client.send(get("/feed"));
  feed->put("part");
  EXPECT_NE(client.read_until("part").find("part"), std::string::npos);
  server->stop(20'000);
  EXPECT_EQ(client.read_to_end(), "\r\n");  // of the chunk; no last chunk
  EXPECT_TRUE(eventually([&] { return feed->alive == 0; }));
  // The source's wake outlives the server.
  server.reset();
  feed->put("late");
}

TEST(HttpStop, LetsHandlersFinishAndClosesTheRest) {
  test::Gate gate;
  std::atomic<bool> started = false;
  const auto server = start({hello(), route(Method::get, "/slow", [&](const Request&) {
                               started = true;
                               gate.wait();
                               return text("finished");
                             })});
  RawClient idle(server->port());
  EXPECT_EQ(idle.ask(get("/hello")).body, "hello");
  RawClient half(server->port());
  half.send("GET /hel");
  RawClient slow(server->port());
  slow.send(get("/slow"));
  EXPECT_TRUE(eventually([&] { return started.load(); }));
  std::thread stopping([&] { server->stop(20'000); });
  EXPECT_TRUE(idle.at_end());
  EXPECT_TRUE(half.at_end());
  EXPECT_TRUE(eventually([&] {
    RawClient refused(server->port());
    return !refused.connected();
  }));
  gate.open();
  const RawResponse response = slow.response();
  EXPECT_EQ(response.body, "finished");
  EXPECT_EQ(response.headers.at("connection"), "close");
  slow.close();
  stopping.join();
  server->stop(20'000);  // again is fine
}

TEST(HttpStop, DoesNotWaitForAHandlerBeyondTheGrace) {
  test::Gate gate;
  std::atomic<bool> started = false;
  std::atomic<bool> finished = false;
  auto server = start({route(Method::get, "/slow", [&](const Request&) {
    started = true;
    gate.wait();
    finished = true;
    return text("too late");
  })});
  RawClient client(server->port());
  client.send(get("/slow"));
  EXPECT_TRUE(eventually([&] { return started.load(); }));
  server->stop(10);
  EXPECT_FALSE(finished);
  EXPECT_TRUE(client.at_end());
  gate.open();
  server.reset();  // waits for the handler: what it uses may go after this
  EXPECT_TRUE(finished);
}

TEST(HttpStop, ASecondCallShortensTheGrace) {
  test::Gate gate;
  std::atomic<bool> started = false;
  const auto server = start({route(Method::get, "/slow", [&](const Request&) {
    started = true;
    gate.wait();
    return text("x");
  })});
  RawClient client(server->port());
  client.send(get("/slow"));
  EXPECT_TRUE(eventually([&] { return started.load(); }));
  std::thread patient([&] { server->stop(600'000); });
  std::thread hasty([&] { server->stop(0); });
  patient.join();
  hasty.join();
  EXPECT_TRUE(client.at_end());
  gate.open();
}

TEST(HttpStop, WithUploadsDownloadsAndStreamsUnderWay) {
  const auto feed = std::make_shared<Feed>();
  const test::TempDir dir;
  ServerOptions options;
  options.spool_directory = dir.path();
  auto server = start(
      {feeding(feed), route(Method::put, "/blob", [](const Request&) { return text(""); }, {BodyKind::file, 1 << 30}),
       route(Method::get, "/large", [](const Request&) { return text(std::string(64 << 20, 'x')); })},
      options);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(std::make_unique<RawClient>(server->port(), 4096));
    clients.back()->send("PUT /blob HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nabc");
    clients.push_back(std::make_unique<RawClient>(server->port(), 4096));
    clients.back()->send(get("/feed"));
    clients.back()->read_until("\r\n\r\n");
  }
  clients.push_back(std::make_unique<RawClient>(server->port(), 4096));
  clients.back()->send(get("/large"));
  clients.back()->read_until("\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return dir.names().size() == 10; }));
  server->stop(20);
  server.reset();
  EXPECT_TRUE(dir.names().empty());
  EXPECT_EQ(feed->alive, 0);
}

TEST(HttpStop, StartAndStopManyTimes) {
  for (int i = 0; i < 30; ++i) {
    const auto server = start({hello()});
    RawClient client(server->port());
    client.send(get("/hello"));
    if (i % 2 == 0) client.response();
  }
}

}  // namespace
}  // namespace orbit::net
