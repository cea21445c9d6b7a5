// What must hold before the entry starts (R11). All are run and listed; the first that fails decides the reason.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "orbit/domain/bundle_spec.hpp"
#include "orbit/domain/runtime_files.hpp"
#include "orbit/launch/launcher.hpp"

namespace orbit::runner {

struct PrecheckOutcome {
  PrecheckReport report;
  std::optional<Reason> failed;
  std::string detail;          // of the first failure
  std::optional<JobSpec> job;  // when job.json could be read
};

struct PrecheckRequest {
  std::filesystem::path directory;
  Order order;
  launch::Launcher* launcher = nullptr;  // absent: its mode is not supported, which `launcher_error` says
  std::string launcher_error;
  std::filesystem::path machine_root = "/";
  int python_limit_ms = 20'000;
  WallTime now;
};

PrecheckOutcome run_prechecks(const PrecheckRequest& request);

}  // namespace orbit::runner
