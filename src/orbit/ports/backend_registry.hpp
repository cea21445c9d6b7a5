// The one registry of backends (R2): "<placement>_<launch mode>" -> placement. Filled by the composition root,
// read-only after.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "orbit/base/text.hpp"
#include "orbit/domain/execution.hpp"
#include "orbit/ports/placement.hpp"

namespace orbit {

class BackendRegistry {
 public:
  void add(PlacementKind placement, LaunchMode mode, std::shared_ptr<Placement> backend) {
    backends_[backend_key(placement, mode)] = std::move(backend);
  }
  Result<Placement*> find(PlacementKind placement, LaunchMode mode) const {
    const std::string key = backend_key(placement, mode);
    if (const auto it = backends_.find(key); it != backends_.end()) return it->second.get();
    std::vector<std::string> known;
    for (const auto& [name, backend] : backends_) known.push_back(name);
    return fail(ErrorCode::unsupported, "this server has no backend '" + key + "'", "template",
                "backends here: " + join(known, ", "));
  }

 private:
  std::map<std::string, std::shared_ptr<Placement>> backends_;
};

}  // namespace orbit
