// Watching an attempt to its end: its output on stdout and stderr, its states as remarks on stderr.
#pragma once

#include <cstdint>
#include <string>

#include "orbit/base/result.hpp"
#include "orbit/cli/context.hpp"

namespace orbit::cli {

// 0 only if the attempt succeeded, else 1. With -o json, stdout gets the run's object at the end and nothing else.
// Ctrl-C detaches: it says so and exits with 130, and the run goes on.
Result<int> follow_attempt(Context& context, const std::string& run_id, std::int32_t number);

// While it lives, SIGINT writes `farewell` to stderr and exits with 130 at once, wherever the process is blocked.
class DetachOnInterrupt {
 public:
  explicit DetachOnInterrupt(const std::string& farewell);
  ~DetachOnInterrupt();
  DetachOnInterrupt(const DetachOnInterrupt&) = delete;
  DetachOnInterrupt& operator=(const DetachOnInterrupt&) = delete;
};

}  // namespace orbit::cli
