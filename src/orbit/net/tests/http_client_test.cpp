// HttpClient against HttpServer, and against servers that misbehave.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "net_test_support.hpp"

namespace orbit::net {
namespace {

using test::RawServer;
using test::route;
using test::start;
using test::text;

std::string url_of(const HttpServer& server) {
  return "http://127.0.0.1:" + std::to_string(server.port());
}
std::unique_ptr<HttpClient> connect(const std::string& url, std::int64_t timeout_ms = 20'000) {
  auto client = HttpClient::connect(url, timeout_ms);
  if (!client) {
    ADD_FAILURE() << client.error().text();
    std::abort();
  }
  return std::move(*client);
}
std::string answer(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST(HttpClient, KeepsItsConnection) {
  const auto server = start({route(Method::get, "/who", [](const Request& request) { return text(request.remote); }),
                             route(Method::post, "/echo",
                                   [](const Request& request) {
                                     Response response = text(request.headers.at("x-a") + request.body, 201);
                                     response.headers = {{"X-B", "1"}, {"x-b", "2"}};
                                     return response;
                                   },
                                   {BodyKind::memory, 1 << 20})});
  const auto client = connect(url_of(*server) + "/");
  const auto first = client->request(Method::get, "/who", {}, "");
  ASSERT_TRUE(first) << first.error().text();
  const auto posted = client->request(Method::post, "/echo", {{"X-A", "b"}}, "ody");
  ASSERT_TRUE(posted) << posted.error().text();
  EXPECT_EQ(posted->status, 201);
  EXPECT_EQ(posted->body, "body");
  EXPECT_EQ(posted->headers.at("x-b"), "1, 2");
  EXPECT_EQ(client->request(Method::post, "/echo", {{"X-A", ""}}, "")->body, "");
  const auto head = client->request(Method::head, "/who", {}, "");
  ASSERT_TRUE(head) << head.error().text();
  EXPECT_TRUE(head->body.empty());
  EXPECT_EQ(client->request(Method::get, "/missing", {}, "")->status, 404);
  EXPECT_EQ(client->request(Method::get, "/who", {}, "")->body, first->body);
}

TEST(HttpClient, RefusesBadInput) {
  for (const char* url :
       {"", "127.0.0.1:1", "ftp://127.0.0.1", "http://", "http://:80", "http://a:b", "http://a:0", "http://a:65536",
        "http://a/prefix", "http://a?x", "http://user@a", "http://[::1", "http://a b", "http://a:1:2"}) {
    const auto client = HttpClient::connect(url);
    ASSERT_FALSE(client) << url;
    EXPECT_EQ(client.error().code, ErrorCode::invalid_argument) << url;
  }
  EXPECT_EQ(HttpClient::connect("https://127.0.0.1").error().code, ErrorCode::unsupported);
  const auto server = start({route(Method::get, "/", [](const Request&) { return text("x"); })});
  const auto client = connect(url_of(*server));
  for (const char* target : {"", "a", "/a b", "/a\r\nX: y", "/a#b"})
    EXPECT_EQ(client->request(Method::get, target, {}, "").error().code, ErrorCode::invalid_argument) << target;
  EXPECT_FALSE(client->request(Method::get, "/", {{"X", "a\r\nY: b"}}, ""));
  EXPECT_FALSE(client->request(Method::get, "/", {{"X Y", "a"}}, ""));
  EXPECT_EQ(client->request(Method::get, "/", {}, "")->body, "x");
}

TEST(HttpClient, NobodyListening) {
  std::uint16_t port = 0;
  {
    const auto server = start({route(Method::get, "/", [](const Request&) { return text("x"); })});
    port = server->port();
  }
  const auto client = HttpClient::connect("http://127.0.0.1:" + std::to_string(port));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::unavailable);
  EXPECT_NE(client.error().field.find(std::to_string(port)), std::string::npos);
}

TEST(HttpClient, AServerThatStoppedIsUnavailableAndFoundAgain) {
  const std::vector<Route> routes = {route(Method::post, "/", [](const Request&) { return text("x"); })};
  auto server = start(routes);
  ServerOptions same;
  same.port = server->port();
  const auto client = connect(url_of(*server));
  EXPECT_EQ(client->request(Method::post, "/", {}, "")->body, "x");
  server.reset();
  EXPECT_EQ(client->request(Method::post, "/", {}, "").error().code, ErrorCode::unavailable);
  server = start(routes, same);
  EXPECT_EQ(client->request(Method::post, "/", {}, "")->body, "x");
}

// The server closes only after it has seen the second request: the client could not have known.
TEST(HttpClient, AnIdempotentRequestIsTriedOnceMoreOnAFreshConnection) {
  const RawServer server([](int fd, int number) {
    RawServer::read_head(fd);
    RawServer::write(fd, answer("from " + std::to_string(number)));
    RawServer::read_head(fd);
  });
  const auto client = connect(server.url());
  EXPECT_EQ(client->request(Method::get, "/", {}, "")->body, "from 0");
  EXPECT_EQ(client->request(Method::get, "/", {}, "")->body, "from 1");
  EXPECT_EQ(server.accepted(), 2);
  // POST may have been carried out: no second try.
  const auto posted = client->request(Method::post, "/", {}, "");
  ASSERT_FALSE(posted);
  EXPECT_EQ(posted.error().code, ErrorCode::unavailable);
  EXPECT_EQ(server.accepted(), 2);
  EXPECT_EQ(client->request(Method::post, "/", {}, "")->body, "from 2");
}

TEST(HttpClient, AFreshConnectionThatIsClosedIsNotTriedAgain) {
  const RawServer server([](int fd, int) { RawServer::read_head(fd); });
  const auto client = connect(server.url());
  EXPECT_EQ(client->request(Method::get, "/", {}, "").error().code, ErrorCode::unavailable);
  EXPECT_EQ(server.accepted(), 1);
}

TEST(HttpClient, AServerThatDiesInTheMiddleIsUnavailable) {
  const std::vector<std::string> cut = {"HTTP/1.1 200 OK\r\nContent-Le",
                                        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345",
                                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
                                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123"};
  const RawServer server([&](int fd, int number) {
    RawServer::read_head(fd);
    RawServer::write(fd, cut[static_cast<std::size_t>(number) % cut.size()]);
  });
  const auto client = connect(server.url());
  for (std::size_t i = 0; i < 2 * cut.size(); ++i) {
    std::string streamed;
    const auto result = i < cut.size() ? client->request(Method::get, "/", {}, "")
                                       : client->stream(
                                             Method::get, "/", {},
                                             [&](std::string_view piece) {
                                               streamed += piece;
                                               return true;
                                             });
    ASSERT_FALSE(result) << i;
    EXPECT_EQ(result.error().code, ErrorCode::unavailable) << i;
    EXPECT_TRUE(streamed.empty() || streamed == "12345" || streamed == "123") << streamed;
  }
}

TEST(HttpClient, ABodyThatEndsWithTheConnectionIsComplete) {
  const RawServer server([](int fd, int) {
    RawServer::read_head(fd);
    RawServer::write(fd, "HTTP/1.0 200 OK\r\n\r\nall of it");
  });
  EXPECT_EQ(connect(server.url())->request(Method::get, "/", {}, "")->body, "all of it");
}

TEST(HttpClient, TimesOut) {
  const std::vector<std::string> starts = {"", "HTTP/1.1 200 OK\r\n",
                                           "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123"};
  const RawServer server([&](int fd, int number) {
    RawServer::read_head(fd);
    RawServer::write(fd, starts[static_cast<std::size_t>(number) % starts.size()]);
    RawServer::wait_for_close(fd);
  });
  const auto client = connect(server.url(), 30);
  for (std::size_t i = 0; i < 2 * starts.size(); ++i) {
    const auto result = i < starts.size() ? client->request(Method::get, "/", {}, "")
                                          : client->stream(Method::get, "/", {}, [](std::string_view) { return true; });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::unavailable);
    EXPECT_NE(result.error().message.find("within"), std::string::npos) << result.error().text();
  }
}

TEST(HttpClient, TimesOutWhenTheServerDoesNotRead) {
  const RawServer server([&](int fd, int) {
    RawServer::read_head(fd);
    RawServer::wait_for_close(fd);
  });
  // A server that accepts and never reads: nobody takes the second connection of a script that is busy with the first.
  const auto first = connect(server.url(), 30);
  const auto second = connect(server.url(), 30);
  const std::string body(64 << 20, 'x');
  const auto result = second->request(Method::post, "/", {}, body);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::unavailable);
}

TEST(HttpClient, WhatIsNotHttpIsUnavailable) {
  const std::vector<std::string> answers = {"SSH-2.0-OpenSSH_9.2\r\n",
                                            "HTTP/3.0 200 OK\r\n\r\n",
                                            "HTTP/1.1 20 OK\r\n\r\n",
                                            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
                                            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
                                            "HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n"};
  const RawServer server([&](int fd, int number) {
    RawServer::read_head(fd);
    RawServer::write(fd, answers[static_cast<std::size_t>(number)]);
  });
  for (const std::string& bytes : answers) {
    const auto client = connect(server.url());
    const auto result = client->request(Method::get, "/", {}, "");
    ASSERT_FALSE(result) << bytes.substr(0, 60);
    EXPECT_EQ(result.error().code, ErrorCode::unavailable);
  }
}

TEST(HttpClient, InterimAnswersAreSkipped) {
  const RawServer server([](int fd, int) {
    RawServer::read_head(fd);
    RawServer::write(fd, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + answer("real"));
    RawServer::wait_for_close(fd);
  });
  const auto response = connect(server.url())->request(Method::get, "/", {}, "");
  ASSERT_TRUE(response) << response.error().text();
  EXPECT_EQ(response->body, "real");
  EXPECT_FALSE(response->headers.contains("link"));
}

TEST(HttpClient, AnswersAreHeldInMemoryUpToALimit) {
  const RawServer server([](int fd, int) {
    RawServer::read_head(fd);
    RawServer::write(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "100000\r\n" + std::string(1 << 20, 'x') + "\r\n";
    for (int i = 0; i < 65; ++i) RawServer::write(fd, chunk);
    RawServer::write(fd, "0\r\n\r\n");
    RawServer::wait_for_close(fd);
  });
  const auto client = connect(server.url());
  const auto result = client->request(Method::get, "/", {}, "");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::too_large);
  EXPECT_NE(result.error().message.find("67108864"), std::string::npos);
  std::size_t streamed = 0;
  ASSERT_TRUE(client->stream(Method::get, "/", {}, [&](std::string_view piece) {
    streamed += piece.size();
    return true;
  }));
  EXPECT_EQ(streamed, std::size_t{65} << 20);
}

TEST(HttpClient, Uploads) {
  const test::TempDir dir;
  ServerOptions options;
  options.spool_directory = dir.path();
  const auto server = start(
      {route(Method::put, "/blob",
             [](const Request& request) { return text(std::to_string(std::filesystem::file_size(request.body_file))); },
             {BodyKind::file, 8 << 20})},
      options);
  const test::TempDir files;
  std::ofstream(files.path() / "good", std::ios::binary) << std::string(3'000'000, 'x');
  std::ofstream(files.path() / "empty");
  std::ofstream(files.path() / "large", std::ios::binary) << std::string(20 << 20, 'x');
  const auto client = connect(url_of(*server));
  std::vector<std::int64_t> told;
  const auto progress = [&](std::int64_t sent) { told.push_back(sent); };
  const auto good = client->upload(Method::put, "/blob", {}, files.path() / "good", progress);
  ASSERT_TRUE(good) << good.error().text();
  EXPECT_EQ(good->body, "3000000");
  EXPECT_GT(told.size(), 2u);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.back(), 3'000'000);
  EXPECT_EQ(client->upload(Method::put, "/blob", {}, files.path() / "empty", nullptr)->body, "0");
  // Refused while it is being sent: the refusal arrives, not a broken pipe.
  const auto large = client->upload(Method::put, "/blob", {}, files.path() / "large", nullptr);
  ASSERT_TRUE(large) << large.error().text();
  EXPECT_EQ(large->status, 413);
  EXPECT_EQ(client->upload(Method::put, "/blob", {}, files.path() / "empty", nullptr)->body, "0");
  EXPECT_EQ(client->upload(Method::put, "/blob", {}, files.path() / "missing", nullptr).error().code,
            ErrorCode::not_found);
  EXPECT_EQ(client->upload(Method::put, "/blob", {}, files.path(), nullptr).error().code, ErrorCode::invalid_argument);
}

TEST(HttpClient, LargeBodiesFromMemoryThatAreRefused) {
  const auto server =
      start({route(Method::post, "/", [](const Request&) { return text("x"); }, {BodyKind::memory, 1 << 20})});
  const auto client = connect(url_of(*server));
  const auto refused = client->request(Method::post, "/", {}, std::string(10 << 20, 'x'));
  ASSERT_TRUE(refused) << refused.error().text();
  EXPECT_EQ(refused->status, 413);
  EXPECT_EQ(client->request(Method::post, "/", {}, "small")->status, 200);
}

TEST(HttpClient, StreamsUntilTheSinkHasEnough) {
  class Counting : public BodySource {
    Piece next(std::size_t, std::function<void()>) override { return {std::to_string(count_++) + "\n", false}; }
    int count_ = 0;
  };
  const auto server = start({route(Method::get, "/count",
                                   [](const Request&) {
                                     Response response;
                                     response.source = std::make_shared<Counting>();
                                     return response;
                                   }),
                             route(Method::get, "/no", [](const Request&) { return text("refused", 403); })});
  const auto client = connect(url_of(*server));
  std::string seen;
  const auto sink = [&](std::string_view piece) {
    seen += piece;
    return seen.find("\n1000\n") == std::string::npos;
  };
  const auto result = client->stream(Method::get, "/count", {}, sink);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->status, 200);
  EXPECT_TRUE(seen.starts_with("0\n1\n2\n"));
  seen.clear();
  const auto refused = client->stream(Method::get, "/no", {}, sink);
  ASSERT_TRUE(refused) << refused.error().text();
  EXPECT_EQ(refused->status, 403);
  EXPECT_EQ(refused->body, "refused");
  EXPECT_TRUE(seen.empty());
}

TEST(HttpClient, AStreamCutByAStoppingServerIsUnavailable) {
  class Quiet : public BodySource {
    Piece next(std::size_t, std::function<void()>) override {
      return {first_ ? "x" : "", std::exchange(first_, false) && false};
    }
    bool first_ = true;
  };
  const auto server = start({route(Method::get, "/", [](const Request&) {
    Response response;
    response.source = std::make_shared<Quiet>();
    return response;
  })});
  const auto client = connect(url_of(*server));
  std::thread stopping;
  const auto result = client->stream(Method::get, "/", {}, [&](std::string_view) {
    if (!stopping.joinable()) stopping = std::thread([&] { server->stop(20'000); });
    return true;
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::unavailable);
  stopping.join();
}

}  // namespace
}  // namespace orbit::net
