#include "orbit/net/url.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "orbit/base/text.hpp"
#include "orbit/net/http.hpp"

namespace orbit::net {
namespace {

using Segments = std::vector<std::string>;

// X4: ways that got past path checks of comparable servers: encoded, doubly encoded, backslashes, ';' parameters,
// overlong UTF-8, encoded slashes, absolute paths smuggled into a segment.
TEST(UrlX4, RefusesEveryWayToClimb) {
  for (const char* path : {"",
                           "a",
                           "//",
                           "/a//b",
                           "/a/",
                           "//etc/passwd",
                           "/./a",
                           "/a/.",
                           "/../a",
                           "/a/..",
                           "/a/../b",
                           "/%2e%2e/a",
                           "/%2E%2E/a",
                           "/.%2e/a",
                           "/%2e./a",
                           "/%2e/a",
                           "/..%2fetc",
                           "/..%2Fetc%2Fpasswd",
                           "/a%2f..%2fb",
                           "/a%2f..",
                           "/%2f",
                           "/%2fetc%2fpasswd",
                           "/a%2f%2fb",
                           "/a%2f",
                           "/a%2f.%2fb",
                           "/a\\b",
                           "/a%5cb",
                           "/..\\..\\etc",
                           "/..%5c..%5cetc",
                           "/%00",
                           "/a%00.txt",
                           "/a%0ab",
                           "/a%0d%0ab",
                           "/a%09",
                           "/a%1f",
                           "/a%7f",
                           "/a%c2%80",
                           "/a%c2%9f",
                           "/a%",
                           "/a%2",
                           "/a%zz",
                           "/a%%32%65",
                           "/%c0%ae%c0%ae/a",
                           "/%c0%af",
                           "/%e0%80%ae",
                           "/%ff",
                           "/%ed%a0%80",
                           "/a\x80"})
    EXPECT_FALSE(parse_target(path)) << path;
  EXPECT_FALSE(parse_target(std::string_view("/a\0b", 4)));
  EXPECT_FALSE(parse_target("/a#fragment"));
  EXPECT_FALSE(parse_target("*"));
  EXPECT_FALSE(parse_target("host:443"));
  EXPECT_FALSE(parse_target("file:///etc/passwd"));
  EXPECT_FALSE(parse_target("http://host/../a"));
}

TEST(UrlX4, DecodesOnce) {
  // A second decoding would make these climb; as data they are odd names, nothing more.
  EXPECT_EQ(decode_path("/%252e%252e/a").value(), (Segments{"%2e%2e", "a"}));
  EXPECT_EQ(decode_path("/..%252fetc").value(), (Segments{"..%2fetc"}));
  EXPECT_EQ(decode_path("/%2500").value(), (Segments{"%00"}));
  // ';' has no meaning.
  EXPECT_EQ(decode_path("/..;/a;v=1").value(), (Segments{"..;", "a;v=1"}));
  EXPECT_EQ(decode_path("/...").value(), (Segments{"..."}));
  EXPECT_EQ(decode_path("/a+b").value(), (Segments{"a+b"}));
}

TEST(Url, AnEncodedSlashIsData) {
  const Target target = parse_target("/runs/a%2Fb/c").value();
  EXPECT_EQ(target.segments, (Segments{"runs", "a/b", "c"}));
  EXPECT_EQ(target.path, "/runs/a%2Fb/c");
}

TEST(Url, ParsesPathAndQuery) {
  const Target target = parse_target("/r%C3%BCn/%E4%B8%AD?a=1&b=x%20y+z&a=2&flag&=v&c=%26%3d&").value();
  EXPECT_EQ(target.segments, (Segments{"rün", "中"}));
  EXPECT_EQ(target.path, "/rün/中");
  EXPECT_EQ(target.query, (std::multimap<std::string, std::string>{
                              {"a", "1"}, {"a", "2"}, {"b", "x y z"}, {"c", "&="}, {"flag", ""}, {"", "v"}}));
  EXPECT_TRUE(parse_target("/").value().segments.empty());
  EXPECT_EQ(parse_target("/").value().path, "/");
  EXPECT_EQ(parse_target("?a=1").value().path, "/");
  EXPECT_EQ(parse_target("http://example.org:80/a/b?c=d").value().path, "/a/b");
  EXPECT_EQ(parse_target("HTTP://example.org").value().path, "/");
  EXPECT_EQ(parse_target("http://example.org?a=b").value().query.count("a"), 1u);
}

TEST(Url, RefusesBadQueries) {
  for (const char* target : {"/?a=%", "/?a=%4", "/?%zz=1", "/?a=%ff", "/?a=%00"}) {
    const auto parsed = parse_target(target);
    ASSERT_FALSE(parsed) << target;
    EXPECT_EQ(parsed.error().field, "query");
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
  }
}

RC_GTEST_PROP(UrlX4, WhateverIsAcceptedIsHarmless, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "/", ".", "..", "%2e", "%2F", "%5c", "\\", "%00", "a", "%25", "2e", "%c0%ae", ";", "%", "\xff", "?", "{id}"));
  std::string raw = "/";
  for (const std::string& piece : pieces) raw += piece;
  const auto target = parse_target(raw);
  if (!target) return;
  for (const std::string& segment : target->segments) {
    RC_ASSERT(is_valid_utf8(segment));
    RC_ASSERT(segment.find('\\') == std::string::npos);
    RC_ASSERT(segment.find('\0') == std::string::npos);
    for (const std::string& part : split(segment, '/')) {
      RC_ASSERT(!part.empty());
      RC_ASSERT(part != ".");
      RC_ASSERT(part != "..");
    }
  }
  RC_ASSERT(target->path.find("//") == std::string::npos);
}

RC_GTEST_PROP(Url, EncodingASegmentAndDecodingItGivesItBack, (const std::vector<std::string>& raw)) {
  std::string path;
  Segments expected;
  for (std::string segment : raw) {
    // What cannot be a segment is left out: that is the other tests' matter.
    std::erase_if(segment, [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\' || c == '/' || c == '\xc2';
    });
    segment = to_valid_utf8(segment);
    if (segment.empty() || segment == "." || segment == "..") continue;
    path += "/" + url_encode(segment);
    expected.push_back(segment);
  }
  if (path.empty()) path = "/";
  RC_ASSERT(decode_path(path).value() == expected);
}

TEST(Url, EncodesEverythingButUnreserved) {
  EXPECT_EQ(url_encode("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(url_encode("a/b c%?&=+\xff"), "a%2Fb%20c%25%3F%26%3D%2B%FF");
}

}  // namespace
}  // namespace orbit::net
