#include "orbit/bundle/glob.hpp"

#include <vector>

namespace orbit::bundle {
namespace {

enum class Kind { literal, one, within_name, directories, anything };
struct Token {
  Kind kind = Kind::literal;
  char character = 0;
};

std::vector<Token> tokens_of(std::string_view pattern) {
  std::vector<Token> out;
  while (!pattern.empty()) {
    const bool at_name = out.empty() || (out.back().kind == Kind::literal && out.back().character == '/') ||
                         out.back().kind == Kind::directories;
    if (at_name && pattern.substr(0, 3) == "**/") {
      out.push_back({Kind::directories});
      pattern.remove_prefix(3);
    } else if (pattern.substr(0, 2) == "**") {
      out.push_back({Kind::anything});
      pattern.remove_prefix(2);
    } else {
      const char c = pattern.front();
      out.push_back({c == '*' ? Kind::within_name : c == '?' ? Kind::one : Kind::literal, c});
      pattern.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view path) {
  const std::vector<Token> tokens = tokens_of(pattern);
  // reached[i]: the tokens so far can match the first i characters of the path.
  std::vector<bool> reached(path.size() + 1, false);
  reached[0] = true;
  for (const Token& token : tokens) {
    std::vector<bool> next(path.size() + 1, false);
    bool running = false;
    for (std::size_t i = 0; i <= path.size(); ++i) {
      const bool after_slash = i > 0 && path[i - 1] == '/';
      switch (token.kind) {
        case Kind::literal:
          next[i] = i > 0 && reached[i - 1] && path[i - 1] == token.character;
          break;
        case Kind::one:
          next[i] = i > 0 && reached[i - 1] && path[i - 1] != '/';
          break;
        case Kind::within_name:
          running = reached[i] || (running && path[i - 1] != '/');
          next[i] = running;
          break;
        case Kind::directories:
          next[i] = reached[i] || (running && after_slash);
          running = running || reached[i];
          break;
        case Kind::anything:
          running = running || reached[i];
          next[i] = running;
          break;
      }
    }
    reached = std::move(next);
  }
  return reached[path.size()];
}

}  // namespace orbit::bundle
