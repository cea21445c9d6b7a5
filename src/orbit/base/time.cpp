#include "orbit/base/time.hpp"

#include <charconv>
#include <cstdio>
#include <ctime>
#include <limits>

namespace orbit {
namespace {

std::tm utc(std::int64_t seconds) {
  std::tm tm{};
  const std::time_t t = seconds;
  gmtime_r(&t, &tm);
  return tm;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace

std::string to_rfc3339(WallTime time) {
  const std::int64_t s = floor_div(time.ms, 1000);
  const std::tm tm = utc(s);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
                     tm.tm_hour, tm.tm_min, tm.tm_sec, time.ms - s * 1000);
}

std::string to_compact(WallTime time) {
  const std::tm tm = utc(floor_div(time.ms, 1000));
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
                     tm.tm_min, tm.tm_sec);
}

Result<WallTime> parse_rfc3339(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a time", text.substr(0, 40)), {},
                "write UTC as 2026-11-30T02:28:58.123Z");
  };
  std::tm tm{};
  std::size_t at = 0;
  const auto number = [&](std::size_t digits, int& out, char separator) {
    if (at + digits > text.size()) return false;
    const auto* begin = text.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + digits, out);
    if (error != std::errc{} || end != begin + digits || *begin == '-') return false;
    at += digits;
    if (separator == 0) return true;
    return at < text.size() && (text[at] == separator || (separator == 'T' && text[at] == 't')) && ++at > 0;
  };
  int year = 0, month = 0;
  if (!number(4, year, '-') || !number(2, month, '-') || !number(2, tm.tm_mday, 'T') || !number(2, tm.tm_hour, ':') ||
      !number(2, tm.tm_min, ':') || !number(2, tm.tm_sec, 0))
    return bad();
  if (month < 1 || month > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 ||
      tm.tm_sec > 60)
    return bad();
  std::int64_t ms = 0;
  if (at < text.size() && text[at] == '.') {
    std::int64_t scale = 100;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, scale /= 10)
      ms += (text[at] - '0') * scale;
  }
  if (at + 1 != text.size() || (text[at] != 'Z' && text[at] != 'z')) return bad();
  tm.tm_year = year - 1900;
  tm.tm_mon = month - 1;
  return WallTime{static_cast<std::int64_t>(timegm(&tm)) * 1000 + ms};
}

Result<std::int64_t> parse_duration_s(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a duration", text.substr(0, 40)), {},
                "write 90s, 15m, 2h30m or 1d");
  };
  constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max() / 100'000;
  if (text.empty()) return bad();
  std::int64_t total = 0;
  while (!text.empty()) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value < 0 || value > limit || text[0] == '-') return bad();
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    std::int64_t unit = 1;
    if (!text.empty()) {
      switch (text[0]) {
        case 's':
          unit = 1;
          break;
        case 'm':
          unit = 60;
          break;
        case 'h':
          unit = 3600;
          break;
        case 'd':
          unit = 86400;
          break;
        default:
          return bad();
      }
      text.remove_prefix(1);
    }
    total += value * unit;
    if (total > limit) return bad();
  }
  return total;
}

std::string human_duration(std::int64_t seconds) {
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m {}s", seconds / 60, seconds % 60);
  if (seconds < 86400) return fmt::format("{}h {}m {}s", seconds / 3600, seconds / 60 % 60, seconds % 60);
  return fmt::format("{}d {}h {}m", seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60);
}

}  // namespace orbit
