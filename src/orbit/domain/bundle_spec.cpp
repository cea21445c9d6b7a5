#include "orbit/domain/bundle_spec.hpp"

namespace orbit::json {
ORBIT_BUNDLE_TYPES(ORBIT_JSON_INSTANTIATE)
}  // namespace orbit::json
