#include "orbit/wire/api.hpp"

namespace orbit::json {
ORBIT_API_TYPES(ORBIT_JSON_INSTANTIATE)
}  // namespace orbit::json
