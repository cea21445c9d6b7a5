// JSON mapping of described structs and enums (Boost.Describe), written here because Boost.JSON's own rejects added and
// missing fields without naming them. Errors carry the path of the offending member.
//
//   struct Point { int x = 0; std::optional<int> y; };
//   BOOST_DESCRIBE_STRUCT(Point, (), (x, y))
//   Result<Point> p = json::decode<Point>(text, json::From::user);
//
// Reading: optionals, vectors and maps may be absent; every other member must be present. Unknown members are an error
// from users and ignored between Orbit's own parts (an older reader must accept a newer writer). Writing: empty
// optionals are written as null, so that a reader sees every key.
#pragma once

#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>
#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "orbit/base/digest.hpp"
#include "orbit/base/id.hpp"
#include "orbit/base/result.hpp"
#include "orbit/base/text.hpp"
#include "orbit/base/time.hpp"

namespace orbit::json {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;

enum class From { user, ours };  // who wrote the text: decides about unknown members

constexpr std::size_t max_depth = 64;

// Depth-limited (max_depth); the error says at which byte.
Result<Value> parse(std::string_view text);
// Compact.
std::string dump(const Value& value);
// Sorted keys, no white space, as RFC 8785 for the values we use (strings, integers, booleans, null, arrays, objects).
// Doubles are refused by assertion: what is digested keeps numbers as source text (see RawNumber in bundle/).
std::string canonical(const Value& value);

template <class T>
Value from(const T& value);
template <class T>
Result<T> to(const Value& value, From source, const std::string& path = {});

template <class T>
std::string encode(const T& value) {
  return dump(from(value));
}
template <class T>
Result<T> decode(std::string_view text, From source) {
  ORBIT_TRY_ASSIGN(Value parsed, parse(text));
  return to<T>(parsed, source);
}

// Name of a described enumerator; "?" for a value outside the enum.
template <class E>
  requires std::is_enum_v<E>
constexpr std::string_view name_of(E value) {
  std::string_view out = "?";
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) {
    if (d.value == value) out = d.name;
  });
  return out;
}
template <class E>
  requires std::is_enum_v<E>
std::vector<std::string> names_of() {
  std::vector<std::string> out;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) { out.emplace_back(d.name); });
  return out;
}
template <class E>
  requires std::is_enum_v<E>
Result<E> parse_enum(std::string_view text, const std::string& path = {}) {
  std::optional<E> found;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) {
    if (text == d.name) found = d.value;
  });
  if (found) return *found;
  return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not allowed here", to_valid_utf8(text.substr(0, 64))),
              path, "one of " + join(names_of<E>(), ", "));
}

namespace detail {

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
template <class T>
struct is_string_map : std::false_type {};
template <class T>
struct is_string_map<std::map<std::string, T>> : std::true_type {};
template <class T>
struct is_id : std::false_type {};
template <class Tag>
struct is_id<Id<Tag>> : std::true_type {};

template <class T>
constexpr bool may_be_absent = is_optional<T>::value || is_vector<T>::value || is_string_map<T>::value;

template <class T>
using members = boost::describe::describe_members<T, boost::describe::mod_public | boost::describe::mod_inherited>;

inline std::string child(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}
Failure wrong_kind(const Value& value, std::string_view wanted, const std::string& path);
Failure unknown_member(std::string_view key, const std::vector<std::string>& allowed, const std::string& path);

}  // namespace detail

template <class T>
Value from(const T& value) {
  if constexpr (std::is_same_v<T, Value>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return Value(value);
  } else if constexpr (std::is_enum_v<T>) {
    return Value(name_of(value));
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>)
      return Value(static_cast<std::int64_t>(value));
    else
      return Value(static_cast<std::uint64_t>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return Value(static_cast<double>(value));
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return Value(std::string_view(value));
  } else if constexpr (std::is_same_v<T, WallTime>) {
    return Value(to_rfc3339(value));
  } else if constexpr (std::is_same_v<T, Digest>) {
    return value.empty() ? Value(nullptr) : Value(value.hex());
  } else if constexpr (detail::is_id<T>::value) {
    return value.empty() ? Value(nullptr) : Value(value.str());
  } else if constexpr (detail::is_optional<T>::value) {
    return value ? from(*value) : Value(nullptr);
  } else if constexpr (detail::is_vector<T>::value) {
    Array out;
    out.reserve(value.size());
    for (const auto& item : value) out.push_back(from(item));
    return out;
  } else if constexpr (detail::is_string_map<T>::value) {
    Object out;
    for (const auto& [key, item] : value) out[key] = from(item);
    return out;
  } else {
    static_assert(boost::describe::has_describe_members<T>::value, "describe the struct with BOOST_DESCRIBE_STRUCT");
    Object out;
    boost::mp11::mp_for_each<detail::members<T>>([&](auto d) { out[d.name] = from(value.*d.pointer); });
    return out;
  }
}

template <class T>
Result<T> to(const Value& value, From source, const std::string& path) {
  if constexpr (std::is_same_v<T, Value>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_bool()) return detail::wrong_kind(value, "true or false", path);
    return value.get_bool();
  } else if constexpr (std::is_enum_v<T>) {
    if (!value.is_string()) return detail::wrong_kind(value, "one of " + join(names_of<T>(), ", "), path);
    return parse_enum<T>(std::string_view(value.get_string()), path);
  } else if constexpr (std::is_integral_v<T>) {
    boost::json::error_code error;
    const T number = value.to_number<T>(error);
    if (error || value.is_double()) return detail::wrong_kind(value, "an integer in range", path);
    return number;
  } else if constexpr (std::is_floating_point_v<T>) {
    boost::json::error_code error;
    const T number = value.to_number<T>(error);
    if (error) return detail::wrong_kind(value, "a number", path);
    return number;
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.is_string()) return detail::wrong_kind(value, "a string", path);
    return std::string(value.get_string());
  } else if constexpr (std::is_same_v<T, WallTime>) {
    if (!value.is_string()) return detail::wrong_kind(value, "a time", path);
    auto time = parse_rfc3339(std::string_view(value.get_string()));
    if (!time) time.error().field = path;
    return time;
  } else if constexpr (std::is_same_v<T, Digest> || detail::is_id<T>::value) {
    if (value.is_null()) return T{};
    if (!value.is_string()) return detail::wrong_kind(value, "a string", path);
    auto parsed = T::parse(std::string_view(value.get_string()));
    if (!parsed) parsed.error().field = path;
    return parsed;
  } else if constexpr (detail::is_optional<T>::value) {
    if (value.is_null()) return T{};
    ORBIT_TRY_ASSIGN(auto inner, to<typename T::value_type>(value, source, path));
    return T(std::move(inner));
  } else if constexpr (detail::is_vector<T>::value) {
    if (!value.is_array()) return detail::wrong_kind(value, "a list", path);
    T out;
    std::size_t index = 0;
    for (const Value& item : value.get_array()) {
      ORBIT_TRY_ASSIGN(auto inner,
                       to<typename T::value_type>(item, source, path + "[" + std::to_string(index++) + "]"));
      out.push_back(std::move(inner));
    }
    return out;
  } else if constexpr (detail::is_string_map<T>::value) {
    if (!value.is_object()) return detail::wrong_kind(value, "an object", path);
    T out;
    for (const auto& item : value.get_object()) {
      ORBIT_TRY_ASSIGN(auto inner, to<typename T::mapped_type>(item.value(), source, detail::child(path, item.key())));
      out.emplace(std::string(item.key()), std::move(inner));
    }
    return out;
  } else {
    static_assert(boost::describe::has_describe_members<T>::value, "describe the struct with BOOST_DESCRIBE_STRUCT");
    if (!value.is_object()) return detail::wrong_kind(value, "an object", path);
    const Object& object = value.get_object();
    T out{};
    std::optional<Error> error;
    std::size_t matched = 0;
    boost::mp11::mp_for_each<detail::members<T>>([&](auto d) {
      if (error) return;
      using Member = std::remove_reference_t<decltype(out.*d.pointer)>;
      const Value* member = object.if_contains(d.name);
      if (member == nullptr) {
        if constexpr (!detail::may_be_absent<Member>)
          error = Error{ErrorCode::invalid_argument, "is missing", detail::child(path, d.name)};
        return;
      }
      ++matched;
      if (detail::may_be_absent<Member> && member->is_null()) return;
      auto parsed = to<Member>(*member, source, detail::child(path, d.name));
      if (parsed)
        out.*d.pointer = std::move(*parsed);
      else
        error = std::move(parsed).error();
    });
    if (error) return fail(std::move(*error));
    if (source == From::user && matched != object.size()) {
      std::vector<std::string> allowed;
      boost::mp11::mp_for_each<detail::members<T>>([&](auto d) { allowed.emplace_back(d.name); });
      for (const auto& item : object)
        if (std::find(allowed.begin(), allowed.end(), std::string_view(item.key())) == allowed.end())
          return detail::unknown_member(item.key(), allowed, path);
    }
    return out;
  }
}

// The mappings of a large struct are compiled once, by the .cpp beside its header, and not by everybody who uses them:
//
//   #define ORBIT_POINTS(X) X(Point) X(Line)                            at the end of the header, outside the namespace
//   namespace orbit::json { ORBIT_POINTS(ORBIT_JSON_EXTERN) }
//   namespace orbit::json { ORBIT_POINTS(ORBIT_JSON_INSTANTIATE) }      in the .cpp
#define ORBIT_JSON_EXTERN(T)               \
  extern template Value from<T>(const T&); \
  extern template Result<T> to<T>(const Value&, From, const std::string&);
#define ORBIT_JSON_INSTANTIATE(T)   \
  template Value from<T>(const T&); \
  template Result<T> to<T>(const Value&, From, const std::string&);

}  // namespace orbit::json
