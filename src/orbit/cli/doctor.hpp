// orbit doctor: one line for each thing looked at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/cli/context.hpp"

namespace orbit::cli {

struct DoctorOptions {
  std::optional<std::string> data;
};

enum class Health { ok, warn, fail };

struct Diagnosis {
  std::string check;
  Health health = Health::ok;
  std::string found;
  std::string advice;  // what to do; empty when fine
};

// How far apart two clocks are matters from here on: log times and expiries look wrong.
constexpr std::int64_t clock_difference_warn_ms = 5'000;
// The server's clock was read somewhere between `asked` and `answered`.
Diagnosis judge_clock(WallTime asked, WallTime server, WallTime answered);
Diagnosis judge_disk(std::int64_t free_bytes, const std::string& path);
// 0 when nothing failed (warnings are fine), else 1.
Result<int> doctor(Context& context, const DoctorOptions& options);

}  // namespace orbit::cli
