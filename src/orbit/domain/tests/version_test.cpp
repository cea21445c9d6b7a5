#include "orbit/domain/version.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace orbit {
namespace {

struct Spelling {
  const char* text;
  const char* name;
  std::vector<std::int64_t> numbers;
  const char* local = "";
};

// N3: "versions are parsed from the many ways people write them".
const std::vector<Spelling> spellings{
    // Plain numbers.
    {"3", "", {3}},
    {"3.10", "", {3, 10}},
    {"3.10.9", "", {3, 10, 9}},
    {" 3.10 ", "", {3, 10}},
    {"0.4.0", "", {0, 4, 0}},
    {"12.1", "", {12, 1}},
    {"20.04", "", {20, 4}},
    {"535.104.05", "", {535, 104, 5}},
    {"2024.1.0.3.7", "", {2024, 1, 0, 3, 7}},
    // v and its longer forms.
    {"v2.1.0", "", {2, 1, 0}},
    {"V2.1", "", {2, 1}},
    {"v 2.1", "", {2, 1}},
    {"version 12.1", "", {12, 1}},
    {"Version: 12.1", "?", {}},
    {"release 12.1", "", {12, 1}},
    {"ver2.0", "", {2, 0}},
    {"r535", "", {535}},
    // Local parts.
    {"2.1.0+cu118", "", {2, 1, 0}, "cu118"},
    {"v2.1.0+cu118", "", {2, 1, 0}, "cu118"},
    {"2.1.0+CPU", "", {2, 1, 0}, "cpu"},
    {"2.1.0+computecanada", "", {2, 1, 0}, "computecanada"},
    {"0.4.23+cuda12.cudnn89", "", {0, 4, 23}, "cuda12.cudnn89"},
    // Pre-releases, post-releases, Debian revisions and epochs.
    {"2.1.0rc1", "", {2, 1, 0}},
    {"2.1.0a0+git1234", "", {2, 1, 0}, "git1234"},
    {"2.1.0.dev20230901+cu121", "", {2, 1, 0}, "cu121"},
    {"1.24.2.post1", "", {1, 24, 2}},
    {"3.13.0b2", "", {3, 13, 0}},
    {"1.24.2-1+b1", "", {1, 24, 2}},
    {"535.104.05-0ubuntu1", "", {535, 104, 5}},
    {"1:1.24.2-1", "", {1, 24, 2}},
    {"2!1.0", "", {1, 0}},
    {"6.1.0-18-amd64", "", {6, 1, 0}},
    {"12~rc1", "", {12}},
    // CUDA.
    {"cu121", "", {12, 1}},
    {"CU118", "", {11, 8}},
    {"cu102", "", {10, 2}},
    {"cu92", "", {9, 2}},
    {"cu12", "", {12}},
    {"cu12.4", "", {12, 4}},
    {"cuda12.1", "", {12, 1}},
    {"cuda 12.1", "", {12, 1}},
    {"CUDA 12.1.1", "", {12, 1, 1}},
    {"cuda-12.1", "", {12, 1}},
    {"cuda_12.1", "", {12, 1}},
    {"cuda-12-1", "", {12, 1}},
    {"cuda118", "", {11, 8}},
    {"cuda11", "", {11}},
    {"CUDA Version 12.2", "", {12, 2}},
    // Python.
    {"python3.10", "", {3, 10}},
    {"Python 3.10.12", "", {3, 10, 12}},
    {"python-3.11", "", {3, 11}},
    {"CPython 3.12.1", "", {3, 12, 1}},
    {"py310", "", {3, 10}},
    {"py39", "", {3, 9}},
    {"py3", "", {3}},
    {"cp311", "", {3, 11}},
    {"3.10.x", "", {3, 10}},
    {"3.10.*", "", {3, 10}},
    // Drivers.
    {"driver 535.104.05", "", {535, 104, 5}},
    {"NVIDIA driver 550.54.14", "", {550, 54, 14}},
    {"nvidia-550", "", {550}},
    // Operating systems.
    {"ubuntu20.04", "ubuntu", {20, 4}},
    {"Ubuntu 20.04", "ubuntu", {20, 4}},
    {"ubuntu-22.04", "ubuntu", {22, 4}},
    {"ubuntu_22.04", "ubuntu", {22, 4}},
    {"Ubuntu 20.04.6 LTS", "ubuntu", {20, 4, 6}},
    {"Ubuntu 22.04.3 LTS (Jammy Jellyfish)", "ubuntu", {22, 4, 3}},
    {"debian12", "debian", {12}},
    {"debian 12", "debian", {12}},
    {"Debian GNU/Linux 12 (bookworm)", "debian", {12}},
    {"CentOS Linux 7 (Core)", "centos", {7}},
    {"Rocky Linux 9.2", "rocky", {9, 2}},
    {"Red Hat Enterprise Linux 8.6", "rhel", {8, 6}},
    {"rhel8", "rhel", {8}},
    {"fedora39", "fedora", {39}},
    {"bookworm", "debian", {12}},
    {"debian bookworm", "debian", {12}},
    {"jammy", "ubuntu", {22, 4}},
    {"ubuntu focal", "ubuntu", {20, 4}},
    {"debian", "debian", {}},
    {"torch 2.1.0+cu118", "torch", {2, 1, 0}, "cu118"},
};

TEST(Version, ReadsTheManySpellings_N3) {
  std::size_t read = 0;
  for (const Spelling& spelling : spellings) {
    SCOPED_TRACE(spelling.text);
    const auto version = parse_version(spelling.text);
    if (std::string_view(spelling.name) == "?") {
      EXPECT_FALSE(version);
      continue;
    }
    ASSERT_TRUE(version) << version.error().text();
    EXPECT_EQ(version->name, spelling.name);
    EXPECT_EQ(version->numbers, spelling.numbers);
    EXPECT_EQ(version->local, spelling.local);
    ++read;
  }
  EXPECT_GE(read, 60U);
}

TEST(Version, RefusesWhatIsNone) {
  for (const char* text : {"",
                           " ",
                           ".",
                           "+",
                           "latest",
                           "any",
                           "cuda",
                           "python",
                           "v",
                           ".5",
                           "-1",
                           "3.10 or later",
                           "3.10;rm -rf",
                           "$(id)",
                           "3..10",
                           "3.",
                           "3.10+",
                           "3.10+a b",
                           "99999999999999999999",
                           "3.10\n3.11",
                           "1,2",
                           ">=3",
                           "\xff\xfe",
                           "3.10 >=4",
                           "(12)",
                           "bookworm 12 x",
                           "1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1"})
    EXPECT_FALSE(parse_version(text)) << text;
  EXPECT_FALSE(parse_version(std::string(100'000, '1')));
  EXPECT_FALSE(parse_version(std::string_view("3.1\0000", 5)));
}

struct Match {
  const char* wanted;
  const char* found;
  bool matches;
};

TEST(Version, Matching_N3) {
  const std::vector<Match> table{
      // A bare version: major.minor, the patch ignored.
      {"3.10", "3.10.9", true},
      {"3.10.9", "3.10.2", true},
      {"3.10", "3.11.0", false},
      {"3.1", "3.10", false},
      {"3", "3.11.4", true},
      {"3", "2.7", false},
      {"3.10", "3", false},
      {"12.1", "cu121", true},
      {"cu121", "12.1.105", true},
      {"cu118", "12.1", false},
      {"535.104.05", "535.104.12", true},
      {"535.104.05", "535.129.03", false},
      {"535", "535.129.03", true},
      {"3.x", "3.9", true},
      {"3.10.*", "3.10.1", true},
      {"3.10.4.*", "3.10.5", false},
      // Names.
      {"ubuntu20.04", "Ubuntu 20.04.6 LTS", true},
      {"20.04", "ubuntu20.04", true},
      {"ubuntu20.04", "20.04", true},
      {"ubuntu12.04", "debian 12.4", false},
      {"debian", "Debian GNU/Linux 12 (bookworm)", true},
      {"debian", "ubuntu 22.04", false},
      {"debian", "12", false},
      {"debian bookworm", "debian 12.5", true},
      {">=ubuntu20.04", "ubuntu 22.04", true},
      {">=ubuntu20.04", "debian 22.04", false},
      {"!=ubuntu20.04", "debian 12", true},
      {"!=ubuntu20.04", "ubuntu 20.04", false},
      {"!=ubuntu", "debian 12", true},
      {"!=ubuntu", "ubuntu 22.04", false},
      // Exactly.
      {"==3.10", "3.10.0", true},
      {"==3.10", "3.10.9", false},
      {"==3.10.9", "v3.10.9", true},
      {"==3.10.*", "3.10.9", true},
      {"==3.10.*", "3.11.0", false},
      {"== 12.1", "12.1", true},
      // Local parts count where both sides have one.
      {"2.1.0+cu118", "2.1.0+cu121", false},
      {"2.1.0+cu118", "2.1.2+cu118", true},
      {"2.1.0+cu118", "2.1.0", true},
      {"==2.1.0", "2.1.0+cu118", true},
      {"==2.1.0+cu118", "2.1.0+cu121", false},
      {">=2.1.0+cu118", "2.2.0+cu121", true},
      // Ranges.
      {">=12.1,<13", "12.1", true},
      {">=12.1,<13", "12.8", true},
      {">=12.1,<13", "13.0", false},
      {">=12.1,<13", "12.0.9", false},
      {" >= 12.1 , < 13 ", "12.2", true},
      {">3.10", "3.10", false},
      {">3.10", "3.10.1", true},
      {"<=3.10", "3.10.1", false},
      {"<=3.10", "3.10.0", true},
      {">=3.9", "3.10", true},
      {">=3.9,!=3.10.4", "3.10.4", false},
      {">=3.9,!=3.10.4", "3.10.5", true},
      {"!=3.10.*", "3.10.5", false},
      {"3.10,!=3.10.4", "3.10.4", false},
      {"~=2.1", "2.9", true},
      {"~=2.1", "3.0", false},
      {"~=2.1.3", "2.1.9", true},
      {"~=2.1.3", "2.2.0", false},
      // Any.
      {"any", "3.10", true},
      {"*", "what ever this is", true},
  };
  for (const Match& row : table) {
    const auto result = version_matches(row.wanted, row.found);
    ASSERT_TRUE(result) << row.wanted << " / " << row.found << ": " << result.error().text();
    EXPECT_EQ(*result, row.matches) << row.wanted << " / " << row.found;
  }
}

TEST(Version, RangesThatSayNothingAreRefused) {
  for (const char* text :
       {"", ",", ">=", ">=3,", "=3.10", "===3.10", "=>3.10", "any,3.10", "latest", ">=latest", ">=debian", ">=3.*",
        "~=3", "3.10 3.11", ">=12.1 <13", "^3.10", "*.3", "debian.*", "3.10|3.11"})
    EXPECT_FALSE(check_version_range(text)) << text;
  for (const char* text : {"any", "*", "3.10", ">=12.1,<13", "ubuntu20.04", "debian", "cu121", "==2.1.0+cu118", "3.x"})
    EXPECT_TRUE(check_version_range(text)) << text;
  EXPECT_FALSE(version_matches("3.10", "garbage"));
  const auto error = check_version_range("=3.10");
  EXPECT_NE(error.error().hint.find("=="), std::string::npos);
}

RC_GTEST_PROP(Version, ComparisonIsATotalOrderThatRangesFollow, ()) {
  const auto numbers = rc::gen::nonEmpty(
      rc::gen::resize(5, rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 4))));
  const auto write = [](const std::vector<std::int64_t>& list) {
    std::string out;
    for (const auto number : list) out += (out.empty() ? "" : ".") + std::to_string(number);
    return out;
  };
  const std::string a = write(*numbers);
  const std::string b = write(*numbers);
  const auto order = compare(parse_version(a).value(), parse_version(b).value());
  RC_ASSERT(version_matches("==" + a, b).value() == (order == 0));
  RC_ASSERT(version_matches("!=" + a, b).value() == (order != 0));
  RC_ASSERT(version_matches("<" + b, a).value() == (order < 0));
  RC_ASSERT(version_matches("<=" + b, a).value() == (order <= 0));
  RC_ASSERT(version_matches(">" + b, a).value() == (order > 0));
  RC_ASSERT(version_matches(">=" + b, a).value() == (order >= 0));
  RC_ASSERT(version_matches(a, a).value());
}

RC_GTEST_PROP(Version, AnyTextIsAVersionOrAnError, (const std::string& wanted, const std::string& found)) {
  const auto result = version_matches(wanted, found);
  if (!result) RC_ASSERT(!result.error().message.empty());
}

}  // namespace
}  // namespace orbit
