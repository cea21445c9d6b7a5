// JSON as "a.b[2]" -> text, for comparing two objects member by member.
#pragma once

#include <map>
#include <string>

#include "orbit/base/json.hpp"

namespace orbit::server {

// Strings as they are, everything else as JSON text; null is left out, as if it were not there.
void flatten(const json::Value& value, const std::string& path, std::map<std::string, std::string>& out);

template <class T>
std::map<std::string, std::string> flattened(const T& value, const std::string& path = {}) {
  std::map<std::string, std::string> out;
  flatten(json::from(value), path, out);
  return out;
}

}  // namespace orbit::server
