#include "orbit/spec/scalar.hpp"

#include "orbit/base/json.hpp"

namespace orbit::spec {

bool is_json_number(std::string_view text) {
  const auto take_digits = [&] {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
  };
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with('0'))
    text.remove_prefix(1);
  else if (take_digits() == 0)
    return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (take_digits() == 0) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (take_digits() == 0) return false;
  }
  return text.empty();
}

std::optional<std::string> plain_literal(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return "true";
  if (text == "false" || text == "False" || text == "FALSE") return "false";
  if (text == "null" || text == "Null" || text == "NULL" || text == "~") return "null";
  if (is_json_number(text)) return std::string(text);
  return std::nullopt;
}

bool is_json_literal(std::string_view text) {
  if (text.empty()) return false;
  // JSON allows white space around a value; a text with it is somebody's words.
  constexpr std::string_view space = " \t\r\n";
  if (space.find(text.front()) != std::string_view::npos || space.find(text.back()) != std::string_view::npos)
    return false;
  return json::parse(text).has_value();
}

std::string json_string(std::string_view text) {
  return json::dump(json::Value(text));
}

}  // namespace orbit::spec
