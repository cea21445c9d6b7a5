// Where an attempt runs. A placement only moves bytes and starts the runner; what happened is read from the bundle's
// runtime/ directory, which is why every placement has the same recovery: read the journal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/domain/records.hpp"
#include "orbit/domain/runtime_files.hpp"

namespace orbit {

enum class RunnerLiveness { alive, dead, unknown };
BOOST_DESCRIBE_ENUM(RunnerLiveness, alive, dead, unknown)

// What can be seen of an attempt where it runs.
struct Observation {
  std::int64_t epoch = 0;  // of the order found there
  bool started = false;    // a runner journal exists
  RunnerLiveness runner = RunnerLiveness::unknown;
  std::vector<JournalRecord> journal;  // records after the seq asked for
  std::optional<RunnerResult> result;
};
BOOST_DESCRIBE_STRUCT(Observation, (), (epoch, started, runner, journal, result))

struct StartRequest {
  Order order;
  Digest bundle;
};

// All calls are idempotent by attempt and may be repeated after a crash of the caller at any point. Thread-safe for
// different attempts.
class Placement {
 public:
  virtual ~Placement() = default;

  // Makes a place and returns the handle: enough to find it again after any crash. Same attempt, same handle.
  virtual Result<std::string> provision(const AttemptId& attempt, const ExecutionRequest& request) = 0;
  // Puts bundle and order there and starts the runner. If a runner lives, does nothing; if one lived and died, starts
  // one that adopts.
  virtual Result<void> start(const std::string& handle, const StartRequest& request) = 0;
  // What it tells of the journal is on disk there: a record told once is never taken back by a crash of that machine.
  // `unavailable`: cannot be reached now. `not_found`: the place is gone for certain.
  virtual Result<Observation> observe(const std::string& handle, std::int64_t after_journal_seq) = 0;
  virtual Result<void> stop(const std::string& handle, const StopOrder& order) = 0;

  // At most max_bytes from offset; empty at the current end.
  virtual Result<std::string> read_log(const std::string& handle, Stream stream, std::int64_t offset,
                                       std::size_t max_bytes) = 0;
  // A file below artifacts/; `path` is checked, links are never followed.
  virtual Result<std::string> read_artifact(const std::string& handle, const std::string& path, std::int64_t offset,
                                            std::size_t max_bytes) = 0;
  virtual Result<ArtifactManifest> list_artifacts(
      const std::string& handle) = 0;  // as it is now, without digests while the run lives
  virtual Result<std::string> read_manifest(const std::string& handle) = 0;  // bytes of runtime/artifacts.json
  // Recomputes the digest of every artifact of the manifest; returns what does not hold, by path.
  virtual Result<std::map<std::string, std::string>> verify_artifacts(const std::string& handle,
                                                                      const ArtifactManifest& manifest) = 0;
  // Gives the place back. What was collected stays readable.
  virtual Result<void> release(const std::string& handle) = 0;
};

}  // namespace orbit
