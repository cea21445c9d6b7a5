#include "orbit/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace orbit {
namespace {

// Length of the valid UTF-8 sequence at the front (RFC 3629: no overlong forms, no surrogates), 0 if there is none.
std::size_t utf8_sequence(std::string_view s) {
  const auto at = [&](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0U; };
  const auto cont = [&](std::size_t i) { return (at(i) & 0xc0U) == 0x80U; };
  const unsigned b = at(0);
  if (b < 0x80) return 1;
  if (b >= 0xc2 && b <= 0xdf) return cont(1) ? 2 : 0;
  if (b >= 0xe0 && b <= 0xef) {
    if (!cont(1) || !cont(2)) return 0;
    if ((b == 0xe0 && at(1) < 0xa0) || (b == 0xed && at(1) > 0x9f)) return 0;
    return 3;
  }
  if (b >= 0xf0 && b <= 0xf4) {
    if (!cont(1) || !cont(2) || !cont(3)) return 0;
    if ((b == 0xf0 && at(1) < 0x90) || (b == 0xf4 && at(1) > 0x8f)) return 0;
    return 4;
  }
  return 0;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t n = utf8_sequence(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::string to_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t n = utf8_sequence(text);
    if (n == 0) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      out.append(text.substr(0, n));
      text.remove_prefix(n);
    }
  }
  return out;
}

Result<void> check_name(std::string_view name, std::string_view field) {
  const auto ok = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const bool valid =
      !name.empty() && name.size() <= 63 && ok(name[0]) &&
      std::all_of(name.begin(), name.end(), [&](char c) { return ok(c) || c == '.' || c == '_' || c == '-'; });
  if (valid) return {};
  return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a name", to_valid_utf8(name.substr(0, 80))),
              std::string(field), "1 to 63 of a-z, 0-9, '.', '_', '-', beginning with a letter or digit");
}

std::string nearest(std::string_view wanted, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(wanted, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += separator;
    out += part;
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(separator, at);
    out.emplace_back(text.substr(at, end == std::string_view::npos ? end : end - at));
    if (end == std::string_view::npos) return out;
    at = end + 1;
  }
}

Result<std::int64_t> parse_bytes(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a size", text.substr(0, 40)), {},
                "write bytes, or 512MiB, 20GiB, 1.5TB");
  };
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !(value >= 0)) return bad();
  std::string unit;
  for (const char c : text.substr(static_cast<std::size_t>(end - text.data())))
    if (c != ' ') unit += static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  double scale = 1;
  if (!unit.empty() && unit != "B") {
    constexpr std::string_view prefixes = "KMGTP";
    const std::size_t power = prefixes.find(unit[0]);
    if (power == std::string_view::npos) return bad();
    const std::string rest = unit.substr(1);
    if (rest != "IB" && rest != "I" && rest != "B" && !rest.empty()) return bad();
    scale = std::pow(rest == "B" ? 1000.0 : 1024.0, static_cast<double>(power) + 1);
  }
  const double bytes = value * scale;
  if (!(bytes < 9.2e18) || std::floor(bytes) != bytes) return bad();
  return static_cast<std::int64_t>(bytes);
}

std::string human_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 6> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string counted(std::int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : thing.ends_with('s') ? "es" : "s");
}

std::string shell_quote(std::string_view word) {
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

}  // namespace orbit
