// Entry templates of task types: "--dataset={input.dataset}".
#pragma once

#include <string>
#include <vector>

#include "orbit/base/result.hpp"

namespace orbit::spec {

enum class PieceKind { text, entry, input, output, param, params, command };
struct Piece {
  PieceKind kind = PieceKind::text;
  std::string text;  // the text itself, or the NAME of {input.NAME}
};

// {params} and {command} stand for several words and so must be the whole item.
Result<std::vector<Piece>> parse_argv_item(const std::string& item, const std::string& field);

}  // namespace orbit::spec
