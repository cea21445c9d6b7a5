#include "orbit/bundle/raw_json.hpp"

#include <set>

#include "orbit/base/json.hpp"
#include "orbit/bundle/paths.hpp"

namespace orbit::bundle {
namespace {

// Goes over text that is known to be JSON; finds ends, checks nothing but that there is one.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  char peek() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void skip() { ++at_; }
  // The source text of the value that begins here.
  std::string_view value() {
    peek();
    const std::size_t begin = at_;
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        string();
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        if (depth == 0) break;
        --depth;
        ++at_;
      } else if (depth == 0 && (c == ',' || c == ':' || c == ' ' || c == '\t' || c == '\r' || c == '\n')) {
        break;
      } else {
        ++at_;
        continue;
      }
      if (depth == 0) break;
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  void string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    ++at_;
    if (at_ > text_.size()) at_ = text_.size();
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> raw_members(std::string_view object) {
  ORBIT_TRY_ASSIGN(const json::Value checked, json::parse(object));
  if (!checked.is_object()) return fail(ErrorCode::invalid_argument, "expected a JSON object");
  std::vector<std::pair<std::string, std::string>> out;
  std::set<std::string> seen;
  Cursor cursor(object);
  cursor.peek();
  cursor.skip();  // {
  while (cursor.peek() == '"' || cursor.peek() == ',') {
    if (cursor.peek() == ',') {
      cursor.skip();
      continue;
    }
    ORBIT_TRY_ASSIGN(const json::Value key, json::parse(cursor.value()));
    cursor.peek();
    cursor.skip();  // :
    std::string name(key.get_string());
    if (!seen.insert(name).second) return fail(ErrorCode::invalid_argument, "is there twice", printable(name));
    out.emplace_back(std::move(name), std::string(cursor.value()));
  }
  return out;
}

}  // namespace orbit::bundle
