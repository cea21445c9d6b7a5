// Bringing in what an attempt made: logs while it lives and to their end, metrics, the manifest, verification. Every
// function may be cut off at any point and called again.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/decide/conclusion.hpp"
#include "orbit/domain/records.hpp"
#include "orbit/ports/blob_store.hpp"
#include "orbit/ports/log_store.hpp"
#include "orbit/ports/placement.hpp"

namespace orbit::server {

// For an attempt whose runner wrote its result: all three streams to the sizes the result names, the manifest checked
// against the result's digest and stored as a blob, every artifact verified. What does not hold goes to
// Collected::problems; an error means: try again.
Result<decide::Collected> collect(Placement& placement, const Attempt& attempt, LogStore& logs, BlobStore& blobs);

// Appends what the streams grew by since the last call, synced; returns how many bytes. Ends early, without an error,
// once `stop` is set.
Result<std::int64_t> ship_logs(Placement& placement, const Attempt& attempt, LogStore& logs,
                               const std::atomic<bool>& stop);

// Complete lines of a metrics file from an offset on: {"step": 3, "loss": 0.25, "time": …} gives one point for each
// number but the step. `time` or `at` is RFC 3339 or unix seconds; without one the point gets `now`.
struct MetricsRead {
  std::vector<MetricPoint> points;
  std::int64_t from_offset = 0;
  std::int64_t to_offset = 0;       // behind the last complete line; where to go on
  std::int64_t skipped_lines = 0;   // broken, without a step, or longer than 64 KiB
  std::int64_t skipped_values = 0;  // neither number nor step nor time: text, lists, NaN as a string
  bool more = false;                // there was more than one call reads: call again at once
};
// A file that does not exist (yet) reads as empty.
Result<MetricsRead> read_metrics(Placement& placement, const Attempt& attempt, const std::string& file,
                                 std::int64_t offset, WallTime now);

}  // namespace orbit::server
