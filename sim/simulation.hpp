// One seed: a server and a machine for some simulated minutes, with faults, then without, until everything must have
// come to rest. What was found wrong is returned, empty when nothing.
//
// Checkers, each by name:
//   acknowledged-lost   every run whose submission was acknowledged is recorded
//   started-twice       no attempt's workload is launched more than once
//   final-changed       no final state ever changes
//   unexplained         the state of every attempt is what its events, replayed from `submitted`, say; seq only grows
//   guessed             the recorded ending is what really happened, or says that it cannot be known
//   stuck               once faults end, every attempt reaches a final state, no intent or timer stays open
//   orphan              nothing runs on the machine that no living attempt accounts for
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orbit::sim {

struct Outcome {
  std::vector<std::string> violations;
  std::int64_t steps = 0;
  std::int64_t runs = 0;
  std::int64_t server_crashes = 0;
};

Outcome simulate(std::uint64_t seed);

}  // namespace orbit::sim
