#include "orbit/domain/records.hpp"

namespace orbit {

std::string_view role_name(Role role) {
  switch (role) {
    case Role::viewer:
      return "viewer";
    case Role::member:
      return "member";
    case Role::operator_:
      return "operator";
    case Role::admin:
      return "admin";
  }
  return "?";
}

std::optional<Role> parse_role(std::string_view name) {
  for (const Role role : {Role::viewer, Role::member, Role::operator_, Role::admin})
    if (role_name(role) == name) return role;
  return std::nullopt;
}

}  // namespace orbit

namespace orbit::json {
ORBIT_RECORD_TYPES(ORBIT_JSON_INSTANTIATE)
}  // namespace orbit::json
