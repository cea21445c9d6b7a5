// Between decisions and placements: what an intent does, and what an observation says. The same in the server and in
// the simulator.
#pragma once

#include <functional>

#include "orbit/base/result.hpp"
#include "orbit/decide/lifecycle.hpp"
#include "orbit/ports/backend_registry.hpp"
#include "orbit/ports/placement.hpp"

namespace orbit::control {

// The order of an attempt, as its runner will read it.
Order order_of(const LiveAttempt& attempt);

// Brings in and verifies what an attempt made (server/collect.hpp).
using Collect = std::function<Result<decide::Collected>(Placement&, const Attempt&)>;

// The only place where a decision becomes a side effect on a placement. Blocks as long as that takes.
Result<decide::Outcome> carry_out(const Intent& intent, const LiveAttempt& attempt, const BackendRegistry& backends,
                                  const Collect& collect, WallTime now);

decide::Sight sight_of(Observation observation);

}  // namespace orbit::control
