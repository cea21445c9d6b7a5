#include "orbit/net/url.hpp"

#include <algorithm>
#include <optional>

#include "orbit/base/text.hpp"
#include "orbit/net/http.hpp"

namespace orbit::net {
namespace {

Failure bad_path(std::string message) {
  return fail(ErrorCode::invalid_argument, std::move(message), "path",
              "percent-encode names once; '/' inside a name is %2F");
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// One pass over the text: what an escape decodes to is never looked at as an escape again.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

// C0, DEL and C1 (U+0080..U+009F); the text is valid UTF-8.
bool has_control_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return true;
    if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

Result<std::string> decode_segment(std::string_view raw) {
  const std::optional<std::string> decoded = percent_decode(raw, false);
  if (!decoded) return bad_path("the path has an incomplete percent escape");
  if (!is_valid_utf8(*decoded)) return bad_path("the path is not valid UTF-8");
  if (has_control_character(*decoded)) return bad_path("the path has a control character");
  if (decoded->find('\\') != std::string::npos) return bad_path("the path has a backslash");
  for (const std::string& part : split(*decoded, '/')) {
    if (part.empty()) return bad_path("the path has an empty segment");
    if (part == "." || part == "..") return bad_path("the path has a '" + part + "' segment");
  }
  return *decoded;
}

std::string join_path(const std::vector<std::string>& segments) {
  if (segments.empty()) return "/";
  std::string path;
  for (const std::string& segment : segments) {
    path += '/';
    for (const char c : segment) {
      if (c == '/')
        path += "%2F";
      else
        path += c;
    }
  }
  return path;
}

bool starts_with_scheme(std::string_view target, std::string_view scheme) {
  return target.size() >= scheme.size() && std::equal(scheme.begin(), scheme.end(), target.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
         });
}

}  // namespace

Result<std::vector<std::string>> decode_path(std::string_view path) {
  if (path.empty() || path.front() != '/') return bad_path("the path does not begin with '/'");
  std::vector<std::string> segments;
  if (path.size() == 1) return segments;
  for (const std::string& raw : split(path.substr(1), '/')) {
    if (raw.empty()) return bad_path("the path has an empty segment");
    ORBIT_TRY_ASSIGN(std::string segment, decode_segment(raw));
    segments.push_back(std::move(segment));
  }
  return segments;
}

Result<std::multimap<std::string, std::string>> decode_query(std::string_view query) {
  std::multimap<std::string, std::string> out;
  if (query.empty()) return out;
  for (const std::string& pair : split(query, '&')) {
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    const std::string_view raw_key = std::string_view(pair).substr(0, equals);
    const std::string_view raw_value =
        equals == std::string::npos ? std::string_view() : std::string_view(pair).substr(equals + 1);
    std::optional<std::string> key = percent_decode(raw_key, true);
    std::optional<std::string> value = percent_decode(raw_value, true);
    if (!key || !value)
      return fail(ErrorCode::invalid_argument, "the query has an incomplete percent escape", "query",
                  "write '%' as %25");
    for (const std::string& text : {*key, *value})
      if (!is_valid_utf8(text) || text.find('\0') != std::string::npos)
        return fail(ErrorCode::invalid_argument, "the query is not valid UTF-8 without NUL", "query");
    out.emplace(std::move(*key), std::move(*value));
  }
  return out;
}

Result<Target> parse_target(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!starts_with_scheme(target, scheme)) continue;
    const std::size_t end = target.find_first_of("/?", scheme.size());
    target = end == std::string_view::npos ? std::string_view("/") : target.substr(end);
    break;
  }
  if (target.find('#') != std::string_view::npos) return bad_path("the request target has a fragment");
  const std::size_t question = target.find('?');
  const std::string_view raw_path = question == 0 ? std::string_view("/") : target.substr(0, question);
  Target out;
  ORBIT_TRY_ASSIGN(out.segments, decode_path(raw_path));
  if (question != std::string_view::npos) {
    ORBIT_TRY_ASSIGN(out.query, decode_query(target.substr(question + 1)));
  }
  out.path = join_path(out.segments);
  return out;
}

std::string url_encode(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                            c == '.' || c == '_' || c == '~';
    if (unreserved) {
      out += c;
    } else {
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out;
}

}  // namespace orbit::net
