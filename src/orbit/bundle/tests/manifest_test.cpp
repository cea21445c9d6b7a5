#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "orbit/base/json.hpp"
#include "orbit/bundle/paths.hpp"
#include "support.hpp"

namespace orbit::bundle {
namespace {

TEST(CheckPath, AcceptsWhatCanBeFrozen) {
  for (const char* path : {"a", "inputs/code/train.py", "ünïcode/文件.txt", "with space", "-dash", ".hidden", "...",
                           "a..b", "$HOME", "'q\""})
    EXPECT_TRUE(check_path(path, "path")) << path << ": " << error_of(check_path(path, "path"));
}

// X4
TEST(CheckPath, X4RefusesWhatClimbsHidesOrConfuses) {
  const std::string nul("a\0b", 3);
  for (const std::string& path : {std::string(""),
                                  std::string("/"),
                                  std::string("/etc/passwd"),
                                  std::string(".."),
                                  std::string("../a"),
                                  std::string("a/.."),
                                  std::string("a/../b"),
                                  std::string("."),
                                  std::string("./a"),
                                  std::string("a/./b"),
                                  std::string("a//b"),
                                  std::string("a/"),
                                  std::string("a\\b"),
                                  std::string("..\\a"),
                                  std::string("a\nb"),
                                  std::string("a\tb"),
                                  std::string("a\x7f"),
                                  std::string("a\xc2\x85z"),
                                  std::string("\xff\xfe"),
                                  std::string("a\xc0\xaf"),
                                  nul,
                                  std::string(256, 'n'),
                                  std::string("a/") + std::string(256, 'n')}) {
    const auto checked = check_path(path, "the.field");
    ASSERT_FALSE(checked) << printable(path);
    EXPECT_EQ(checked.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(checked.error().field, "the.field");
  }
  std::string deep = "a";
  for (int i = 1; i < 64; ++i) deep += "/a";
  EXPECT_TRUE(check_path(deep, "path"));
  EXPECT_FALSE(check_path(deep + "/a", "path"));
  Limits limits;
  limits.max_path_bytes = 4;
  EXPECT_TRUE(check_path("abcd", "path", limits));
  EXPECT_FALSE(check_path("abcde", "path", limits));
}

RC_GTEST_PROP(CheckPath, X4AnAcceptedPathStaysBelowItsRoot, (std::string path)) {
  if (!check_path(path, "")) return;
  const fs::path normal = (fs::path("/root/of/all") / path).lexically_normal();
  RC_ASSERT(normal.string() == "/root/of/all/" + path);
}

RC_GTEST_PROP(Printable, X4IsAlwaysFitForATerminal, (std::string text)) {
  RC_ASSERT(is_printable(printable(text)));
}

TEST(Printable, ShowsWhatItHides) {
  EXPECT_EQ(printable("a\nb"), "a\\x0ab");
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("grün"), "grün");
  EXPECT_LT(printable(std::string(100'000, 'x')).size(), 400U);
}

BundleManifest some_manifest() {
  return BundleManifest{
      1, {entry_of("scripts/entrypoint.sh", "s", true), entry_of("inputs/code/a", "a"), entry_of("job.json", "{}")}};
}

// R5: the digest is a contract: this text may never change for schema 1.
TEST(Manifest, R5TextIsSortedCanonicalAndFixed) {
  const std::string text = manifest_text(some_manifest());
  EXPECT_EQ(text,
            "{\"files\":["
            "{\"executable\":false,\"path\":\"inputs/code/"
            "a\",\"sha256\":\"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\",\"size_bytes\":1},"
            "{\"executable\":false,\"path\":\"job.json\",\"sha256\":"
            "\"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\",\"size_bytes\":2},"
            "{\"executable\":true,\"path\":\"scripts/"
            "entrypoint.sh\",\"sha256\":\"043a718774c572bd8a25adbeb1bfcd5c0256ae11cecf9f9c3f925d0e52beaf89\",\"size_"
            "bytes\":1}"
            "],\"schema\":1}");
  EXPECT_EQ(manifest_digest(some_manifest()), Sha256::of(text));
  EXPECT_EQ(manifest_text(parse_manifest(text).value()), text);
}

TEST(Manifest, X4RefusesHostileLists) {
  const auto text_of = [](std::vector<FileEntry> files) {
    return json::canonical(json::from(BundleManifest{1, std::move(files)}));
  };
  const auto refused = [&](std::vector<FileEntry> files) {
    return error_of(parse_manifest(text_of(std::move(files))));
  };
  const FileEntry a = entry_of("inputs/a", "x");
  const FileEntry b = entry_of("inputs/b", "x");
  EXPECT_TRUE(parse_manifest(text_of({a, b})));
  EXPECT_NE(refused({a, a}).find("inputs/a: is listed twice"), std::string::npos);
  EXPECT_NE(refused({b, a}).find("out of order"), std::string::npos);
  EXPECT_NE(refused({a, entry_of("inputs/a/b", "x")}).find("listed as a file"), std::string::npos);
  // "a-" sorts between "a" and "a/b": the clash is not between neighbours.
  EXPECT_NE(refused({a, entry_of("inputs/a-", "x"), entry_of("inputs/a/b", "x")}).find("listed as a file"),
            std::string::npos);
  for (const std::string path : {"runtime/order.json", "artifacts/stdout", "bundle.json", "inputs", "scripts", "other",
                                 "inputs/../runtime/x", "/etc/passwd", "inputs//a", "inputs/a\n", "inputs/\xff"})
    EXPECT_NE(refused({entry_of(path, "x")}), "no error") << printable(path);
  FileEntry negative = a;
  negative.size_bytes = -1;
  EXPECT_NE(refused({negative}).find("negative"), std::string::npos);
  FileEntry huge = a;
  huge.size_bytes = 9'000'000'000;
  EXPECT_NE(refused({huge}).find("8.0 GiB"), std::string::npos);
  FileEntry most = a;
  most.size_bytes = std::numeric_limits<std::int64_t>::max();
  FileEntry more = b;
  more.size_bytes = std::numeric_limits<std::int64_t>::max();
  EXPECT_NE(refused({most, more}), "no error");
  FileEntry undigested = a;
  undigested.sha256 = {};
  EXPECT_NE(refused({undigested}).find("digest"), std::string::npos);
}

TEST(Manifest, X4RefusesOtherWaysOfSayingTheSame) {
  const std::string text = manifest_text(some_manifest());
  EXPECT_TRUE(parse_manifest(text));
  EXPECT_EQ(parse_manifest(text + "\n").error().code, ErrorCode::corrupt);
  EXPECT_EQ(parse_manifest(" " + text).error().code, ErrorCode::corrupt);
  std::string added = text;
  added.insert(1, "\"comment\":1,");
  EXPECT_EQ(parse_manifest(added).error().code, ErrorCode::corrupt);
  std::string twice = text;
  twice.insert(1, "\"files\":[],");
  EXPECT_FALSE(parse_manifest(twice));
  std::string newer = text;
  newer.replace(newer.find("\"schema\":1"), 10, "\"schema\":2");
  EXPECT_EQ(parse_manifest(newer).error().code, ErrorCode::unsupported);
  for (const std::string bad : {"", "{}", "[]", "{\"files\":3,\"schema\":1}", "not json"})
    EXPECT_FALSE(parse_manifest(bad)) << bad;
}

TEST(Manifest, LimitsOnNumberAreNamed) {
  BundleManifest manifest;
  for (int i = 0; i < 100'001; ++i) manifest.files.push_back(entry_of(fmt::format("inputs/{:06}", i), ""));
  const auto parsed = parse_manifest(manifest_text(manifest));
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::too_large);
  EXPECT_NE(parsed.error().message.find("100000"), std::string::npos);
  manifest.files.pop_back();
  EXPECT_TRUE(parse_manifest(manifest_text(manifest)));
}

TEST(ListDigest, DoesNotDependOnOrderAndDependsOnEverythingElse) {
  const FileEntry a = entry_of("a", "1");
  const FileEntry b = entry_of("b", "2");
  EXPECT_EQ(digest_of_list({a, b}), digest_of_list({b, a}));
  EXPECT_NE(digest_of_list({a, b}), digest_of_list({a}));
  EXPECT_NE(digest_of_list({a}), digest_of_list({entry_of("a", "1", true)}));
  EXPECT_NE(digest_of_list({a}), digest_of_list({entry_of("A", "1")}));
  EXPECT_NE(digest_of_list({a}), digest_of_list({entry_of("a", "2")}));
}

}  // namespace
}  // namespace orbit::bundle
