// Ids are lowercase ULIDs: 48 bits of milliseconds, 80 random bits, 26 characters of Crockford base32. Valid as a path
// component, DNS label and container name. Types differ by tag, not by prefix. Never ordered by: order is by `seq`.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "orbit/base/result.hpp"
#include "orbit/base/time.hpp"

namespace orbit {

constexpr std::size_t ulid_length = 26;
std::string make_ulid(WallTime now, const std::array<std::uint8_t, 10>& random);
bool is_ulid(std::string_view text);

template <class Tag>
class Id {
 public:
  Id() = default;  // empty: "no id"

  // The only way from text: nothing that came over a wire becomes an id, and so a path, without it.
  static Result<Id> parse(std::string_view text) {
    if (!is_ulid(text))
      return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not an id", text.substr(0, 64)), Tag::name,
                  "ids are 26 characters of 0-9 and a-z as printed by orbit");
    Id id;
    id.text_ = text;
    return id;
  }
  static Id make(WallTime now, const std::array<std::uint8_t, 10>& random) {
    Id id;
    id.text_ = make_ulid(now, random);
    return id;
  }

  const std::string& str() const { return text_; }
  bool empty() const { return text_.empty(); }
  auto operator<=>(const Id&) const = default;

 private:
  std::string text_;
};

}  // namespace orbit

template <class Tag>
struct std::hash<orbit::Id<Tag>> {
  std::size_t operator()(const orbit::Id<Tag>& id) const { return std::hash<std::string>{}(id.str()); }
};
