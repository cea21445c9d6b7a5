// Values as source text: numbers are never read and written again, which would turn 0.10 into 1E-1.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace orbit::spec {

// A number as JSON writes it: -0.5, 1e-3; not .5, 1., 007, +1, 0x10.
bool is_json_number(std::string_view text);
// The JSON text of a plain YAML scalar that is a boolean, null or number: itself, but True is true and ~ null; empty
// for what is a string.
std::optional<std::string> plain_literal(std::string_view text);
// A JSON text of one value with nothing around it.
bool is_json_literal(std::string_view text);
// `text` as a JSON string, with quotes.
std::string json_string(std::string_view text);

}  // namespace orbit::spec
