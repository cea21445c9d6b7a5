// Versions as people write them, and ranges over them (N3).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orbit/base/result.hpp"

namespace orbit {

// "3.10.9", "v2.1.0+cu118", "cu121" (12.1), "ubuntu20.04" (name ubuntu, 20.04), "535.104.05": a name if one stands in
// front, numbers, and a local part after '+'. What follows the numbers in other ways ("rc1", "-1ubuntu2", "LTS",
// "(bookworm)") does not count. A distribution's name alone
// ("debian") and the code names of Debian and Ubuntu ("bookworm" is debian 12) are versions too.
struct Version {
  std::string name;  // lower case; "ubuntu", "debian" …; "cu"/"cuda"/"v"/"python" prefixes are not names
  std::vector<std::int64_t> numbers;
  std::string local;  // lower case
  std::string text;   // as written
};
Result<Version> parse_version(std::string_view text);
// By numbers, missing ones are 0.
std::strong_ordering compare(const Version& a, const Version& b);

// A bare version matches on major.minor (or on as many numbers as it has, if fewer), the patch ignored; "==" exactly;
// ">=", ">", "<=", "<", "!=", "~=" and comma-separated combinations; "any". A trailing ".*" or ".x" matches on the
// numbers before it. A name, where both sides have one, must be equal; so must a local part, where "==" or a bare
// version is wanted. A wanted name without numbers must be found.
Result<bool> version_matches(std::string_view wanted, std::string_view found);
Result<void> check_version_range(std::string_view wanted);

}  // namespace orbit
