// HttpServer over real sockets: request bodies in memory and in files, responses from files.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
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

// --- bodies ---

TEST(HttpServer, ChunkedBodiesInMemory) {
  const auto server = start({echo()});
  RawClient client(server->port());
  const std::string head = "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(client.ask(head + "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nTrailer: x\r\n\r\n").body, "abcdefg");
  EXPECT_EQ(client.ask(head + "0\r\n\r\n").body, "");
  client.send(head);
  const std::string sent = "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n";
  for (const char c : sent) client.send(std::string_view(&c, 1));
  EXPECT_EQ(client.response().body, "abc");
}

TEST(HttpServer, TheGuardRunsBeforeTheBodyIsReadAndCanAddHeaders) {
  Route guarded = echo(Method::post, BodyKind::memory, 100 << 20);
  std::atomic<int> handled = 0;
  guarded.guard = [](Request& request) -> std::optional<Response> {
    if (!request.headers.contains("authorization")) return text("who are you", 401);
    request.headers["x-user"] = "ada";
    return std::nullopt;
  };
  guarded.handler = [&](const Request& request) {
    ++handled;
    return text(request.headers.at("x-user") + request.body);
  };
  const auto server = start({guarded});
  {
    RawClient client(server->port());
    const RawResponse response =
        client.ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 50000000\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(response.status, 401);
    EXPECT_EQ(response.headers.at("connection"), "close");
    EXPECT_TRUE(client.at_end());
  }
  EXPECT_EQ(handled, 0);
  RawClient client(server->port());
  // A small body that nobody wants is read away; the connection goes on.
  EXPECT_EQ(client.ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc").status, 401);
  EXPECT_EQ(client.ask("POST /echo HTTP/1.1\r\nHost: h\r\nAuthorization: x\r\nContent-Length: 3\r\n\r\nabc").body,
            "adaabc");
}

TEST(HttpServer, ContinueIsSentWhenTheBodyIsWanted) {
  const auto server = start({echo(Method::post, BodyKind::memory, 10)});
  RawClient client(server->port());
  const std::string head = "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n";
  EXPECT_EQ(client.ask(head + "Content-Length: 3\r\n\r\n").status, 100);
  EXPECT_EQ(client.ask("abc").body, "abc");
  EXPECT_EQ(client.ask(head + "Content-Length: 11\r\n\r\n").status, 413);
  EXPECT_TRUE(client.at_end());
}

TEST(HttpServer, ABodyForARouteWithoutOne) {
  const auto server = start({hello(), route(Method::delete_, "/x", [](const Request&) { return text("gone"); })});
  RawClient client(server->port());
  EXPECT_EQ(client.ask("DELETE /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc").status, 400);
  EXPECT_EQ(client.ask("DELETE /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n").body, "gone");
  EXPECT_EQ(client.ask("DELETE /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n").status, 413);
  EXPECT_TRUE(client.at_end());
}

TEST(HttpServer, BodiesGoToAPrivateFileThatIsGoneAfterwards) {
  const test::TempDir dir;
  ServerOptions options;
  options.spool_directory = dir.path();
  std::string content;
  mode_t mode = 0;
  const auto server =
      start({route(Method::put, "/blob",
                   [&](const Request& request) {
                     struct stat info{};
                     if (::stat(request.body_file.c_str(), &info) == 0) mode = info.st_mode & 07777;
                     std::ifstream in(request.body_file, std::ios::binary);
                     content.assign(std::istreambuf_iterator<char>(in), {});
                     return text(std::to_string(request.body_size) + " " + std::to_string(request.body.size()));
                   },
                   {BodyKind::file, 64 << 20}),
             route(Method::put, "/keep",
                   [&](const Request& request) {
                     std::filesystem::rename(request.body_file, dir.path() / "kept");
                     return text("");
                   },
                   {BodyKind::file, 64 << 20}),
             route(Method::put, "/fail", [&](const Request&) -> Response { throw std::runtime_error("x"); },
                   {BodyKind::file, 64 << 20})},
            options);
  std::string body;
  for (int i = 0; body.size() < 5'000'000; ++i) body += std::to_string(i);
  RawClient client(server->port());
  const std::string length = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  EXPECT_EQ(client.ask("PUT /blob HTTP/1.1\r\nHost: h\r\n" + length + body).body, std::to_string(body.size()) + " 0");
  EXPECT_TRUE(content == body);
  EXPECT_EQ(mode, 0600u);
  EXPECT_TRUE(dir.names().empty());

  std::string chunked = "PUT /blob HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < body.size(); at += 70'000) {
    const std::string piece = body.substr(at, 70'000);
    char size[16];
    std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
    chunked += size + piece + "\r\n";
  }
  EXPECT_EQ(client.ask(chunked + "0\r\n\r\n").body, std::to_string(body.size()) + " 0");
  EXPECT_TRUE(content == body);

  EXPECT_EQ(client.ask("PUT /blob HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n").body, "0 0");
  EXPECT_EQ(client.ask("PUT /fail HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc").status, 500);
  EXPECT_TRUE(dir.names().empty());
  EXPECT_EQ(client.ask("PUT /keep HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc").status, 200);
  EXPECT_EQ(dir.names(), std::vector<std::string>{"kept"});
  // A client that goes away in the middle leaves nothing behind either.
  {
    RawClient leaving(server->port());
    leaving.send("PUT /blob HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nabc");
    EXPECT_TRUE(test::eventually([&] { return dir.names().size() == 2; }));
  }
  EXPECT_TRUE(test::eventually([&] { return dir.names().size() == 1; }));
}

TEST(HttpServer, AFileBodyWithoutLimitNeedsItsLengthSaid) {
  const test::TempDir dir;
  ServerOptions options;
  options.spool_directory = dir.path();
  const auto server =
      start({route(Method::put, "/blob", [](const Request& request) { return text(std::to_string(request.body_size)); },
                   {BodyKind::file, -1})},
            options);
  RawClient client(server->port());
  EXPECT_EQ(client.ask("PUT /blob HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc").body, "3");
  EXPECT_EQ(client.ask("PUT /blob HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n").status, 411);
}

TEST(HttpServer, ASpoolDirectoryThatVanishedIsA500) {
  const test::TempDir dir;
  ServerOptions options;
  options.spool_directory = dir.path() / "spool";
  std::filesystem::create_directory(options.spool_directory);
  const auto server =
      start({route(Method::put, "/blob", [](const Request&) { return text(""); }, {BodyKind::file, 100})}, options);
  std::filesystem::remove(options.spool_directory);
  RawClient client(server->port());
  EXPECT_EQ(client.ask("PUT /blob HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc").status, 500);
}

// --- files ---

TEST(HttpServer, SendsFilesAndPartsOfThem) {
  const test::TempDir dir;
  std::string content;
  for (int i = 0; content.size() < 3'000'000; ++i) content += std::to_string(i);
  std::ofstream(dir.path() / "file", std::ios::binary) << content;
  std::ofstream(dir.path() / "empty");
  const auto server = start({route(Method::get, "/{name}", [&](const Request& request) {
    Response response;
    response.file = dir.path() / request.path_params.at("name");
    if (const auto offset = request.query_value("offset")) response.file_offset = std::stoll(*offset);
    if (const auto length = request.query_value("length")) response.file_length = std::stoll(*length);
    return response;
  })});
  RawClient client(server->port());
  EXPECT_TRUE(client.ask(get("/file")).body == content);
  EXPECT_EQ(client.ask(get("/file?offset=5&length=10")).body, content.substr(5, 10));
  EXPECT_TRUE(client.ask(get("/file?offset=1000000")).body == content.substr(1000000));
  EXPECT_EQ(client.ask(get("/file?length=0")).body, "");
  EXPECT_EQ(client.ask(get("/file?offset=" + std::to_string(content.size()))).body, "");
  EXPECT_EQ(client.ask(get("/empty")).headers.at("content-length"), "0");
  EXPECT_EQ(client.ask(get("/missing")).status, 404);
  EXPECT_EQ(client.ask(get("/file?offset=99999999")).status, 500);
  EXPECT_EQ(client.ask(get("/file?offset=0&length=99999999")).status, 500);
  ASSERT_EQ(::mkfifo((dir.path() / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(client.ask(get("/fifo")).status, 500);
  EXPECT_EQ(client.ask(get("/file?length=1")).body, content.substr(0, 1));
}

TEST(HttpServer, AFileThatShrinksWhileItIsSentIsCutNotPadded) {
  const test::TempDir dir;
  const std::filesystem::path path = dir.path() / "file";
  std::ofstream(path, std::ios::binary) << std::string(1 << 20, 'x');
  std::filesystem::resize_file(path, 1 << 30);  // sparse: more than any socket buffer takes
  const auto server = start({route(Method::get, "/file", [&](const Request&) {
    Response response;
    response.file = path;
    return response;
  })});
  RawClient client(server->port(), 4096);
  client.send(get("/file"));
  client.read_until("xxxx");
  std::filesystem::resize_file(path, 1000);
  EXPECT_LT(client.read_to_end().size(), std::size_t{1} << 30);
}

}  // namespace
}  // namespace orbit::net
