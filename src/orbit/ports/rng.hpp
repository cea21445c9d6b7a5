#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "orbit/base/time.hpp"

namespace orbit {

// Unpredictable in production (getrandom), seeded in simulation. Thread-safe.
class Rng {
 public:
  virtual ~Rng() = default;
  virtual void fill(std::span<std::uint8_t> bytes) = 0;
};

template <class IdType>
IdType make_id(Rng& rng, WallTime now) {
  std::array<std::uint8_t, 10> random{};
  rng.fill(random);
  return IdType::make(now, random);
}

}  // namespace orbit
