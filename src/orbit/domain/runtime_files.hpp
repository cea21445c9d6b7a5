// The files of an attempt's runtime/ directory: the contract between the planes. Written by placements (order.json,
// stop.json) and by the runner (everything else); read by placements. What the workload can write is never believed.
//
//   runtime/order.json      Order          written once before the start (temp + fsync + rename)
//   runtime/lock            flock'ed by the living runner; a second runner finds it held and exits
//   runtime/journal.jsonl   JournalRecord  append-only, one JSON object a line; a torn last line is cut off by the next
//   runner runtime/stop.json       StopOrder      its presence asks for the end; written by the placement, idempotent
//   runtime/precheck.json   PrecheckReport
//   runtime/execution.log   text for people: staging, prechecks, launch, probes, collection (R12)
//   runtime/artifacts.json  ArtifactManifest
//   runtime/result.json     RunnerResult   temp + fsync + rename; the last thing the runner writes
//   artifacts/stdout, artifacts/stderr     the workload's own streams, as files and not pipes: it must not die with its
//   runner
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/digest.hpp"
#include "orbit/base/json.hpp"
#include "orbit/base/time.hpp"
#include "orbit/domain/attempt_state.hpp"
#include "orbit/domain/execution.hpp"
#include "orbit/domain/ids.hpp"

namespace orbit {

enum class Stream { stdout_, stderr_, execution };
BOOST_DESCRIBE_ENUM(Stream, stdout_, stderr_, execution)
// "stdout", "stderr", "execution": as in paths and in the API.
std::string_view stream_name(Stream stream);
std::optional<Stream> parse_stream(std::string_view name);
constexpr Stream all_streams[] = {Stream::stdout_, Stream::stderr_, Stream::execution};

// From which checkpoint an attempt starts (R8). The placement puts a copy of it at artifacts/resume/.
struct ResumeFrom {
  AttemptId attempt;
  std::string checkpoint;  // path below that attempt's artifacts/
  Digest sha256;           // of the canonical list of its files
};
BOOST_DESCRIBE_STRUCT(ResumeFrom, (), (attempt, checkpoint, sha256))

struct Order {
  std::int32_t schema = 1;
  AttemptId attempt;
  RunId run;
  std::int32_t number = 1;
  std::int64_t epoch = 0;  // fencing token: reports that carry an older one change nothing
  std::string project;
  Digest bundle;
  LaunchMode launch = LaunchMode::host_process;
  std::optional<std::string> image;
  Resources resources;
  std::vector<std::string> gpu_uuids;
  std::map<std::string, std::string> runtime_env;
  std::int64_t stop_grace_s = 10;
  std::optional<ResumeFrom> resume;
};
BOOST_DESCRIBE_STRUCT(Order, (),
                      (schema, attempt, run, number, epoch, project, bundle, launch, image, resources, gpu_uuids,
                       runtime_env, stop_grace_s, resume))

struct StopOrder {
  std::string by;  // who, for the journal
  WallTime at;
};
BOOST_DESCRIBE_STRUCT(StopOrder, (), (by, at))

// A process that can be told from a later one with the same pid, also after a reboot.
struct ProcessIdentity {
  std::int32_t pid = 0;
  std::int64_t start_ticks = 0;  // field 22 of /proc/<pid>/stat, clock ticks since boot
  std::string boot_id;           // /proc/sys/kernel/random/boot_id
};
BOOST_DESCRIBE_STRUCT(ProcessIdentity, (), (pid, start_ticks, boot_id))

enum class JournalKind {
  runner_started,  // identity of the runner; also when a later runner adopts (then `detail` says "adopted")
  precheck_passed,
  precheck_failed,     // reason, detail
  workload_launching,  // intent: written and synced before the exec, so that a crash in between never starts it twice
  workload_started,    // identity of the workload
  checkpoint,          // a checkpoint became complete
  stop_requested,      // detail: by whom, or "timeout"
  signalled,           // signal sent to the whole group
  workload_ended,      // exit_code or signal; neither: it is gone and how cannot be known
  leftovers_ended,     // processes that outlived the entry were ended: detail says how many
  collected,           // artifacts.json is written
  finished,            // result.json is written
};
BOOST_DESCRIBE_ENUM(JournalKind, runner_started, precheck_passed, precheck_failed, workload_launching, workload_started,
                    checkpoint, stop_requested, signalled, workload_ended, leftovers_ended, collected, finished)

struct CheckpointRecord {
  std::string path;                  // below artifacts/
  std::optional<std::int64_t> step;  // trailing number of the directory's name, if any
  std::int64_t files = 0;
  std::int64_t size_bytes = 0;
  Digest sha256;  // of the canonical list of its files
  WallTime at;
};
BOOST_DESCRIBE_STRUCT(CheckpointRecord, (), (path, step, files, size_bytes, sha256, at))

struct JournalRecord {
  std::int64_t seq = 0;  // 1, 2, 3 … without gaps
  WallTime at;
  JournalKind kind = JournalKind::runner_started;
  std::optional<ProcessIdentity> process;
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;
  std::optional<Reason> reason;
  std::optional<CheckpointRecord> checkpoint;
  std::optional<std::string> detail;
};
BOOST_DESCRIBE_STRUCT(JournalRecord, (), (seq, at, kind, process, exit_code, signal, reason, checkpoint, detail))

struct PrecheckItem {
  std::string check;  // "bundle digest", "free disk", "python", "package numpy", "entry" …
  bool ok = false;
  std::string wanted;
  std::string found;
};
BOOST_DESCRIBE_STRUCT(PrecheckItem, (), (check, ok, wanted, found))
struct PrecheckReport {
  WallTime at;
  bool ok = false;
  std::vector<PrecheckItem> items;
  std::map<std::string, std::string> environment;  // what was looked for and found: "python": "3.11.2"; "os" always
};
BOOST_DESCRIBE_STRUCT(PrecheckReport, (), (at, ok, items, environment))

enum class ArtifactKind { file, symlink };
BOOST_DESCRIBE_ENUM(ArtifactKind, file, symlink)
struct Artifact {
  std::string path;  // below artifacts/
  ArtifactKind kind = ArtifactKind::file;
  std::int32_t mode = 0;  // permission bits
  std::int64_t size_bytes = 0;
  Digest sha256;                      // files only
  std::optional<std::string> target;  // symlinks only: recorded, never followed
};
BOOST_DESCRIBE_STRUCT(Artifact, (), (path, kind, mode, size_bytes, sha256, target))
struct ArtifactManifest {
  std::int32_t schema = 1;
  std::vector<Artifact> artifacts;   // sorted by path
  std::vector<std::string> skipped;  // sockets, devices, FIFOs, names that are not valid UTF-8: named, not collected
};
BOOST_DESCRIBE_STRUCT(ArtifactManifest, (), (schema, artifacts, skipped))

// What the runner saw. Evidence only: the reason is decided by decide/conclusion.hpp, in one place.
struct RunnerResult {
  std::int32_t schema = 1;
  AttemptId attempt;
  std::int64_t epoch = 0;
  bool workload_started = false;
  std::optional<std::int32_t> exit_code;  // neither exit_code nor signal after a start: not known
  std::optional<std::int32_t> signal;
  bool stop_requested = false;  // by a StopOrder, before the end
  bool timed_out = false;
  bool host_oom = false;                           // the kernel's OOM killer hit the workload's cgroup
  bool disk_full = false;                          // no room was left where the workload writes when it had ended
  std::optional<Reason> failed_check;              // the precheck that failed, or start_failed
  std::map<std::string, std::string> environment;  // as in PrecheckReport
  std::vector<std::string> missing_outputs;
  std::optional<std::string> collect_error;
  std::string detail;  // a sentence for people
  std::optional<WallTime> started_at;
  WallTime ended_at;
  std::map<std::string, std::int64_t> log_sizes_bytes;  // by stream name: final, the streams grow no more
  Digest artifacts;                                     // SHA-256 of runtime/artifacts.json
};
BOOST_DESCRIBE_STRUCT(RunnerResult, (),
                      (schema, attempt, epoch, workload_started, exit_code, signal, stop_requested, timed_out, host_oom,
                       disk_full, failed_check, environment, missing_outputs, collect_error, detail, started_at,
                       ended_at, log_sizes_bytes, artifacts))

}  // namespace orbit

// clang-format off
#define ORBIT_RUNTIME_TYPES(X) \
  X(ResumeFrom) X(Order) X(StopOrder) X(ProcessIdentity) X(CheckpointRecord) X(JournalRecord) X(PrecheckItem) \
  X(PrecheckReport) X(Artifact) X(ArtifactManifest) X(RunnerResult)
// clang-format on
namespace orbit::json {
ORBIT_RUNTIME_TYPES(ORBIT_JSON_EXTERN)
}  // namespace orbit::json
