#include "orbit/base/json.hpp"

#include <algorithm>

namespace orbit::json {
namespace {

void canonical_to(std::string& out, const Value& value) {
  switch (value.kind()) {
    case boost::json::kind::object: {
      std::vector<std::pair<std::string_view, const Value*>> members;
      for (const auto& item : value.get_object()) members.emplace_back(item.key(), &item.value());
      std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      out += '{';
      bool first = true;
      for (const auto& [key, member] : members) {
        if (!first) out += ',';
        first = false;
        out += dump(Value(key));
        out += ':';
        canonical_to(out, *member);
      }
      out += '}';
      return;
    }
    case boost::json::kind::array: {
      out += '[';
      bool first = true;
      for (const Value& item : value.get_array()) {
        if (!first) out += ',';
        first = false;
        canonical_to(out, item);
      }
      out += ']';
      return;
    }
    case boost::json::kind::double_:
      ORBIT_ASSERT(!"doubles have no canonical form here");
      return;
    default:
      out += dump(value);
  }
}

}  // namespace

Result<Value> parse(std::string_view text) {
  boost::json::error_code error;
  boost::json::parse_options options;
  options.max_depth = max_depth;
  boost::json::stream_parser parser({}, options);
  const std::size_t used = parser.write_some(text.data(), text.size(), error);
  if (!error && text.find_first_not_of(" \t\r\n", used) != std::string_view::npos)
    return fail(ErrorCode::invalid_argument, fmt::format("not JSON: text goes on after the end at byte {}", used));
  if (!error) parser.finish(error);
  if (!error) return parser.release();
  if (error == boost::json::error::too_deep)
    return fail(ErrorCode::invalid_argument, fmt::format("JSON is nested more than {} levels deep", max_depth));
  if (error == boost::json::error::incomplete)
    return fail(ErrorCode::invalid_argument, "not JSON: the text ends too early");
  return fail(ErrorCode::invalid_argument, fmt::format("not JSON at byte {}: {}", used, error.message()));
}

std::string dump(const Value& value) {
  return boost::json::serialize(value);
}

std::string canonical(const Value& value) {
  std::string out;
  canonical_to(out, value);
  return out;
}

namespace detail {

Failure wrong_kind(const Value& value, std::string_view wanted, const std::string& path) {
  std::string shown = dump(value);
  if (shown.size() > 60) shown = shown.substr(0, 60) + "...";
  return fail(ErrorCode::invalid_argument, fmt::format("expected {}, got {}", wanted, shown), path);
}

Failure unknown_member(std::string_view key, const std::vector<std::string>& allowed, const std::string& path) {
  const std::string near = nearest(key, allowed);
  return fail(ErrorCode::invalid_argument, "unknown key", child(path, to_valid_utf8(key.substr(0, 64))),
              near.empty() ? "allowed: " + join(allowed, ", ") : "did you mean '" + near + "'?");
}

}  // namespace detail
}  // namespace orbit::json
