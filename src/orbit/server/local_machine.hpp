// What the server's own machine has, for saying before a submission what can never start on it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "orbit/domain/records.hpp"

namespace orbit::server {

struct LocalMachine {
  std::int64_t cpus = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t gpus = 0;
};

// As the runner would count it. `root` is another one in tests: GPUs are looked for below it.
LocalMachine look_at_local_machine(const std::filesystem::path& root = "/");

// What of the request the machine does not have, a phrase each ("99 CPUs of which it has 2"); empty: it may fit.
std::vector<std::string> beyond(const LocalMachine& machine, const Resources& wanted);

}  // namespace orbit::server
