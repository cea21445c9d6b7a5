// HttpServer over real sockets: requests, responses, routes. Limits and time-outs: http_limits_test.cpp; streams and
// stopping: http_stream_test.cpp.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <stdexcept>

#include "net_test_support.hpp"

namespace orbit::net {
namespace {

using test::get;
using test::RawClient;
using test::RawResponse;
using test::route;
using test::start;
using test::text;

Route echo(Method method = Method::post, BodyKind kind = BodyKind::memory, std::int64_t limit = 1 << 20) {
  return route(method, "/echo", [](const Request& request) { return text(request.body); }, {kind, limit});
}
Route hello() {
  return route(Method::get, "/hello", [](const Request&) { return text("hello"); });
}

TEST(HttpServer, AnswersManyRequestsOnOneConnection) {
  const auto server = start({route(Method::get, "/who", [](const Request& request) { return text(request.remote); })});
  RawClient client(server->port());
  const RawResponse first = client.ask(get("/who"));
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.headers.at("content-type"), "text/plain");
  EXPECT_TRUE(first.body.starts_with("127.0.0.1:"));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.ask(get("/who")).body, first.body);
}

TEST(HttpServer, WritesASmallResponseAtOnce) {
  const auto server = start({hello()});
  RawClient client(server->port());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(client.send(get("/hello")));
    const std::string received = client.receive_some();
    ASSERT_TRUE(received.ends_with("\r\n\r\nhello")) << received;
  }
}

TEST(HttpServer, GivesTheRequestToTheHandler) {
  Request seen;
  const auto server = start({route(Method::put, "/runs/{id}/files/{path...}",
                                   [&](const Request& request) {
                                     seen = request;
                                     return Response();
                                   },
                                   {BodyKind::memory, 100})});
  RawClient client(server->port());
  EXPECT_EQ(
      client
          .ask("PUT /runs/a%20b/files/x/y%2Fz?q=1+2&q=%C3%BC HTTP/1.1\r\nHOST: h\r\nX-Two: 1\r\nx-two:  2 \r\nCookie: "
               "a=1\r\ncookie: b=2\r\nContent-Length: 3\r\n\r\nabc")
          .status,
      200);
  EXPECT_EQ(seen.method, Method::put);
  EXPECT_EQ(seen.path, "/runs/a b/files/x/y%2Fz");
  EXPECT_EQ(seen.path_params, (std::map<std::string, std::string>{{"id", "a b"}, {"path", "x/y/z"}}));
  EXPECT_EQ(seen.query, (std::multimap<std::string, std::string>{{"q", "1 2"}, {"q", "ü"}}));
  EXPECT_EQ(seen.headers.at("x-two"), "1, 2");
  EXPECT_EQ(seen.headers.at("cookie"), "a=1; b=2");
  EXPECT_EQ(seen.headers.at("host"), "h");
  EXPECT_EQ(seen.body, "abc");
  EXPECT_EQ(seen.body_size, 3);
}

TEST(HttpServer, PipelinedRequestsAreAnsweredInOrder) {
  const auto server = start(
      {route(Method::get, "/n/{n}", [](const Request& request) { return text(request.path_params.at("n")); }), echo()});
  RawClient client(server->port());
  std::string all = "\r\n";  // an empty line before a request is forgiven
  for (int i = 0; i < 200; ++i) {
    all += get("/n/" + std::to_string(i));
    all += "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nok";
  }
  std::thread sender([&] { client.send(all); });
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(client.response().body, std::to_string(i));
    ASSERT_EQ(client.response().body, "ok");
  }
  sender.join();
}

TEST(HttpServer, HeadHasTheHeadersOfGetAndNoBody) {
  const test::TempDir dir;
  std::ofstream(dir.path() / "file") << "0123456789";
  const auto server = start({hello(), route(Method::get, "/file", [&](const Request&) {
                               Response response;
                               response.file = dir.path() / "file";
                               return response;
                             })});
  RawClient client(server->port());
  for (const auto& [path, length] : {std::pair("/hello", "5"), std::pair("/file", "10")}) {
    client.send("HEAD " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n\r\n");
    const RawResponse response = client.response(false);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.headers.at("content-length"), length);
  }
  client.send("HEAD /nothing HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.response(false).status, 404);
  EXPECT_EQ(client.ask(get("/hello")).body, "hello");  // nothing of a body was left on the wire
}

TEST(HttpServer, UnknownPathsAndMethods) {
  ServerOptions options;
  options.error_response = [](int status, const Error& error) { return text(error.text(), status); };
  const auto server = start({hello(), echo()}, options);
  RawClient client(server->port());
  EXPECT_EQ(client.ask(get("/nothing")).status, 404);
  const RawResponse response = client.ask("DELETE /hello HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.headers.at("allow"), "GET, HEAD");
  EXPECT_NE(response.body.find("/hello"), std::string::npos);
  EXPECT_EQ(client.ask("OPTIONS /echo HTTP/1.1\r\nHost: h\r\n\r\n").headers.at("allow"), "POST");
  EXPECT_EQ(client.ask("BREW /hello HTTP/1.1\r\nHost: h\r\n\r\n").status, 405);
  EXPECT_EQ(client.ask("POST /nothing HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc").status, 404);
  EXPECT_EQ(client.ask(get("/hello")).body, "hello");  // the connection survived all of it
}

TEST(HttpServer, WhatAHandlerThrowsIsA500ThatSaysNothing) {
  const auto server =
      start({route(Method::get, "/std", [](const Request&) -> Response { throw std::runtime_error("secret"); }),
             route(Method::get, "/int", [](const Request&) -> Response { throw 7; }), hello()});
  RawClient client(server->port());
  for (const char* path : {"/std", "/int"}) {
    const RawResponse response = client.ask(get(path));
    EXPECT_EQ(response.status, 500);
    EXPECT_EQ(response.body.find("secret"), std::string::npos);
  }
  EXPECT_EQ(client.ask(get("/hello")).body, "hello");
}

TEST(HttpServer, ErrorResponsesThatFailAreReplaced) {
  ServerOptions options;
  options.error_response = [](int status, const Error&) -> Response {
    if (status == 404) throw std::runtime_error("no");
    Response response = text("x", status);
    response.headers = {{"Bad", "a\nb"}};
    return response;
  };
  const auto server = start({hello()}, options);
  RawClient client(server->port());
  EXPECT_EQ(client.ask(get("/nothing")).status, 404);
  EXPECT_EQ(client.ask("PUT /hello HTTP/1.1\r\nHost: h\r\n\r\n").status, 500);
}

TEST(HttpServer, AResponseThatCannotBeSentIsA500) {
  const auto server = start({route(Method::get, "/split",
                                   [](const Request&) {
                                     Response response = text("x");
                                     response.headers = {{"Location", "/a\r\nSet-Cookie: b=c"}};
                                     return response;
                                   }),
                             route(Method::get, "/status", [](const Request&) { return text("x", 99); })});
  RawClient client(server->port());
  for (const char* path : {"/split", "/status"}) {
    const RawResponse response = client.ask(get(path));
    EXPECT_EQ(response.status, 500);
    EXPECT_FALSE(response.headers.contains("set-cookie"));
  }
}

TEST(HttpServer, StatusesWithoutBody) {
  const auto server = start({route(Method::get, "/s/{s}", [](const Request& request) {
    return text("body", std::stoi(request.path_params.at("s")));
  })});
  RawClient client(server->port());
  for (const int status : {204, 304}) {
    const RawResponse response = client.ask(get("/s/" + std::to_string(status)));
    EXPECT_EQ(response.status, status);
    EXPECT_FALSE(response.headers.contains("content-length"));
  }
  EXPECT_EQ(client.ask(get("/s/409")).body, "body");
}

TEST(HttpServer, AHandlerCanCloseTheConnection) {
  const auto server = start({route(Method::get, "/bye", [](const Request&) {
    Response response = text("bye");
    response.headers = {{"Connection", "close"}};
    return response;
  })});
  RawClient client(server->port());
  const RawResponse response = client.ask(get("/bye"));
  EXPECT_EQ(response.body, "bye");
  EXPECT_EQ(response.headers.at("connection"), "close");
  EXPECT_TRUE(client.at_end());
}

TEST(HttpServer, LargeResponses) {
  const std::string body(20 * 1024 * 1024, 'x');
  const auto server = start({route(Method::get, "/large", [&](const Request&) { return text(body); })});
  RawClient client(server->port(), 4096);
  EXPECT_TRUE(client.ask(get("/large")).body == body);
}

// --- HTTP/1.0 and what is hardly HTTP ---

TEST(HttpServer, Http10) {
  const auto server = start({hello(), echo()});
  {
    RawClient client(server->port());
    const RawResponse response = client.ask("GET /hello HTTP/1.0\r\n\r\n");
    EXPECT_EQ(response.body, "hello");
    EXPECT_EQ(response.headers.at("connection"), "close");
    EXPECT_TRUE(client.at_end());
  }
  RawClient client(server->port());
  for (int i = 0; i < 2; ++i) {
    const RawResponse response =
        client.ask("POST /echo HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi");
    EXPECT_EQ(response.body, "hi");
    EXPECT_EQ(response.headers.at("connection"), "keep-alive");
  }
}

TEST(HttpServer, AClientThatClosesItsSideStillGetsTheAnswer) {
  const auto server = start({hello()});
  RawClient client(server->port());
  client.send(get("/hello"));
  client.shutdown_write();
  EXPECT_EQ(client.response().body, "hello");
  EXPECT_TRUE(client.at_end());
}

TEST(HttpServer, GarbageIsRefusedAndTheConnectionClosed) {
  const auto server = start({hello(), echo()});
  const std::vector<std::pair<std::string, int>> cases = {
      {"\x16\x03\x01\x02\x00\x01\xfc\x03\x03 TLS hello here\r\n\r\n", 400},
      {std::string("\0\0\0\0", 4), 400},
      {"hello\r\n\r\n", 400},
      {"GET\r\n\r\n", 400},
      {"GET /hello\r\n\r\n", 400},
      {"GET /hello HTTP/1.1\n\n", 505},
      {"GET /hello HTTP/2.0\r\n\r\n", 505},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"GET /hello HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n", 400},
      {"GET /hello HTTP/1.1\r\nHost: a\r\nX\x01: b\r\n\r\n", 400},
      {"GET /hello HTTP/1.1\r\n\r\n", 400},                        // no Host
      {"GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},  // two
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
      // Where the body ends must not be a matter of taste (request smuggling).
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 501},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 501},
      {"POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n0\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\nContent-Length: 1\r\n\r\n", 417},
  };
  for (const auto& [bytes, status] : cases) {
    RawClient client(server->port());
    client.send(bytes);
    EXPECT_EQ(client.response().status, status) << bytes;
    EXPECT_TRUE(client.at_end()) << bytes;
  }
  RawClient client(server->port());
  EXPECT_EQ(client.ask(get("/hello")).body, "hello");
}

// X4: valid requests with bytes changed, lost or repeated end in an answer or a close, and the server lives on.
RC_GTEST_PROP(HttpServerX4, MutatedRequestsDoNoHarm, ()) {
  static const auto server = start({hello(), echo()});
  static const std::string valid =
      "POST /echo?a=b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + get("/hello") +
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
  std::string bytes = valid;
  const int changes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < changes && !bytes.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        bytes[at] = *rc::gen::arbitrary<char>();
        break;
      case 1:
        bytes.erase(at, *rc::gen::inRange<std::size_t>(1, 20));
        break;
      case 2:
        bytes.insert(at, bytes.substr(*rc::gen::inRange<std::size_t>(0, bytes.size()), 20));
        break;
      default:
        bytes.insert(at, 1, *rc::gen::element('\r', '\n', ' ', ':', '\0', '9', '%', '\xff'));
    }
  }
  {
    RawClient client(server->port());
    client.send(bytes);
    client.shutdown_write();
    const std::string answers = client.read_to_end();
    RC_ASSERT(answers.empty() || answers.starts_with("HTTP/1.1 "));
  }
  RawClient client(server->port());
  RC_ASSERT(client.ask(get("/hello")).body == "hello");
}

// X4; security.md rows 3, 4, 18.
TEST(HttpServerX4, HostilePathsReachNoHandler) {
  std::atomic<int> reached = 0;
  const auto server = start({route(Method::get, "/files/{path...}", [&](const Request&) {
    ++reached;
    return text("reached");
  })});
  RawClient client(server->port());
  for (const char* path :
       {"/files/../secret", "/files/%2e%2e/secret", "/files/..%2fsecret", "/files/a%5c..%5csecret", "/files/a\\b",
        "/files/%00", "/files//etc/passwd", "/files/%2fetc%2fpasswd", "/files/./a", "/files/%c0%ae%c0%ae/a",
        "/files/a%0d%0aX:%20y", "/files/%ff", "/files/a/", "/files/a#b", "/files/%", "/files/a?q=%zz"})
    EXPECT_EQ(client.ask(get(path)).status, 400) << path;
  EXPECT_EQ(reached, 0);
  EXPECT_EQ(client.ask(get("/files/%252e%252e/a")).body, "reached");
}

// --- start ---

TEST(HttpServer, APortInUseIsAConflictThatNamesIt) {
  const auto server = start({hello()});
  ServerOptions options;
  options.port = server->port();
  const auto second = HttpServer::listen(options, {hello()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  EXPECT_NE(second.error().message.find("127.0.0.1:" + std::to_string(server->port())), std::string::npos);
}

TEST(HttpServer, RefusesToStartWithBadOptionsOrRoutes) {
  const auto field_of = [](const ServerOptions& options, Route route) {
    const auto server = HttpServer::listen(options, {std::move(route)});
    return server ? std::string("started") : server.error().field;
  };
  ServerOptions address;
  address.address = "example.org";
  EXPECT_EQ(field_of(address, hello()), "listen");
  ServerOptions foreign;
  foreign.address = "192.0.2.1";  // no address of this machine
  EXPECT_EQ(field_of(foreign, hello()), "192.0.2.1:0");
  EXPECT_EQ(field_of({}, echo(Method::put, BodyKind::file)), "spool_directory");
  ServerOptions workers;
  workers.worker_threads = 0;
  EXPECT_EQ(field_of(workers, hello()), "worker_threads");
  // X1: a route without a declared policy does not start.
  Route unguarded = hello();
  unguarded.guard = nullptr;
  EXPECT_EQ(field_of({}, unguarded), "GET /hello");
}

TEST(HttpServer, Ipv6AndLocalhost) {
  ServerOptions localhost;
  localhost.address = "localhost";
  EXPECT_NE(start({hello()}, localhost)->port(), 0);
  ServerOptions options;
  options.address = "::1";
  const auto server = HttpServer::listen(options, {hello()});
  if (!server) GTEST_SKIP() << "no IPv6: " << server.error().text();
  const auto client = HttpClient::connect("http://[::1]:" + std::to_string((*server)->port()));
  ASSERT_TRUE(client) << client.error().text();
  EXPECT_EQ((*client)->request(Method::get, "/hello", {}, "")->body, "hello");
}

// A detached runner must not inherit the port or a connection.
TEST(HttpServer, SocketsAreCloseOnExec) {
  test::Gate gate;
  const auto server = start({route(Method::get, "/", [](const Request&) { return text("x"); })});
  RawClient client(server->port());
  client.ask(get("/"));
  int sockets = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (error || !target.starts_with("socket:")) continue;
    const int fd = std::stoi(entry.path().filename().string());
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0 || address.ss_family != AF_INET) continue;
    ++sockets;
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_GE(sockets, 3);  // listener, both ends of the connection
}

}  // namespace
}  // namespace orbit::net
