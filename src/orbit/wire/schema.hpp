// JSON Schema (2020-12, as OpenAPI 3.1 wants it) of described structs, walked from the same descriptions that the JSON
// mapping reads and writes by: what json::to demands is `required`, what json::from may write as null may be null.
#pragma once

#include <boost/core/type_name.hpp>
#include <map>
#include <string>
#include <typeindex>

#include "orbit/base/json.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::wire {

// Collects the schemas of named types (structs and enums); everything else is written inline.
class Schemas {
 public:
  // The schema to put where a T stands: inline, or a reference to a component.
  template <class T>
  json::Value of();

  // {"RunObject": {…}, …}
  json::Object components() const;
  // Adds members ("enum", "minimum", "description" …) to a property of a component that is there already.
  void refine(const std::string& component, const std::string& property, const json::Object& members);

 private:
  bool claim(const std::string& name, std::type_index type);  // false: it is there already
  std::map<std::string, json::Value> components_;
  std::map<std::string, std::type_index> types_;
};

namespace detail {

template <class T>
struct is_list : std::false_type {};
template <class T>
struct is_list<List<T>> : std::true_type {
  using item = T;
};

// "RunObject" of orbit::wire::RunObject, "RunObjectList" of a List of them.
template <class T>
std::string component_name() {
  if constexpr (is_list<T>::value) {
    return component_name<typename is_list<T>::item>() + "List";
  } else {
    const std::string full = boost::core::type_name<T>();
    const std::size_t at = full.rfind(':');
    return at == std::string::npos ? full : full.substr(at + 1);
  }
}

json::Value reference(const std::string& name);
json::Value or_null(json::Value schema);
json::Value text_schema(const char* format_key, const char* format, bool nullable);

}  // namespace detail

template <class T>
json::Value Schemas::of() {
  using namespace json::detail;
  if constexpr (std::is_same_v<T, json::Value>) {
    return json::Object{};
  } else if constexpr (std::is_same_v<T, bool>) {
    return json::Object{{"type", "boolean"}};
  } else if constexpr (std::is_enum_v<T>) {
    const std::string name = detail::component_name<T>();
    if (claim(name, typeid(T)))
      components_[name] = json::Object{{"type", "string"}, {"enum", json::from(json::names_of<T>())}};
    return detail::reference(name);
  } else if constexpr (std::is_integral_v<T>) {
    json::Object out{{"type", "integer"}, {"format", sizeof(T) <= 4 ? "int32" : "int64"}};
    if constexpr (std::is_unsigned_v<T>) out["minimum"] = 0;
    return out;
  } else if constexpr (std::is_floating_point_v<T>) {
    return json::Object{{"type", "number"}};
  } else if constexpr (std::is_same_v<T, std::string>) {
    return json::Object{{"type", "string"}};
  } else if constexpr (std::is_same_v<T, WallTime>) {
    return detail::text_schema("format", "date-time", false);
  } else if constexpr (std::is_same_v<T, Digest>) {
    return detail::text_schema("pattern", "^[0-9a-f]{64}$", true);
  } else if constexpr (is_id<T>::value) {
    return detail::text_schema("pattern", "^[0-9a-z]{26}$", true);
  } else if constexpr (is_optional<T>::value) {
    return detail::or_null(of<typename T::value_type>());
  } else if constexpr (is_vector<T>::value) {
    return json::Object{{"type", "array"}, {"items", of<typename T::value_type>()}};
  } else if constexpr (is_string_map<T>::value) {
    return json::Object{{"type", "object"}, {"additionalProperties", of<typename T::mapped_type>()}};
  } else {
    static_assert(boost::describe::has_describe_members<T>::value, "describe the struct with BOOST_DESCRIBE_STRUCT");
    const std::string name = detail::component_name<T>();
    if (claim(name, typeid(T))) {
      json::Object properties;
      json::Array required;
      boost::mp11::mp_for_each<members<T>>([&](auto d) {
        using Member = std::remove_reference_t<decltype(std::declval<T&>().*d.pointer)>;
        properties[d.name] = of<Member>();
        if constexpr (!may_be_absent<Member>) required.emplace_back(d.name);
      });
      json::Object out{{"type", "object"}, {"properties", std::move(properties)}};
      if (!required.empty()) out["required"] = std::move(required);
      components_[name] = std::move(out);
    }
    return detail::reference(name);
  }
}

}  // namespace orbit::wire
