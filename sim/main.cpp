// orbit-sim [--seeds N] [--first S] [--seed S]: runs the simulation over seeds; prints each that fails and what it
// broke.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "orbit/sim/simulation.hpp"

int main(int argc, char** argv) {
  std::uint64_t first = 1;
  std::uint64_t count = 1000;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const std::uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (flag == "--seeds") {
      count = value;
    } else if (flag == "--first") {
      first = value;
    } else if (flag == "--seed") {
      first = value;
      count = 1;
    } else {
      fmt::print(stderr, "usage: orbit-sim [--seeds N] [--first S] | [--seed S]\n");
      return 2;
    }
  }
  std::int64_t steps = 0, runs = 0, crashes = 0, failed = 0;
  const std::clock_t begin = std::clock();
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const orbit::sim::Outcome outcome = orbit::sim::simulate(seed);
    steps += outcome.steps;
    runs += outcome.runs;
    crashes += outcome.server_crashes;
    if (outcome.violations.empty()) continue;
    ++failed;
    for (const auto& violation : outcome.violations) fmt::print("seed {}: {}\n", seed, violation);
    if (failed == 10) {
      fmt::print("ten seeds failed; giving up\n");
      break;
    }
  }
  const double minutes = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / 60;
  fmt::print(
      "simulation: {} seeds, {} runs, {} server crashes, {} steps, {} failed; {:.0f} seeds and {:.0f} steps a "
      "CPU-minute\n",
      count, runs, crashes, steps, failed, static_cast<double>(count) / minutes, static_cast<double>(steps) / minutes);
  return failed == 0 ? 0 : 1;
}
