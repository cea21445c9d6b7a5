#include "orbit/spec/schema.hpp"

// Without it valijson calls abort() on a bad schema. Defined here only: no other file may include valijson.
#define VALIJSON_USE_EXCEPTIONS 1
#include <regex>
#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

namespace orbit::spec {
namespace {

// std::regex recurses once a character: a longer text would overflow the stack.
constexpr std::size_t max_pattern_text_bytes = 1024;

const std::vector<std::string>& keywords() {
  static const std::vector<std::string> words{"$comment",
                                              "$id",
                                              "$schema",
                                              "additionalItems",
                                              "additionalProperties",
                                              "allOf",
                                              "anyOf",
                                              "const",
                                              "contains",
                                              "default",
                                              "definitions",
                                              "dependencies",
                                              "description",
                                              "else",
                                              "enum",
                                              "examples",
                                              "exclusiveMaximum",
                                              "exclusiveMinimum",
                                              "format",
                                              "if",
                                              "items",
                                              "maxItems",
                                              "maxLength",
                                              "maxProperties",
                                              "maximum",
                                              "minItems",
                                              "minLength",
                                              "minProperties",
                                              "minimum",
                                              "multipleOf",
                                              "not",
                                              "oneOf",
                                              "pattern",
                                              "patternProperties",
                                              "properties",
                                              "propertyNames",
                                              "readOnly",
                                              "required",
                                              "then",
                                              "title",
                                              "type",
                                              "uniqueItems",
                                              "writeOnly"};
  return words;
}

std::string child(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

Result<void> check_regex(std::string_view pattern, const std::string& path) {
  try {
    const std::regex compiled{std::string(pattern)};
    return {};
  } catch (const std::regex_error& error) {
    return fail(ErrorCode::invalid_argument, fmt::format("not a regular expression: {}", error.what()), path);
  }
}

Result<void> check_keywords(const json::Value& schema, const std::string& path);

Result<void> check_map_of_schemas(const json::Value& value, const std::string& path, bool keys_are_patterns) {
  if (!value.is_object()) return json::detail::wrong_kind(value, "a map of schemas", path);
  for (const auto& item : value.get_object()) {
    if (keys_are_patterns) ORBIT_TRY(check_regex(item.key(), child(path, item.key())));
    ORBIT_TRY(check_keywords(item.value(), child(path, item.key())));
  }
  return {};
}

Result<void> check_list_of_schemas(const json::Value& value, const std::string& path) {
  if (!value.is_array()) return json::detail::wrong_kind(value, "a list of schemas", path);
  std::size_t index = 0;
  for (const json::Value& item : value.get_array())
    ORBIT_TRY(check_keywords(item, fmt::format("{}[{}]", path, index++)));
  return {};
}

Result<void> check_keywords(const json::Value& schema, const std::string& path) {
  if (schema.is_bool()) return {};
  if (!schema.is_object()) return json::detail::wrong_kind(schema, "a JSON Schema", path);
  for (const auto& item : schema.get_object()) {
    const std::string_view key = item.key();
    const json::Value& value = item.value();
    const std::string below = child(path, key);
    if (key == "$ref")
      return fail(ErrorCode::unsupported, "references between schemas are not supported", below,
                  "write the schema out where it is used");
    if (std::find(keywords().begin(), keywords().end(), key) == keywords().end())
      return json::detail::unknown_member(key, keywords(), path);
    if (key == "properties" || key == "patternProperties" || key == "definitions") {
      ORBIT_TRY(check_map_of_schemas(value, below, key == "patternProperties"));
    } else if (key == "allOf" || key == "anyOf" || key == "oneOf" || (key == "items" && value.is_array())) {
      ORBIT_TRY(check_list_of_schemas(value, below));
    } else if (key == "items" || key == "additionalItems" || key == "additionalProperties" || key == "not" ||
               key == "if" || key == "then" || key == "else" || key == "contains" || key == "propertyNames") {
      ORBIT_TRY(check_keywords(value, below));
    } else if (key == "pattern") {
      if (!value.is_string()) return json::detail::wrong_kind(value, "a regular expression", below);
      ORBIT_TRY(check_regex(std::string_view(value.get_string()), below));
    } else if (key == "required") {
      ORBIT_TRY(json::to<std::vector<std::string>>(value, json::From::user, below));
    }
  }
  return {};
}

bool holds_pattern(const json::Value& schema) {
  if (schema.is_array()) return std::any_of(schema.get_array().begin(), schema.get_array().end(), holds_pattern);
  if (!schema.is_object()) return false;
  return std::any_of(schema.get_object().begin(), schema.get_object().end(), [](const auto& item) {
    return item.key() == "pattern" || item.key() == "patternProperties" || holds_pattern(item.value());
  });
}

std::size_t longest_text(const json::Value& value) {
  std::size_t longest = 0;
  if (value.is_string()) longest = value.get_string().size();
  if (value.is_array())
    for (const json::Value& item : value.get_array()) longest = std::max(longest, longest_text(item));
  if (value.is_object())
    for (const auto& item : value.get_object())
      longest = std::max({longest, item.key().size(), longest_text(item.value())});
  return longest;
}

void compile(const json::Value& schema, valijson::Schema& out) {
  const valijson::adapters::BoostJsonAdapter adapter(schema);
  valijson::SchemaParser parser;
  parser.populateSchema(adapter, out);
}

std::string type_in_words(std::string_view type) {
  if (type == "integer") return "a whole number";
  if (type == "number") return "a number, as JSON writes it";
  if (type == "boolean") return "true or false";
  if (type == "string") return "a text";
  if (type == "array") return "a JSON list";
  if (type == "object") return "a JSON object";
  return std::string(type);
}

}  // namespace

Result<void> check_schema(const json::Value& schema, const std::string& path) {
  ORBIT_TRY(check_keywords(schema, path));
  try {
    valijson::Schema compiled;
    compile(schema, compiled);
    return {};
  } catch (const std::exception& error) {
    return fail(ErrorCode::invalid_argument, fmt::format("not a JSON Schema: {}", error.what()), path,
                "see json-schema.org, draft 7");
  }
}

std::optional<std::string> schema_violation(const json::Value& schema, const json::Value& value) {
  if (schema.is_bool() && schema.get_bool()) return std::nullopt;
  if (holds_pattern(schema) && longest_text(value) > max_pattern_text_bytes)
    return fmt::format("longer than {} bytes, which is the limit where a pattern is wanted", max_pattern_text_bytes);
  try {
    valijson::Schema compiled;
    compile(schema, compiled);
    valijson::Validator validator;
    valijson::ValidationResults results;
    const valijson::adapters::BoostJsonAdapter adapter(value);
    if (validator.validate(compiled, adapter, &results)) return std::nullopt;
    valijson::ValidationResults::Error error;
    return results.popError(error) ? error.description : std::string("does not fit");
  } catch (const std::exception& error) {
    return fmt::format("cannot be checked: {}", error.what());
  }
}

std::string describe_schema(const json::Value& schema) {
  if (!schema.is_object()) return "nothing";
  const json::Object& object = schema.get_object();
  std::vector<std::string> parts;
  const auto of = [&](const char* key) { return object.if_contains(key); };
  if (const json::Value* values = of("enum"); values != nullptr && values->is_array()) {
    std::vector<std::string> shown;
    for (const json::Value& item : values->get_array()) shown.push_back(json::dump(item));
    return "one of " + join(shown, ", ");
  }
  if (const json::Value* value = of("const")) return json::dump(*value);
  if (const json::Value* type = of("type")) {
    if (type->is_string()) parts.push_back(type_in_words(std::string_view(type->get_string())));
    if (type->is_array()) {
      std::vector<std::string> words;
      for (const json::Value& item : type->get_array())
        if (item.is_string()) words.push_back(type_in_words(std::string_view(item.get_string())));
      parts.push_back(join(words, " or "));
    }
  }
  struct Bound {
    const char* key;
    const char* words;
  };
  for (const Bound& bound :
       {Bound{"minimum", "at least"}, Bound{"exclusiveMinimum", "more than"}, Bound{"maximum", "at most"},
        Bound{"exclusiveMaximum", "less than"}, Bound{"multipleOf", "a multiple of"},
        Bound{"minLength", "characters, at least"}, Bound{"maxLength", "characters, at most"},
        Bound{"minItems", "items, at least"}, Bound{"maxItems", "items, at most"}, Bound{"pattern", "matching"},
        Bound{"format", "format"}})
    if (const json::Value* value = of(bound.key)) {
      if (value->is_double())
        parts.push_back(fmt::format("{} {}", bound.words, value->get_double()));
      else
        parts.push_back(fmt::format("{} {}", bound.words, json::dump(*value)));
    }
  if (const json::Value* description = of("description"); description != nullptr && description->is_string())
    parts.push_back(std::string(description->get_string()));
  return parts.empty() ? "what the task type's schema says" : join(parts, ", ");
}

}  // namespace orbit::spec
