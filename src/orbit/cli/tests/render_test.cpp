#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orbit/base/text.hpp"
#include "orbit/cli/progress.hpp"
#include "orbit/cli/render.hpp"

namespace orbit::cli {
namespace {

TEST(Escape, X4WhatATerminalObeysIsShown) {
  EXPECT_EQ(escape("plain ü 漢"), "plain ü 漢");
  EXPECT_EQ(escape("a\nb\tc\r"), "a\\nb\\tc\\r");
  EXPECT_EQ(escape("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(escape(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(escape("\xc2\x9b"), "\\u{9b}");        // C1: a one-character CSI
  EXPECT_EQ(escape("\xe2\x80\xae"), "\\u{202e}");  // right-to-left override
  EXPECT_EQ(escape("\xff"), "\xef\xbf\xbd");
}

RC_GTEST_PROP(EscapeProperty, X4NothingThatControlsATerminalRemains, (const std::string& text)) {
  const std::string shown = escape(text);
  RC_ASSERT(is_valid_utf8(shown));
  for (const char c : shown) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

TEST(Width, CountsColumns) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("漢字"), 4U);
  EXPECT_EQ(display_width("e\xcc\x81"), 1U);  // combining accent
  EXPECT_EQ(shorten("abcdef", 4), "abc…");
  EXPECT_EQ(shorten("漢字漢字", 4), "漢…");
  EXPECT_EQ(shorten("abcd", 4), "abcd");
  EXPECT_EQ(shorten("abcd", 0), "");
}

TEST(Ago, SaysHowLong) {
  const WallTime now{1'000'000'000};
  EXPECT_EQ(ago(now, now), "now");
  EXPECT_EQ(ago(WallTime{now.ms - 12'000}, now), "12s ago");
  EXPECT_EQ(ago(WallTime{now.ms - 200'000}, now), "3m ago");
  EXPECT_EQ(ago(WallTime{now.ms - 7'200'000}, now), "2h ago");
  EXPECT_EQ(ago(WallTime{now.ms - 3 * 86'400'000}, now), "3d ago");
  EXPECT_EQ(ago(WallTime{now.ms + 200'000}, now), "in 3m");
}

TEST(TableText, AlignsAndColours) {
  Table table({{"NAME"}, {"N", true}});
  table.add({{"long-name"}, {"1"}});
  table.add({{"漢字", Colour::red}, {"100"}});
  EXPECT_EQ(table.text(0, false), "NAME         N\nlong-name    1\n漢字       100\n");
  EXPECT_NE(table.text(0, true).find("\x1b[31m漢字\x1b[0m"), std::string::npos);
}

TEST(TableText, U2FitsTheTerminalByShorteningWhatMayGiveWay) {
  Table table({{"NAME", false, true}, {"STATE"}, {"WHY", false, true}});
  table.add({{std::string(60, 'a')}, {"succeeded"}, {std::string(90, 'b')}});
  for (const std::string& line : split(table.text(80, false), '\n')) EXPECT_LE(display_width(line), 80U) << line;
  EXPECT_NE(table.text(80, false).find("succeeded"), std::string::npos);
  EXPECT_NE(table.text(0, false).find(std::string(90, 'b')), std::string::npos);  // not a terminal: nothing is lost
}

TEST(TableText, X4CellsAreEscaped) {
  Table table({{"NAME"}});
  table.add({{"evil\x1b]0;title\x07\nsecond"}});
  EXPECT_EQ(table.text(0, false), "NAME\nevil\\x1b]0;title\\x07\\nsecond\n");
}

TEST(FieldsText, LeavesEmptyOnesOut) {
  Fields fields;
  fields.add("run", "a");
  fields.add("experiment", "");
  fields.add("state", "failed");
  EXPECT_EQ(fields.text(false), "run:   a\nstate: failed\n");
}

TEST(ProgressLine, NeverWiderThanTheTerminal) {
  EXPECT_EQ(progress_line("uploading", 512, 1024, 60), "uploading  [##########-----------]   50 %  512 B of 1.0 KiB");
  for (int width = 10; width < 200; ++width)
    for (const std::int64_t done : {0, 700, 1024, 5000})
      EXPECT_LT(display_width(progress_line("uploading", done, 1024, width)),
                static_cast<std::size_t>(std::max(width, 11)));
  EXPECT_NE(progress_line("x", 0, 0, 80).find("100 %"), std::string::npos);
}

}  // namespace
}  // namespace orbit::cli
