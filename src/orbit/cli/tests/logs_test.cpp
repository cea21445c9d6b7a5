// R12: followers lose nothing, repeat nothing, and can tell the end from a cut.
#include "orbit/cli/logs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <stdexcept>

#include "orbit/net/sse.hpp"
#include "orbit/wire/base64.hpp"
#include "test_server.hpp"

namespace orbit::cli {
namespace {

constexpr Backoff quick{1, 4, 200};

std::string log_event(std::int64_t offset, std::string_view bytes) {
  return net::sse_encode(
      {std::to_string(offset + static_cast<std::int64_t>(bytes.size())), "log",
       "{\"offset\":" + std::to_string(offset) + ",\"bytes_base64\":\"" + wire::base64_encode(bytes) + "\"}"});
}
std::string end_event(std::int64_t size) {
  return net::sse_encode({"", "end", "{\"size_bytes\":" + std::to_string(size) + "}"});
}

// Sends one piece, then ends the stream in order or, with `cut`, breaks the connection.
class Pieces : public net::BodySource {
 public:
  Pieces(std::string bytes, bool cut) : bytes_(std::move(bytes)), cut_(cut) {}
  Piece next(std::size_t, std::function<void()>) override {
    if (!bytes_.empty()) {
      Piece piece{std::move(bytes_), false};
      bytes_.clear();
      return piece;
    }
    if (cut_) throw std::runtime_error("cut");
    return Piece{{}, true};
  }

 private:
  std::string bytes_;
  bool cut_;
};

std::int64_t offset_of(const net::Request& request) {
  return std::stoll(request.query_value("offset").value_or("0"));
}

struct Collected {
  std::string bytes;
  std::vector<std::string> notices;
  LogSink sink{[this](std::string_view piece) {
                 bytes += piece;
                 return true;
               },
               [this](const std::string& notice) { notices.push_back(notice); }};
};

constexpr const char* pattern = "/log";

// A server that shows a little of the log per connection and cuts it in every way there is.
struct CuttingServer {
  std::string log;
  std::size_t a_time;
  std::atomic<int> calls{0};

  net::Response answer(const net::Request& request) {
    const int call = calls++;
    const std::int64_t offset = offset_of(request);
    if (call % 5 == 4)
      return json_answer(
          "{\"type\":\"about:blank\",\"title\":\"x\",\"status\":503,\"code\":\"unavailable\",\"detail\":\"busy\"}",
          503);
    // Sometimes from before the offset: a follower must leave out what it has.
    const std::int64_t from = std::max<std::int64_t>(0, offset - (call % 3));
    const std::string piece = log.substr(static_cast<std::size_t>(from), a_time + 3);
    std::string body = piece.empty() ? std::string(net::sse_keep_alive) : log_event(from, piece);
    const auto end = from + static_cast<std::int64_t>(piece.size());
    if (end == static_cast<std::int64_t>(log.size()))
      body += end_event(end);
    else
      body += log_event(end, log.substr(static_cast<std::size_t>(end), a_time)).substr(0, 20);  // torn in the middle
    net::Response response;
    response.content_type = "text/event-stream";
    response.source = std::make_shared<Pieces>(body, call % 2 == 0);
    return response;
  }
};

TEST(LogReader, R12SurvivesEveryCutWithoutLossOrRepetition) {
  CuttingServer cutting;
  cutting.a_time = 5;
  for (int i = 0; i < 300; ++i) cutting.log += static_cast<char>(i * 7);  // NULs, invalid UTF-8 and all
  const TestServer server(
      {route(net::Method::get, pattern, [&](const net::Request& request) { return cutting.answer(request); })});
  Collected got;
  LogReader reader(server.connection(), pattern, 0, got.sink, quick);
  const auto result = reader.follow();
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(got.bytes, cutting.log);
  EXPECT_EQ(reader.offset(), static_cast<std::int64_t>(cutting.log.size()));
  EXPECT_GT(cutting.calls, 20);
}

TEST(LogReader, R12StartsWhereItIsTold) {
  CuttingServer cutting;
  cutting.a_time = 5;
  cutting.log = "0123456789abcdefghij";
  const TestServer server(
      {route(net::Method::get, pattern, [&](const net::Request& request) { return cutting.answer(request); })});
  Collected got;
  LogReader reader(server.connection(), pattern, 13, got.sink, quick);
  ASSERT_TRUE(reader.follow());
  EXPECT_EQ(got.bytes, "defghij");
}

TEST(LogReader, R12AnEndThatComesTooEarlyIsNotBelieved) {
  std::atomic<int> calls{0};
  const TestServer server({route(net::Method::get, pattern, [&](const net::Request& request) {
    net::Response response;
    response.content_type = "text/event-stream";
    const std::int64_t offset = offset_of(request);
    response.source = std::make_shared<Pieces>(
        calls++ == 0 ? log_event(0, "abc") + end_event(6)
                     : log_event(offset, std::string("abcdef").substr(static_cast<std::size_t>(offset))) + end_event(6),
        false);
    return response;
  })});
  Collected got;
  LogReader reader(server.connection(), pattern, 0, got.sink, quick);
  ASSERT_TRUE(reader.follow());
  EXPECT_EQ(got.bytes, "abcdef");
}

TEST(LogReader, R12AHoleIsAnErrorNotASilence) {
  const TestServer server({route(net::Method::get, pattern, [&](const net::Request&) {
    net::Response response;
    response.content_type = "text/event-stream";
    response.source = std::make_shared<Pieces>(log_event(10, "late"), false);
    return response;
  })});
  Collected got;
  LogReader reader(server.connection(), pattern, 0, got.sink, quick);
  const auto result = reader.follow();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::corrupt);
  EXPECT_EQ(got.bytes, "");
}

TEST(LogReader, GivesUpAfterALongSilenceAndSaysWhatIsWrong) {
  const TestServer server({route(net::Method::get, pattern, [&](const net::Request&) {
    net::Response response;
    response.content_type = "text/event-stream";
    response.source = std::make_shared<Pieces>("", true);
    return response;
  })});
  Collected got;
  LogReader reader(server.connection(), pattern, 0, got.sink, quick);
  const auto result = reader.follow();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::unavailable);
  EXPECT_EQ(got.notices.size(), 1U);
}

TEST(LogReader, WhatTryingAgainCannotMendEndsAtOnce) {
  std::atomic<int> calls{0};
  const TestServer server({route(net::Method::get, pattern, [&](const net::Request&) {
    ++calls;
    return json_answer(
        "{\"type\":\"about:blank\",\"title\":\"x\",\"status\":404,\"code\":\"not_found\",\"detail\":\"there is no such "
        "run\"}",
        404);
  })});
  Collected got;
  LogReader reader(server.connection(), pattern, 0, got.sink, quick);
  const auto result = reader.follow();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::not_found);
  EXPECT_EQ(calls, 1);
}

TEST(LogReader, TheReaderMayHaveEnough) {
  CuttingServer cutting;
  cutting.a_time = 5;
  cutting.log = std::string(1000, 'x');
  const TestServer server(
      {route(net::Method::get, pattern, [&](const net::Request& request) { return cutting.answer(request); })});
  LogReader reader(server.connection(), pattern, 0, {[](std::string_view) { return false; }, {}}, quick);
  EXPECT_TRUE(reader.follow());  // as with `| head`
  EXPECT_EQ(reader.offset(), 0);
}

// Plain bytes, at most `limit` an answer, as the server gives them; every other answer is cut in the middle.
struct PlainServer {
  std::string log;
  std::int64_t most = 100;
  bool cuts = false;
  std::atomic<int> calls{0};

  net::Response answer(const net::Request& request) {
    const auto offset =
        static_cast<std::size_t>(std::min<std::int64_t>(offset_of(request), static_cast<std::int64_t>(log.size())));
    const auto limit = std::min<std::int64_t>(most, std::stoll(request.query_value("limit").value_or("100")));
    const std::string piece = log.substr(offset, static_cast<std::size_t>(limit));
    net::Response response;
    response.content_type = "application/octet-stream";
    response.headers = {{"Orbit-Log-Offset", std::to_string(offset)},
                        {"Orbit-Log-Size", std::to_string(log.size())},
                        {"Orbit-Log-End", offset + piece.size() == log.size() ? "true" : "false"}};
    if (cuts && calls++ % 2 == 1 && piece.size() > 2)
      response.source = std::make_shared<Pieces>(piece.substr(0, piece.size() / 2), true);
    else
      response.body = piece;
    return response;
  }
};

TEST(LogReader, R12ReadsWhatThereIsInManyAnswersAndAcrossCuts) {
  for (const bool cuts : {false, true}) {
    PlainServer plain;
    plain.cuts = cuts;
    for (int i = 0; i < 1234; ++i) plain.log += static_cast<char>(i);
    const TestServer server(
        {route(net::Method::get, pattern, [&](const net::Request& request) { return plain.answer(request); })});
    Collected got;
    LogReader reader(server.connection(), pattern, 0, got.sink, quick);
    const auto ended = reader.read();
    ASSERT_TRUE(ended) << ended.error().text();
    EXPECT_TRUE(*ended);
    EXPECT_EQ(got.bytes, plain.log);
  }
}

TEST(LastLines, FindsWhereTheyBegin) {
  PlainServer plain;
  plain.most = 1 << 20;
  const TestServer server(
      {route(net::Method::get, pattern, [&](const net::Request& request) { return plain.answer(request); })});
  const auto api = Api::open(server.connection());
  ASSERT_TRUE(api);
  const auto tail = [&](std::int64_t lines) {
    const auto size = log_size(**api, pattern);
    EXPECT_TRUE(size) << size.error().text();
    const auto offset = offset_of_last_lines(**api, pattern, *size, lines);
    EXPECT_TRUE(offset) << offset.error().text();
    return plain.log.substr(static_cast<std::size_t>(*offset));
  };
  plain.log = "one\ntwo\nthree\n";
  EXPECT_EQ(tail(0), "");
  EXPECT_EQ(tail(1), "three\n");
  EXPECT_EQ(tail(2), "two\nthree\n");
  EXPECT_EQ(tail(9), plain.log);
  plain.log = "one\ntwo\nhalf";
  EXPECT_EQ(tail(1), "half");
  EXPECT_EQ(tail(2), "two\nhalf");
  plain.log = "";
  EXPECT_EQ(tail(3), "");
  plain.log = "first\n" + std::string(200'000, 'x') + "\nlast\n";  // longer than a block
  EXPECT_EQ(tail(1), "last\n");
  EXPECT_EQ(tail(2), std::string(200'000, 'x') + "\nlast\n");
}

TEST(BackoffTimes, GrowAndAreBounded) {
  const Backoff backoff;
  EXPECT_EQ(backoff.wait_ms(1), 200);
  EXPECT_EQ(backoff.wait_ms(2), 400);
  EXPECT_EQ(backoff.wait_ms(3), 800);
  EXPECT_EQ(backoff.wait_ms(100), 5000);
}

}  // namespace
}  // namespace orbit::cli
