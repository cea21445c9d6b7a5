// The real clock and randomness.
#pragma once

#include "orbit/ports/clock.hpp"
#include "orbit/ports/rng.hpp"

namespace orbit::platform {

class SystemClock : public Clock {
 public:
  Now now() const override;  // CLOCK_REALTIME and CLOCK_BOOTTIME
};

class SystemRng : public Rng {
 public:
  void fill(std::span<std::uint8_t> bytes) override;  // getrandom
};

// Path of the running program, for starting runners from it.
std::string own_program();

}  // namespace orbit::platform
