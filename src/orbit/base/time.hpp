// Times are values, passed in; nothing below `ports/` reads a clock.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "orbit/base/result.hpp"

namespace orbit {

// UTC, milliseconds since 1970. For records and for people; never for measuring a span.
struct WallTime {
  std::int64_t ms = 0;
  auto operator<=>(const WallTime&) const = default;
};

// Milliseconds of CLOCK_BOOTTIME: does not step, counts suspend. For deadlines. Meaningless across boots.
struct MonoTime {
  std::int64_t ms = 0;
  auto operator<=>(const MonoTime&) const = default;
};

// The clocks read at one instant; what every decision gets as `now`.
struct Now {
  WallTime wall;
  MonoTime mono;
  // UTC that does not step: the wall clock at the start of the process plus what the monotonic clock counted since. Due
  // times (timers, back-off) are compared with it, so that setting the machine's clock fires nothing early and delays
  // nothing. Filled by control::Engine.
  WallTime steady;
};

// RFC 3339 in UTC with milliseconds: 2026-11-30T02:28:58.123Z
std::string to_rfc3339(WallTime time);
Result<WallTime> parse_rfc3339(std::string_view text);
// 20261130T022858Z, for directory names.
std::string to_compact(WallTime time);

// "90", "90s", "15m", "2h30m", "1d" -> seconds. Negative, empty and unknown units are errors.
Result<std::int64_t> parse_duration_s(std::string_view text);
// 3725 -> "1h 2m 5s"
std::string human_duration(std::int64_t seconds);

}  // namespace orbit
