#include "orbit/spec/params.hpp"

#include <algorithm>

#include "orbit/spec/checks.hpp"
#include "orbit/spec/scalar.hpp"
#include "orbit/spec/schema.hpp"

namespace orbit::spec {
namespace {

constexpr std::size_t max_params = 1000;
constexpr std::size_t max_text_bytes = 64 * 1024;

std::string_view kind_of(const json::Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "boolean";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
      return "integer";
    case boost::json::kind::double_:
      return "number";
    case boost::json::kind::string:
      return "string";
    case boost::json::kind::array:
      return "array";
    case boost::json::kind::object:
      return "object";
  }
  return "null";
}

// The JSON types a schema allows, by its `type`, `enum` or `const`; empty: it does not say.
std::vector<std::string> types_of(const json::Value& schema) {
  std::vector<std::string> out;
  if (!schema.is_object()) return out;
  const json::Object& object = schema.get_object();
  if (const json::Value* type = object.if_contains("type")) {
    if (type->is_string()) out.emplace_back(type->get_string());
    if (type->is_array())
      for (const json::Value& item : type->get_array())
        if (item.is_string()) out.emplace_back(item.get_string());
  } else if (const json::Value* values = object.if_contains("enum"); values != nullptr && values->is_array()) {
    for (const json::Value& item : values->get_array()) out.emplace_back(kind_of(item));
  } else if (const json::Value* value = object.if_contains("const")) {
    out.emplace_back(kind_of(*value));
  }
  return out;
}

bool contains(const std::vector<std::string>& types, std::string_view type) {
  return std::find(types.begin(), types.end(), type) != types.end() || (type == "integer" && contains(types, "number"));
}

const json::Value* property_schema(const json::Object* schema, const std::string& key) {
  if (schema == nullptr) return nullptr;
  if (const json::Value* properties = schema->if_contains("properties");
      properties != nullptr && properties->is_object())
    if (const json::Value* property = properties->get_object().if_contains(key)) return property;
  if (schema->contains("patternProperties")) return nullptr;  // which of them is for valijson to say
  const json::Value* rest = schema->if_contains("additionalProperties");
  return rest != nullptr && rest->is_object() ? rest : nullptr;
}

std::string shown(std::string_view text) {
  std::string out = to_valid_utf8(text.substr(0, 60));
  return text.size() > 60 ? out + "…" : out;
}

Failure wrong(const std::string& key, const std::string& text, std::string_view what, const json::Value* schema) {
  return fail(ErrorCode::invalid_argument, fmt::format("'{}' {}", shown(text), what), "params." + key,
              schema == nullptr ? "" : "wanted: " + describe_schema(*schema));
}

Result<std::string> type_param(const std::string& key, const std::string& text, const json::Value* schema) {
  const std::string field = "params." + key;
  if (text.size() > max_text_bytes)
    return fail(ErrorCode::too_large, fmt::format("has {} bytes, more than {}", text.size(), max_text_bytes), field,
                "put it into a file of the code folder");
  if (!is_valid_utf8(text)) return fail(ErrorCode::invalid_argument, "is not valid UTF-8", field);
  if (text.find('\0') != std::string::npos) return fail(ErrorCode::invalid_argument, "holds a NUL character", field);
  const std::vector<std::string> types = schema == nullptr ? std::vector<std::string>{} : types_of(*schema);
  const bool literal = is_json_literal(text);
  std::string source = text;
  if (!literal) {
    if (!types.empty() && !contains(types, "string")) return wrong(key, text, "is of another type", schema);
    source = json_string(text);
  } else if (contains(types, "string") && !contains(types, kind_of(*json::parse(text)))) {
    source = json_string(text);
  }
  ORBIT_TRY_ASSIGN(const json::Value value, json::parse(source));
  // What cannot be a word of a command line cannot be a param.
  if (value.is_string() && std::string_view(value.get_string()).find('\0') != std::string_view::npos)
    return fail(ErrorCode::invalid_argument, "holds a NUL character", field);
  if (schema != nullptr)
    if (const auto violation = schema_violation(*schema, value))
      return wrong(key, text, "is not allowed: " + *violation, schema);
  return source;
}

Result<void> check_names(const json::Object* schema, const std::map<std::string, std::string>& texts) {
  for (const auto& [key, text] : texts) ORBIT_TRY(check_param_key(key, "params." + to_valid_utf8(key.substr(0, 64))));
  if (schema == nullptr) return {};
  std::vector<std::string> known;
  const json::Value* properties = schema->if_contains("properties");
  if (properties != nullptr && properties->is_object())
    for (const auto& item : properties->get_object()) known.emplace_back(item.key());
  if (const json::Value* rest = schema->if_contains("additionalProperties");
      rest != nullptr && rest->is_bool() && !rest->get_bool() && !schema->contains("patternProperties"))
    for (const auto& [key, text] : texts)
      if (std::find(known.begin(), known.end(), key) == known.end())
        return json::detail::unknown_member(key, known, "params");
  if (const json::Value* required = schema->if_contains("required"); required != nullptr && required->is_array())
    for (const json::Value& item : required->get_array())
      if (const std::string key(item.as_string()); !texts.contains(key)) {
        const json::Value* wanted = property_schema(schema, key);
        return fail(ErrorCode::invalid_argument, "is missing", "params." + key,
                    wanted == nullptr ? "" : "wanted: " + describe_schema(*wanted));
      }
  return {};
}

}  // namespace

Result<std::map<std::string, std::string>> type_params(const json::Value& schema,
                                                       const std::map<std::string, std::string>& texts) {
  const json::Object* object = schema.if_object();
  if (texts.size() > max_params)
    return fail(ErrorCode::too_large, fmt::format("{} params, more than {}", texts.size(), max_params), "params",
                "put them into a file");
  ORBIT_TRY(check_names(object, texts));
  std::map<std::string, std::string> out;
  json::Object whole;
  for (const auto& [key, text] : texts) {
    ORBIT_TRY_ASSIGN(std::string source, type_param(key, text, property_schema(object, key)));
    ORBIT_TRY_ASSIGN(whole[key], json::parse(source));
    out.emplace(key, std::move(source));
  }
  // What the schema says of the params together: dependencies, patternProperties, allOf …
  if (const auto violation = schema_violation(schema, whole))
    return fail(ErrorCode::invalid_argument, *violation, "params", "wanted: " + describe_schema(schema));
  return out;
}

std::string param_word(const std::string& source) {
  if (!source.starts_with('"')) return source;
  const auto value = json::parse(source);
  ORBIT_ASSERT(value && value->is_string());  // type_params made it
  return std::string(value->get_string());
}

}  // namespace orbit::spec
