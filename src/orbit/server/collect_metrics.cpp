#include <cmath>

#include "orbit/base/json.hpp"
#include "orbit/server/collect.hpp"

namespace orbit::server {
namespace {

constexpr std::size_t read_bytes = 512 * 1024;
constexpr std::size_t max_line_bytes = 64 * 1024;
constexpr std::size_t max_name_bytes = 128;
constexpr double last_second = 253'402'300'799.0;  // of the year 9999

std::optional<double> number_of(const json::Value& value) {
  double number = 0;
  if (value.is_int64())
    number = static_cast<double>(value.get_int64());
  else if (value.is_uint64())
    number = static_cast<double>(value.get_uint64());
  else if (value.is_double())
    number = value.get_double();
  else
    return std::nullopt;
  if (!std::isfinite(number)) return std::nullopt;  // 1e999
  return number;
}

std::optional<std::int64_t> step_of(const json::Object& line) {
  const json::Value* value = line.if_contains("step");
  if (value == nullptr) return std::nullopt;
  if (value->is_int64()) return value->get_int64();
  // 3.0, as some writers have it; exact up to 2^53.
  if (value->is_double() && std::abs(value->get_double()) <= 9007199254740992.0 &&
      std::trunc(value->get_double()) == value->get_double())
    return static_cast<std::int64_t>(value->get_double());
  return std::nullopt;
}

std::optional<WallTime> time_of(const json::Value& value) {
  if (value.is_string()) {
    auto time = parse_rfc3339(std::string_view(value.get_string()));
    return time ? std::optional(*time) : std::nullopt;
  }
  const auto seconds = number_of(value);
  if (!seconds || *seconds < 0 || *seconds > last_second) return std::nullopt;
  return WallTime{static_cast<std::int64_t>(std::llround(*seconds * 1000))};
}

bool is_time_key(std::string_view key) {
  return key == "time" || key == "at";
}

bool is_good_name(std::string_view name) {
  return !name.empty() && name.size() <= max_name_bytes && std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

void read_line(std::string_view text, WallTime now, MetricsRead& out) {
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  if (text.find_first_not_of(" \t") == std::string_view::npos) return;
  const auto parsed = text.size() > max_line_bytes ? Result<json::Value>(json::Value()) : json::parse(text);
  const json::Object* line = parsed ? parsed->if_object() : nullptr;
  const auto step = line != nullptr ? step_of(*line) : std::nullopt;
  if (!step) {
    ++out.skipped_lines;
    return;
  }
  WallTime at = now;
  for (const char* key : {"at", "time"})
    if (const json::Value* value = line->if_contains(key)) {
      if (const auto time = time_of(*value))
        at = *time;
      else
        ++out.skipped_values;
    }
  for (const auto& member : *line) {
    if (member.key() == "step" || is_time_key(member.key())) continue;
    const auto value = number_of(member.value());
    if (value && is_good_name(member.key()))
      out.points.push_back(MetricPoint{std::string(member.key()), *step, *value, at});
    else
      ++out.skipped_values;
  }
}

}  // namespace

Result<MetricsRead> read_metrics(Placement& placement, const Attempt& attempt, const std::string& file,
                                 std::int64_t offset, WallTime now) {
  MetricsRead out;
  out.from_offset = offset;
  out.to_offset = offset;
  // One byte more in front: unless it ends a line, the last call stopped inside a line that was too long to keep.
  const std::int64_t before = offset > 0 ? 1 : 0;
  auto read = placement.read_artifact(attempt.handle, file, offset - before, read_bytes);
  if (!read) {
    if (read.error().code == ErrorCode::not_found) return out;
    return fail(std::move(read).error());
  }
  std::string_view bytes = *read;
  out.more = bytes.size() == read_bytes;
  if (bytes.size() <= static_cast<std::size_t>(before)) return out;
  const bool inside = before == 1 && bytes.front() != '\n';
  bytes.remove_prefix(static_cast<std::size_t>(before));

  const auto take = [&](std::size_t length) {
    bytes.remove_prefix(length);
    out.to_offset += static_cast<std::int64_t>(length);
  };
  bool skip_first = inside;
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    if (skip_first)
      ++out.skipped_lines;
    else
      read_line(bytes.substr(0, end), now, out);
    skip_first = false;
    take(end + 1);
  }
  if (bytes.size() > max_line_bytes || (skip_first && !bytes.empty())) {
    take(bytes.size());  // its rest is recognised by the byte in front
  } else if (attempt.result && !out.more && !bytes.empty()) {
    read_line(bytes, now, out);  // the file grows no more: a last line without its newline is whole, or broken
    take(bytes.size());
  }
  return out;
}

}  // namespace orbit::server
