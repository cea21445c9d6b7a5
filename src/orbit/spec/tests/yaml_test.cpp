#include "orbit/spec/yaml.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <fstream>

#include "orbit/spec/scalar.hpp"

namespace orbit::spec {
namespace {

std::string error_of(std::string_view text) {
  const auto document = YamlDocument::parse(text, "f.yaml");
  return document ? "" : document.error().text();
}

TEST(Yaml, TypedAndAsText) {
  const auto document = YamlDocument::parse(
      "a: 1.0\n"
      "b: '1.0'\n"
      "c: true\n"
      "d: yes\n"
      "e: 007\n"
      "f: ~\n"
      "g: [1, two, {x: -0.5e3}]\n"
      "h: .5\n"
      "i: 0x10\n",
      "f.yaml");
  ASSERT_TRUE(document) << document.error().text();
  EXPECT_EQ(
      json::canonical(document->to_json(true)),
      R"({"a":"1.0","b":"1.0","c":"true","d":"yes","e":"007","f":null,"g":["1","two",{"x":"-0.5e3"}],"h":".5","i":"0x10"})");
  const json::Value typed = document->to_json(false);
  EXPECT_EQ(typed.at("a"), json::Value(1.0));
  EXPECT_EQ(typed.at("b"), json::Value("1.0"));
  EXPECT_EQ(typed.at("c"), json::Value(true));
  EXPECT_EQ(typed.at("d"), json::Value("yes"));
  EXPECT_EQ(typed.at("e"), json::Value("007"));
  EXPECT_TRUE(typed.at("f").is_null());
  EXPECT_EQ(typed.at("g").at(2).at("x"), json::Value(-500.0));
  EXPECT_EQ(typed.at("h"), json::Value(".5"));
}

TEST(Yaml, SourceTextKeepsNumbersAsWritten) {
  const auto document = YamlDocument::parse(
      "p:\n"
      "  lr: 0.10\n"
      "  big: 123456789012345678901234567890\n"
      "  quoted: \"0.10\"\n"
      "  flag: True\n"
      "  word: hello world\n"
      "  list: [1.0, 2.50, 'x\"y', true, null]\n"
      "  map: {a: 1e-3, b: [~]}\n"
      "  folded: |\n"
      "    one\n"
      "    two\n"
      "  map.a: 2\n",
      "f.yaml");
  ASSERT_TRUE(document) << document.error().text();
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(document->source_texts("p"), (Pairs{{"lr", "0.10"},
                                                {"big", "123456789012345678901234567890"},
                                                {"quoted", "\"0.10\""},
                                                {"flag", "true"},
                                                {"word", "hello world"},
                                                {"list", R"([1.0,2.50,"x\"y",true,null])"},
                                                {"map", R"({"a":1e-3,"b":[null]})"},
                                                {"folded", R"("one\ntwo\n")"},
                                                {"map.a", "2"}}));
  EXPECT_TRUE(document->source_texts("p.lr").empty());
  EXPECT_TRUE(document->source_texts("nothing").empty());
}

TEST(Yaml, LinesOfPathsAlsoWhereKeysHoldDots) {
  const auto document = YamlDocument::parse(
      "# comment\n"
      "a:\n"
      "  b:\n"
      "    - 1\n"
      "    - c: 2\n"
      "  resources.gpus: 3\n"
      "a.x: 4\n",
      "f.yaml");
  ASSERT_TRUE(document) << document.error().text();
  EXPECT_EQ(document->line_of("a"), 2);
  EXPECT_EQ(document->line_of("a.b"), 3);
  EXPECT_EQ(document->line_of("a.b[1]"), 5);
  EXPECT_EQ(document->line_of("a.b[1].c"), 5);
  EXPECT_EQ(document->line_of("a.resources.gpus"), 6);
  EXPECT_EQ(document->line_of("a.x"), 7);
  EXPECT_EQ(document->line_of("a.b[2]"), 0);
  EXPECT_EQ(document->line_of("a.b[99999999999999999999]"), 0);
  EXPECT_EQ(document->line_of("a..b"), 0);
  EXPECT_EQ(document->locate(Error{ErrorCode::invalid_argument, "is missing", "a.b[1].d"}).text(),
            "f.yaml:5: a.b[1].d: is missing");
  EXPECT_EQ(document->locate(Error{ErrorCode::invalid_argument, "is missing", ""}).text(), "f.yaml:2: is missing");
}

TEST(Yaml, RefusesBombsAndTricks_X4) {
  EXPECT_NE(error_of("a: &x 1\nb: *x\n").find("f.yaml:1: anchors and aliases"), std::string::npos)
      << error_of("a: &x 1\nb: *x\n");
  EXPECT_NE(error_of("a: 1\nb: *x\n").find("f.yaml:2: anchors and aliases"), std::string::npos)
      << error_of("a: 1\nb: *x\n");
  EXPECT_NE(error_of("a: &x [1]\n").find("anchors"), std::string::npos);
  EXPECT_NE(error_of("a: &x {b: 1}\n").find("anchors"), std::string::npos);
  EXPECT_NE(error_of("a: !!python/object:os.system x\n").find("f.yaml:1: tags"), std::string::npos);
  EXPECT_NE(error_of("a: !!map {b: 1}\n").find("tags"), std::string::npos);
  EXPECT_NE(error_of("a: 1\nb: 2\na: 3\n").find("f.yaml:3: the key 'a' stands here twice"), std::string::npos)
      << error_of("a: 1\nb: 2\na: 3\n");
  EXPECT_NE(error_of("a: {b: 1, 'b': 2}\n").find("twice"), std::string::npos);
  EXPECT_NE(error_of("? [a]\n: 1\n").find("a key must be a word"), std::string::npos);
  EXPECT_NE(error_of("a: 1\n---\nb: 2\n").find("second document"), std::string::npos);
  EXPECT_NE(error_of("").find("says nothing"), std::string::npos);
  EXPECT_NE(error_of("# only a comment\n").find("says nothing"), std::string::npos);
  EXPECT_NE(error_of("a: \xff\n").find("f.yaml:1: not valid UTF-8"), std::string::npos);
  EXPECT_NE(error_of("a: 1\nb: \xc3(\n").find("f.yaml:2: not valid UTF-8"), std::string::npos);
  EXPECT_NE(error_of(std::string_view("a: 1\nb: x\0y\n", 12)).find("f.yaml:2: a control character (0x00)"),
            std::string::npos);
  EXPECT_NE(error_of("a: \x1b[31m\n").find("control character"), std::string::npos);
  EXPECT_NE(error_of("a: [1, 2\n").find("not YAML"), std::string::npos);
  for (const char* text : {"a: 'x\n", "a: \"x\n", "a: 'x\nb: 1\n", "a: 'it''s\n", "a: \"x\\\"\n", "\xC3\xA9: 'x\n",
                           "a: \"\xE2\x82\xAC\nb: c\n"})
    EXPECT_EQ(error_of(text), "f.yaml:1: a quotation mark is not closed") << text;
  EXPECT_EQ(error_of("\xC3\xA9: 'it''s'\nb: \"\xE2\x82\xAC \\\" \"\n\xE2\x82\xAC: ''\nc: \"\"\r\nd: 'x'\r\n"), "");
  EXPECT_NE(error_of("a:\n\t- b\n").find("not YAML"), std::string::npos);
  EXPECT_NE(error_of("a: b: c\n").find("not YAML"), std::string::npos);
}

TEST(Yaml, DepthAndSizeAreBounded_X4) {
  for (const char* opening : {"[", "{a: ", "{", "- ", "? ", "[{", "!a [", "- - ? "}) {
    std::string text;
    while (text.size() < 200'000) text += opening;
    const auto before = std::chrono::steady_clock::now();
    EXPECT_NE(error_of(text), "") << opening;
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20)) << opening;
  }
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "[";
  for (int i = 0; i < 100'000; ++i) nested += "]";
  EXPECT_NE(error_of("a: " + nested).find("64 levels"), std::string::npos);
  std::string block;
  for (int i = 0; i < 100; ++i) block += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_NE(error_of(block + std::string(100, ' ') + "b").find("64 levels"), std::string::npos);
  std::string allowed = "a: ";
  for (int i = 0; i < 63; ++i) allowed += "[";
  for (int i = 0; i < 63; ++i) allowed += "]";
  EXPECT_EQ(error_of(allowed), "");

  const auto large = YamlDocument::parse("a: " + std::string(2 << 20, 'x'), "f.yaml");
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::too_large);
  std::string many = "a: [";
  for (int i = 0; i < 200'000; ++i) many += "1,";
  EXPECT_NE(error_of(many + "1]").find("more than 100000 values"), std::string::npos);
}

TEST(Yaml, LoadNamesTheFile) {
  const auto missing = YamlDocument::load("/nonexistent/x.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().field, "/nonexistent/x.yaml");
  const auto device = YamlDocument::load("/dev/zero");
  ASSERT_FALSE(device);
  EXPECT_NE(device.error().message.find("regular"), std::string::npos);
  EXPECT_FALSE(YamlDocument::load("/tmp"));
}

TEST(Scalar, JsonNumbers) {
  for (const char* text : {"0", "-0", "1", "-12", "0.10", "1e5", "1E+05", "-0.5e-3", "123456789012345678901234567890"})
    EXPECT_TRUE(is_json_number(text)) << text;
  for (const char* text :
       {"", "-", "+1", "01", "007", ".5", "1.", "1e", "1e+", "0x10", "1_000", " 1", "1 ", "NaN", "inf", "1.2.3", "--1"})
    EXPECT_FALSE(is_json_number(text)) << text;
}

RC_GTEST_PROP(Yaml, AnyTextIsADocumentOrAnErrorWithAFile, (const std::string& text)) {
  const auto document = YamlDocument::parse(text, "f.yaml");
  if (!document) RC_ASSERT(document.error().field.starts_with("f.yaml"));
}

RC_GTEST_PROP(Yaml, PunctuationIsADocumentOrAnError, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("[]{}:-?,&*!|>'\"%@`#ab1 \n\n  ")));
  const auto document = YamlDocument::parse(text, "f.yaml");
  if (document) {
    document->to_json(true);
    document->to_json(false);
  } else {
    RC_ASSERT(!document.error().message.empty());
  }
}

RC_GTEST_PROP(Scalar, NumbersAreWhatTheParserTakes, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("00112.-+eE")));
  const auto parsed = json::parse(text);
  RC_ASSERT(is_json_number(text) == (parsed.has_value() && parsed->is_number()));
}

}  // namespace
}  // namespace orbit::spec
