// Why an attempt ended: decided here and nowhere else, from evidence (R7).
#pragma once

#include <string>
#include <vector>

#include "orbit/domain/attempt_state.hpp"
#include "orbit/domain/runtime_files.hpp"

namespace orbit::decide {

// What collecting found, on the control plane's side.
struct Collected {
  Digest manifest;  // as stored
  std::int64_t artifacts = 0;
  std::int64_t bytes = 0;
  std::vector<std::string> problems;  // what did not hold; empty: verified
  std::int64_t skipped = 0;           // named in the manifest and not collected: sockets, FIFOs, bad names
};

struct Conclusion {
  AttemptState state = AttemptState::failed;
  Reason reason = Reason::controller_error;
  std::string detail;
};

Conclusion conclude(const RunnerResult& result, const Collected& collected);

}  // namespace orbit::decide
