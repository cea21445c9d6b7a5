// runtime/audit.jsonl: what the workload used while it lived (R13).
#pragma once

#include <boost/describe.hpp>
#include <filesystem>

#include "orbit/base/time.hpp"
#include "orbit/launch/launcher.hpp"

namespace orbit::runner {

constexpr std::int64_t audit_interval_ms = 15'000;

struct AuditSample {
  WallTime at;
  std::int64_t processes = 0;
  std::int64_t rss_bytes = 0;
  std::int64_t cpu_ms = 0;
};
BOOST_DESCRIBE_STRUCT(AuditSample, (), (at, processes, rss_bytes, cpu_ms))

// A sample that cannot be written is a gap.
void append_audit_sample(const std::filesystem::path& runtime, const launch::Usage& usage, WallTime now);

}  // namespace orbit::runner
