#include "orbit/server/flatten.hpp"

namespace orbit::server {

void flatten(const json::Value& value, const std::string& path, std::map<std::string, std::string>& out) {
  if (value.is_null()) return;
  if (const json::Object* object = value.if_object(); object != nullptr) {
    for (const auto& member : *object)
      flatten(member.value(), path.empty() ? std::string(member.key()) : path + "." + std::string(member.key()), out);
    return;
  }
  if (const json::Array* array = value.if_array(); array != nullptr) {
    for (std::size_t i = 0; i < array->size(); ++i) flatten((*array)[i], fmt::format("{}[{}]", path, i), out);
    return;
  }
  out[path] = value.is_string() ? std::string(value.get_string()) : json::dump(value);
}

}  // namespace orbit::server
