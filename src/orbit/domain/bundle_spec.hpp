// What a bundle says (R5). The layout on disk:
//
//   bundle.json              every frozen file: path, mode, size, SHA-256; canonical JSON; its SHA-256 is the digest
//   job.json                 JobSpec                                          ┐
//   inputs/code/…            staged code, configs, small data                 │ frozen: same inputs, same digest on any
//   inputs/patch.diff        the uncommitted changes, if allowed              │ machine
//   scripts/entrypoint.sh    generated; execs the entry                       │
//   scripts/prechecks.json   PrecheckList                                     ┘
//   runtime/                 the runner's alone (domain/runtime_files.hpp): order, journal, result, precheck, manifest,
//   logs artifacts/               the workload's: stdout, stderr, metrics, checkpoints, outputs
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/digest.hpp"
#include "orbit/base/json.hpp"
#include "orbit/domain/execution.hpp"

namespace orbit {

// One frozen file. Mode is 0644 or 0755, nothing else: umask and group bits never reach a digest.
struct FileEntry {
  std::string path;  // relative, '/'-separated, valid UTF-8, no '.', '..' or empty component, no control characters
  bool executable = false;
  std::int64_t size_bytes = 0;
  Digest sha256;
};
BOOST_DESCRIBE_STRUCT(FileEntry, (), (path, executable, size_bytes, sha256))

struct BundleManifest {
  std::int32_t schema = 1;
  std::vector<FileEntry> files;  // sorted by path
};
BOOST_DESCRIBE_STRUCT(BundleManifest, (), (schema, files))

// Data that stays where it is: checked again before the start.
struct DataFingerprint {
  std::string input;  // which input of the task
  std::string path;   // absolute, on the machine that runs it
  std::int64_t files = 0;
  std::int64_t size_bytes = 0;
  Digest sha256;  // of a file: its content; of a directory: of the canonical list of its files (as bundle.json's)
};
BOOST_DESCRIBE_STRUCT(DataFingerprint, (), (input, path, files, size_bytes, sha256))

// job.json. Everything the runner must know that is the same for every attempt.
struct JobSpec {
  std::int32_t schema = 1;
  std::string task;   // for people and records; the runner never branches on it
  std::string entry;  // scripts/entrypoint.sh
  std::string
      code_entry;  // the file of inputs/code the entrypoint execs: must exist and be executable; empty for `command`
  std::map<std::string, std::string> params;  // JSON source text of each value, as written: 1.0 stays 1.0
  std::map<std::string, std::string> inputs;  // as resolved
  std::vector<std::string> outputs;           // expected below artifacts/; a missing one is output_missing
  std::vector<DataFingerprint> data;
  EnvironmentProfile environment;
  std::string metrics_file;
  CheckpointRule checkpoints;
};
BOOST_DESCRIBE_STRUCT(JobSpec, (),
                      (schema, task, entry, code_entry, params, inputs, outputs, data, environment, metrics_file,
                       checkpoints))

// scripts/prechecks.json: what must be checked on the machine before the entry starts, by PrecheckItem::check. Every
// one is in the runner's report, or the start is refused.
struct PrecheckList {
  std::int32_t schema = 1;
  std::vector<std::string> checks;
};
BOOST_DESCRIBE_STRUCT(PrecheckList, (), (schema, checks))

// Where the code came from (R1); recorded with the run, not in the bundle: two clones of one commit have one digest.
struct CodeRevision {
  std::string source;                 // folder or repository URL as given
  std::optional<std::string> commit;  // 40 or 64 hexadecimal digits; absent for a folder that is no repository
  bool dirty = false;
  std::optional<Digest> patch;              // SHA-256 of inputs/patch.diff when dirty
  std::map<std::string, Digest> key_files;  // path -> SHA-256 of entry, configuration, lock file, profile …
};
BOOST_DESCRIBE_STRUCT(CodeRevision, (), (source, commit, dirty, patch, key_files))

}  // namespace orbit

// clang-format off
#define ORBIT_BUNDLE_TYPES(X) \
  X(FileEntry) X(BundleManifest) X(DataFingerprint) X(JobSpec) X(PrecheckList) X(CodeRevision)
// clang-format on
namespace orbit::json {
ORBIT_BUNDLE_TYPES(ORBIT_JSON_EXTERN)
}  // namespace orbit::json
