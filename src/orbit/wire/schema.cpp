#include "orbit/wire/schema.hpp"

namespace orbit::wire {

bool Schemas::claim(const std::string& name, std::type_index type) {
  const auto [it, inserted] = types_.emplace(name, type);
  // Two types of one name would silently share a schema.
  ORBIT_ASSERT(inserted || it->second == type);
  if (inserted) components_[name] = json::Object{};
  return inserted;
}

json::Object Schemas::components() const {
  json::Object out;
  for (const auto& [name, schema] : components_) out[name] = schema;
  return out;
}

void Schemas::refine(const std::string& component, const std::string& property, const json::Object& members) {
  const auto it = components_.find(component);
  ORBIT_ASSERT(it != components_.end());
  json::Value* target = it->second.get_object().at("properties").get_object().if_contains(property);
  ORBIT_ASSERT(target != nullptr && target->is_object());
  for (const auto& member : members) target->get_object()[member.key()] = member.value();
}

namespace detail {

json::Value reference(const std::string& name) {
  return json::Object{{"$ref", "#/components/schemas/" + name}};
}

json::Value or_null(json::Value schema) {
  json::Object& object = schema.get_object();
  if (object.empty()) return schema;  // anything, so null too
  if (json::Value* type = object.if_contains("type"); type != nullptr && type->is_string()) {
    *type = json::Array{*type, "null"};
    return schema;
  }
  if (object.contains("type")) return schema;  // a list of types that has null in it already
  return json::Object{{"anyOf", json::Array{std::move(schema), json::Object{{"type", "null"}}}}};
}

json::Value text_schema(const char* format_key, const char* format, bool nullable) {
  json::Object out{{"type", "string"}};
  if (nullable) out["type"] = json::Array{"string", "null"};
  out[format_key] = format;
  return out;
}

}  // namespace detail
}  // namespace orbit::wire
