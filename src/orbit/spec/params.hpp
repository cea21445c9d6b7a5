// Params of a submission: typed by the task type's schema and checked, kept as source text.
#pragma once

#include <map>
#include <string>

#include "orbit/base/json.hpp"

namespace orbit::spec {

// From bare or JSON text to JSON source text, verbatim where it is a literal of a type that the schema allows. Errors
// name `params.<key>`.
Result<std::map<std::string, std::string>> type_params(const json::Value& schema,
                                                       const std::map<std::string, std::string>& texts);

// A value of the above as one word of a command line: a string's own text, everything else as written.
std::string param_word(const std::string& source);

}  // namespace orbit::spec
