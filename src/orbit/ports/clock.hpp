#pragma once

#include "orbit/base/time.hpp"

namespace orbit {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Now now() const = 0;
};

}  // namespace orbit
