#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "orbit/base/digest.hpp"
#include "orbit/base/id.hpp"
#include "orbit/base/json.hpp"
#include "orbit/base/text.hpp"
#include "orbit/base/time.hpp"

namespace orbit {
namespace {

struct RunTag {
  static constexpr const char* name = "run id";
};

TEST(Ulid, KnownVectorAndOrder) {
  // 2016-07-30T22:36:16.385Z is 01ARYZ6S41 in the ULID specification's own example.
  const std::string id = make_ulid(WallTime{1469918176385}, {});
  EXPECT_EQ(id, "01aryz6s410000000000000000");
  EXPECT_TRUE(is_ulid(id));
  EXPECT_EQ(make_ulid(WallTime{0}, {255, 255, 255, 255, 255, 255, 255, 255, 255, 255}), "0000000000zzzzzzzzzzzzzzzz");
}

TEST(Ulid, RefusesWhatIsNotAnId) {
  for (const char* text : {"", "..", "../../etc/passwd", "01ARYZ6S410000000000000000", "01aryz6s41000000000000000",
                           "01aryz6s4100000000000000000", "01aryz6s41000000000000000i", "81aryz6s410000000000000000"})
    EXPECT_FALSE(Id<RunTag>::parse(text)) << text;
}

RC_GTEST_PROP(Ulid, EveryMadeIdParses, (std::uint32_t ms, std::array<std::uint8_t, 10> random)) {
  const auto id = Id<RunTag>::make(WallTime{ms}, random);
  RC_ASSERT(Id<RunTag>::parse(id.str()).value() == id);
}

RC_GTEST_PROP(Time, Rfc3339RoundTrips, ()) {
  const WallTime t{*rc::gen::inRange<std::int64_t>(-62135596800000 + 86400000, 253402300799999)};
  RC_ASSERT(parse_rfc3339(to_rfc3339(t)).value() == t);
}

TEST(Time, RefusesOtherSpellings) {
  for (const char* text : {"", "2026-11-30", "2026-11-30T02:28:58", "2026-13-30T02:28:58Z", "2026-11-30T02:28:58+01:00",
                           "-026-11-30T02:28:58Z", "2026-11-30T25:28:58Z"})
    EXPECT_FALSE(parse_rfc3339(text)) << text;
}

TEST(Time, Durations) {
  EXPECT_EQ(parse_duration_s("90").value(), 90);
  EXPECT_EQ(parse_duration_s("2h30m").value(), 9000);
  EXPECT_EQ(parse_duration_s("1d").value(), 86400);
  for (const char* text : {"", "-1s", "1x", "h", "1.5h", "99999999999999999999s"})
    EXPECT_FALSE(parse_duration_s(text)) << text;
}

TEST(Digest, KnownVector) {
  EXPECT_EQ(Sha256::of("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_FALSE(Digest::parse("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"));
}

TEST(Text, Sizes) {
  EXPECT_EQ(parse_bytes("20GiB").value(), 20LL << 30);
  EXPECT_EQ(parse_bytes("20 gib").value(), 20LL << 30);
  EXPECT_EQ(parse_bytes("1.5KB").value(), 1500);
  EXPECT_EQ(parse_bytes("7").value(), 7);
  for (const char* text : {"", "-1", "GiB", "1XB", "1e30GiB", "nan", "inf", "0.3"})
    EXPECT_FALSE(parse_bytes(text)) << text;
}

TEST(Text, Utf8) {
  EXPECT_TRUE(is_valid_utf8("größe 中文 🚀"));
  for (const char* text : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xe4\xb8"})
    EXPECT_FALSE(is_valid_utf8(text)) << text;
  EXPECT_EQ(to_valid_utf8("a\xff"
                          "b"),
            "a\xEF\xBF\xBD"
            "b");
}

RC_GTEST_PROP(Text, RepairedTextIsValid, (const std::string& bytes)) {
  RC_ASSERT(is_valid_utf8(to_valid_utf8(bytes)));
}

TEST(Text, NearestFindsTyposAndNothingElse) {
  EXPECT_EQ(nearest("resorces", {"resources", "image", "target"}), "resources");
  EXPECT_EQ(nearest("banana", {"resources", "image", "target"}), "");
}

enum class Colour { red, green };
BOOST_DESCRIBE_ENUM(Colour, red, green)
struct Inner {
  int x = 0;
  std::optional<std::string> note;
};
BOOST_DESCRIBE_STRUCT(Inner, (), (x, note))
struct Outer {
  Colour colour = Colour::red;
  std::vector<Inner> items;
  std::map<std::string, std::int64_t> sizes;
  WallTime at;
};
BOOST_DESCRIBE_STRUCT(Outer, (), (colour, items, sizes, at))

TEST(Json, RoundTrip) {
  const Outer outer{Colour::green, {{1, "a"}, {2, std::nullopt}}, {{"k", 9007199254740993}}, WallTime{1}};
  const std::string text = json::encode(outer);
  EXPECT_EQ(text,
            R"({"colour":"green","items":[{"x":1,"note":"a"},{"x":2,"note":null}],"sizes":{"k":9007199254740993},)"
            R"("at":"1970-01-01T00:00:00.001Z"})");
  const Outer back = json::decode<Outer>(text, json::From::user).value();
  EXPECT_EQ(json::encode(back), text);
}

TEST(Json, ErrorsNameThePath) {
  const auto error = [](std::string_view text) { return json::decode<Outer>(text, json::From::user).error(); };
  EXPECT_EQ(error(R"({"colour":"blue","at":"1970-01-01T00:00:00Z"})").field, "colour");
  EXPECT_EQ(error(R"({"colour":"red","items":[{"x":1},{"x":"a"}],"at":"1970-01-01T00:00:00Z"})").field, "items[1].x");
  EXPECT_EQ(error(R"({"colour":"red"})").field, "at");
  const Error unknown = error(R"({"color":"red","colour":"red","at":"1970-01-01T00:00:00Z"})");
  EXPECT_EQ(unknown.field, "color");
  EXPECT_NE(unknown.hint.find("colour"), std::string::npos);
  EXPECT_EQ(error(R"({"colour":"red","items":[{"x":3000000000}],"at":"1970-01-01T00:00:00Z"})").field, "items[0].x");
}

TEST(Json, UnknownMembersAreIgnoredBetweenOurOwnParts) {
  EXPECT_TRUE(json::decode<Inner>(R"({"x":1,"added_later":true})", json::From::ours));
}

TEST(Json, DeepAndBrokenTextIsRefused) {
  EXPECT_FALSE(json::parse(std::string(100'000, '[')));
  EXPECT_FALSE(json::parse("{\"a\":1"));
  EXPECT_FALSE(json::parse("{} x"));
  EXPECT_FALSE(json::parse(""));
}

TEST(Json, CanonicalSortsKeys) {
  EXPECT_EQ(json::canonical(json::parse(R"({ "b": [1, true, null], "a": {"z": "\u00e9", "y": 2}})").value()),
            "{\"a\":{\"y\":2,\"z\":\"é\"},\"b\":[1,true,null]}");
}

}  // namespace
}  // namespace orbit
