#include "orbit/domain/execution.hpp"

#include "orbit/base/json.hpp"

namespace orbit {

std::string backend_key(PlacementKind placement, LaunchMode mode) {
  return std::string(json::name_of(placement)) + "_" + std::string(json::name_of(mode));
}

Digest digest_of(const Template& value) {
  return Sha256::of(json::canonical(json::from(value)));
}

}  // namespace orbit

namespace orbit::json {
ORBIT_EXECUTION_TYPES(ORBIT_JSON_INSTANTIATE)
}  // namespace orbit::json
