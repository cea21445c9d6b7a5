#include "orbit/net/sse.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace orbit::net {
namespace {

std::vector<SseEvent> parse(std::string_view text) {
  SseParser parser;
  return parser.feed(text);
}

TEST(Sse, WritesFields) {
  EXPECT_EQ(sse_encode({"7", "state", "a\nb"}), "id: 7\nevent: state\ndata: a\ndata: b\n\n");
  EXPECT_EQ(sse_encode({"", "", ""}), "data: \n\n");
  EXPECT_EQ(sse_encode({"", "", "x\n"}), "data: x\ndata: \n\n");
}

// X4: a carriage return in a log line must not open a field of its own.
TEST(SseX4, DataCannotForgeFields) {
  for (const char* data : {"a\rid: 9\rdata: b", "a\r\nid: 9\r\ndata: b", "a\nid: 9\ndata: b"}) {
    const auto events = parse(sse_encode({"1", "", data}));
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].id, "1");
    EXPECT_EQ(events[0].data, "a\nid: 9\ndata: b");
  }
}

TEST(Sse, ParsesTheExamplesOfTheStandard) {
  const auto stocks = parse("data: YHOO\ndata: +2\ndata: 10\n\n");
  EXPECT_EQ(stocks, (std::vector<SseEvent>{{"", "", "YHOO\n+2\n10"}}));
  const auto four =
      parse(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n");
  EXPECT_EQ(four,
            (std::vector<SseEvent>{{"1", "", "first event"}, {"", "", "second event"}, {"", "", " third event"}}));
  EXPECT_EQ(parse("data\n\ndata\ndata\n\ndata:"), (std::vector<SseEvent>{{"", "", ""}, {"", "", "\n"}}));
  EXPECT_EQ(parse("data:test\n\ndata: test\n\n").size(), 2u);
}

TEST(Sse, LineEndsCommentsUnknownFieldsAndByteOrderMark) {
  EXPECT_EQ(parse("\xef\xbb\xbf"
                  "data: a\r\r:\n\ndata: b\r\n\r\nretry: 5\nx: y\ndata: c\n\n"),
            (std::vector<SseEvent>{{"", "", "a"}, {"", "", "b"}, {"", "", "c"}}));
  EXPECT_TRUE(parse(sse_keep_alive).empty());
  EXPECT_TRUE(parse("id: 1\nevent: x\n\n").empty());  // no data, no event
  EXPECT_EQ(parse(std::string_view("id: 1\0\ndata: a\n\n", 17)), (std::vector<SseEvent>{{"", "", "a"}}));
}

std::string one_line(std::string text) {
  std::erase_if(text, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
  return text;
}

RC_GTEST_PROP(Sse, ParsingWhatWasWrittenGivesItBackHoweverItIsCut, ()) {
  const auto raw = *rc::gen::container<std::vector<std::tuple<std::string, std::string, std::string>>>(
      rc::gen::tuple(rc::gen::arbitrary<std::string>(), rc::gen::arbitrary<std::string>(),
                     rc::gen::container<std::string>(rc::gen::element('a', ':', ' ', '\n', '\0', '\xff', 'd'))));
  std::string bytes;
  std::vector<SseEvent> events;
  for (const auto& [id, name, data] : raw) {
    events.push_back({one_line(id), one_line(name), data});
    bytes += sse_encode(events.back());
    if (*rc::gen::arbitrary<bool>()) bytes += sse_keep_alive;
  }
  SseParser parser;
  std::vector<SseEvent> parsed;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto size = *rc::gen::inRange<std::size_t>(1, 20);
    for (SseEvent& event : parser.feed(std::string_view(bytes).substr(at, size))) parsed.push_back(std::move(event));
    at += size;
  }
  RC_ASSERT(parsed == events);
}

RC_GTEST_PROP(Sse, AnyBytesCutAnyhowParseTheSame, (const std::string& noise)) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element('d', 'a', 't', ':', '\r', '\n', ' ', 'i'));
  const std::string bytes = "data: x" + text + noise + "\r\n\r\n";
  const auto whole = parse(bytes);
  SseParser parser;
  std::vector<SseEvent> single;
  for (const char c : bytes)
    for (SseEvent& event : parser.feed(std::string_view(&c, 1))) single.push_back(std::move(event));
  RC_ASSERT(single == whole);
}

}  // namespace
}  // namespace orbit::net
