#include "orbit/server/collect.hpp"

#include <algorithm>

#include "orbit/base/text.hpp"
#include "orbit/bundle/bundle.hpp"

namespace orbit::server {
namespace {

constexpr std::size_t step_bytes = 1 << 20;
constexpr std::int64_t ship_budget_bytes = 64 << 20;  // a call, so that one loud workload does not starve the others
constexpr std::size_t max_problems = 20;
constexpr int max_conflicts = 3;

// Trying again would find the same: the workload made the stream unreadable.
bool is_lasting(const Error& error) {
  return error.code == ErrorCode::refused || error.code == ErrorCode::invalid_argument ||
         error.code == ErrorCode::corrupt || error.code == ErrorCode::unsupported;
}

// One piece from where the log store ends. Returns the bytes appended: 0 at the end of what there is.
Result<std::int64_t> ship_piece(Placement& placement, const Attempt& attempt, LogStore& logs, Stream stream,
                                std::int64_t until) {
  for (int conflicts = 0;; ++conflicts) {
    ORBIT_TRY_ASSIGN(const std::int64_t have, logs.size(attempt.id, stream));
    if (have >= until) return 0;
    const auto want = static_cast<std::size_t>(std::min<std::int64_t>(until - have, step_bytes));
    ORBIT_TRY_ASSIGN(const std::string bytes, placement.read_log(attempt.handle, stream, have, want));
    if (bytes.empty()) return 0;
    auto appended = logs.append(attempt.id, stream, have, bytes);
    if (appended) return static_cast<std::int64_t>(bytes.size());
    // The live shipping of the same stream was faster: look again.
    if (appended.error().code != ErrorCode::conflict || conflicts == max_conflicts)
      return fail(std::move(appended).error());
  }
}

// Appends what keeps a stream from being whole to `problems`.
Result<void> finish_stream(Placement& placement, const Attempt& attempt, LogStore& logs, Stream stream,
                           std::int64_t size_bytes, std::vector<std::string>& problems) {
  const std::string name(stream_name(stream));
  if (size_bytes < 0) {
    problems.push_back(fmt::format("{}: the runner's result names {} bytes", name, size_bytes));
    return {};
  }
  for (;;) {
    auto shipped = ship_piece(placement, attempt, logs, stream, size_bytes);
    if (!shipped) {
      if (!is_lasting(shipped.error())) return fail(std::move(shipped).error());
      problems.push_back(fmt::format("{}: {}", name, shipped.error().text()));
      return {};
    }
    if (*shipped > 0) continue;
    // More than the runner counted is no fault: a workload may truncate its own stream (`> /dev/stdout`); what had
    // arrived stays.
    ORBIT_TRY_ASSIGN(const std::int64_t have, logs.size(attempt.id, stream));
    if (have < size_bytes)
      problems.push_back(fmt::format("{}: ends after {} bytes, the runner counted {}", name, have, size_bytes));
    return {};
  }
}

Result<void> take_manifest(Placement& placement, const Attempt& attempt, BlobStore& blobs, decide::Collected& out,
                           std::vector<std::string>& problems) {
  const Digest& expected = attempt.result->artifacts;
  if (expected.empty()) return {};  // the runner made none and says why in its result
  auto text = placement.read_manifest(attempt.handle);
  if (!text) {
    if (!is_lasting(text.error()) && text.error().code != ErrorCode::not_found) return fail(std::move(text).error());
    problems.push_back(fmt::format("runtime/artifacts.json: {}", text.error().message));
    return {};
  }
  if (const Digest found = Sha256::of(*text); found != expected) {
    problems.push_back(fmt::format("runtime/artifacts.json: digest {}, expected {}", found.hex(), expected.hex()));
    return {};
  }
  auto manifest = bundle::parse_artifact_manifest(*text);
  if (!manifest) {
    problems.push_back(fmt::format("runtime/artifacts.json: {}", manifest.error().text()));
    return {};
  }
  ORBIT_TRY_ASSIGN(const auto broken, placement.verify_artifacts(attempt.handle, *manifest));
  for (const auto& [path, problem] : broken) problems.push_back(fmt::format("{}: {}", to_valid_utf8(path), problem));
  ORBIT_TRY(blobs.put(expected, *text));
  out.manifest = expected;
  out.artifacts = static_cast<std::int64_t>(manifest->artifacts.size());
  out.skipped = static_cast<std::int64_t>(manifest->skipped.size());
  for (const Artifact& artifact : manifest->artifacts) out.bytes += artifact.size_bytes;
  return {};
}

}  // namespace

Result<decide::Collected> collect(Placement& placement, const Attempt& attempt, LogStore& logs, BlobStore& blobs) {
  if (!attempt.result)
    return fail(ErrorCode::invalid_argument, "the runner has not said yet how this attempt ended", attempt.id.str());
  decide::Collected out;
  std::vector<std::string> problems;
  for (const Stream stream : all_streams) {
    const auto size = attempt.result->log_sizes_bytes.find(std::string(stream_name(stream)));
    if (size == attempt.result->log_sizes_bytes.end()) continue;  // nothing was ever said there
    ORBIT_TRY(finish_stream(placement, attempt, logs, stream, size->second, problems));
  }
  ORBIT_TRY(logs.sync(attempt.id));
  ORBIT_TRY(take_manifest(placement, attempt, blobs, out, problems));
  if (problems.size() > max_problems) {
    const std::size_t more = problems.size() - max_problems;
    problems.resize(max_problems);
    problems.push_back(fmt::format("and {} more", more));
  }
  out.problems = std::move(problems);
  return out;
}

Result<std::int64_t> ship_logs(Placement& placement, const Attempt& attempt, LogStore& logs,
                               const std::atomic<bool>& stop) {
  std::int64_t shipped_bytes = 0;
  std::optional<Error> first_error;
  for (const Stream stream : all_streams) {
    while (!stop && shipped_bytes < ship_budget_bytes) {
      auto shipped = ship_piece(placement, attempt, logs, stream, std::numeric_limits<std::int64_t>::max());
      if (!shipped) {
        // One stream that cannot be read keeps no other from arriving.
        if (!first_error) first_error = std::move(shipped).error();
        break;
      }
      if (*shipped == 0) break;
      shipped_bytes += *shipped;
    }
  }
  if (shipped_bytes > 0) ORBIT_TRY(logs.sync(attempt.id));
  if (first_error) return fail(std::move(*first_error));
  return shipped_bytes;
}

}  // namespace orbit::server
