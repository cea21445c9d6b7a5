// JSON Schema (draft 7) behind two functions: valijson is heavy, schema.cpp alone includes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orbit/base/json.hpp"

namespace orbit::spec {

// A schema as we accept it: known keywords only (a typo would otherwise demand nothing), no $ref, patterns that
// compile.
Result<void> check_schema(const json::Value& schema, const std::string& path);

// The first thing that is wrong, empty where nothing is.
std::optional<std::string> schema_violation(const json::Value& schema, const json::Value& value);

// What a schema wants, in words: "a number, at least 0, at most 1", "one of \"sgd\", \"adam\"".
std::string describe_schema(const json::Value& schema);

}  // namespace orbit::spec
