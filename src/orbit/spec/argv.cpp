#include "orbit/spec/argv.hpp"

#include "orbit/base/text.hpp"

namespace orbit::spec {
namespace {

const std::vector<std::string>& placeholders() {
  static const std::vector<std::string> all{"{entry}",      "{input.NAME}", "{output.NAME}",
                                            "{param.NAME}", "{params}",     "{command}"};
  return all;
}

Result<Piece> read_placeholder(std::string_view inside, const std::string& field) {
  if (inside == "entry") return Piece{PieceKind::entry, {}};
  if (inside == "params") return Piece{PieceKind::params, {}};
  if (inside == "command") return Piece{PieceKind::command, {}};
  struct Named {
    std::string_view prefix;
    PieceKind kind;
  };
  for (const Named& named :
       {Named{"input.", PieceKind::input}, Named{"output.", PieceKind::output}, Named{"param.", PieceKind::param}})
    if (inside.starts_with(named.prefix) && inside.size() > named.prefix.size())
      return Piece{named.kind, std::string(inside.substr(named.prefix.size()))};
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{{{}}}' is not a placeholder", to_valid_utf8(inside.substr(0, 60))), field,
              "one of " + join(placeholders(), ", ") + "; write {{ for a brace");
}

}  // namespace

Result<std::vector<Piece>> parse_argv_item(const std::string& item, const std::string& field) {
  std::vector<Piece> out;
  std::string text;
  for (std::size_t at = 0; at < item.size(); ++at) {
    const char c = item[at];
    const bool doubled = at + 1 < item.size() && item[at + 1] == c;
    if ((c == '{' || c == '}') && doubled) {
      text += c;
      ++at;
    } else if (c == '{') {
      const std::size_t end = item.find('}', at);
      if (end == std::string::npos)
        return fail(ErrorCode::invalid_argument, "a '{' is not closed", field, "write {{ for a brace");
      ORBIT_TRY_ASSIGN(Piece piece, read_placeholder(std::string_view(item).substr(at + 1, end - at - 1), field));
      if (!text.empty()) out.push_back(Piece{PieceKind::text, std::move(text)});
      text.clear();
      out.push_back(std::move(piece));
      at = end;
    } else {
      text += c;
    }
  }
  if (!text.empty() || out.empty()) out.push_back(Piece{PieceKind::text, std::move(text)});
  if (out.size() > 1)
    for (const Piece& piece : out)
      if (piece.kind == PieceKind::params || piece.kind == PieceKind::command)
        return fail(ErrorCode::invalid_argument, "{params} and {command} stand for several words", field,
                    "make it an item of its own");
  return out;
}

}  // namespace orbit::spec
