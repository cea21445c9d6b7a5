// Freezing, digesting, materialising and verifying bundles; used on both planes. Layout: domain/bundle_spec.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/domain/bundle_spec.hpp"
#include "orbit/domain/runtime_files.hpp"
#include "orbit/ports/blob_store.hpp"

namespace orbit::bundle {

namespace fs = std::filesystem;

struct Limits {
  std::int64_t max_files = 100'000;
  std::int64_t max_total_bytes = 8LL << 30;
  std::int64_t max_path_bytes = 1024;
  std::int64_t max_depth = 64;
};

// A relative path that may stand in a manifest (see FileEntry::path). The error's field is `field`, its message says
// what is wrong with it.
Result<void> check_path(std::string_view path, std::string_view field, const Limits& limits = {});

// A frozen file before it is frozen: where its bytes come from.
struct SourceFile {
  FileEntry entry;  // digest and size filled in by scan()
  fs::path from;    // absolute; empty when `bytes` holds the content
  std::string bytes;
};

// Lists a folder as it would be frozen below `prefix` ("inputs/code"): regular files and their digests, sorted by path.
// Links are resolved only when they stay inside the folder, and then frozen as the file they point to; links out,
// device files, sockets, FIFOs, bad names, too many files, too large: errors naming the path. `.git`, and names matched
// by ignore (exact names of path components), are left out. Digests are computed on up to two threads. A file that
// changes while it is read is an error.
Result<std::vector<SourceFile>> scan(const fs::path& folder, const std::string& prefix, const Limits& limits,
                                     const std::vector<std::string>& ignore = {});

// Digest of a set of files as a whole: SHA-256 of their canonical list, as bundle.json's. For datasets and checkpoints.
Digest digest_of_list(const std::vector<FileEntry>& files);
// Fingerprint of data that stays outside: one file, or a folder.
Result<DataFingerprint> fingerprint(const std::string& input, const fs::path& path);

// What is read of a bundle.json, an artifacts.json and a job.json at most: more than the limits above can come to.
inline constexpr std::size_t max_manifest_bytes = 192UL << 20;
inline constexpr std::size_t max_job_bytes = 16UL << 20;

std::string manifest_text(const BundleManifest& manifest);  // bundle.json; sorts
Digest manifest_digest(const BundleManifest& manifest);     // the bundle's identity
Result<BundleManifest> parse_manifest(
    std::string_view text);  // checks paths, order, duplicates, file/directory clashes, limits

// The manifest of a bundle, and its job.json, from where they were frozen.
Result<BundleManifest> read_manifest(BlobStore& blobs, const Digest& bundle);
Result<JobSpec> read_job(BlobStore& blobs, const BundleManifest& manifest);

std::string job_text(const JobSpec& job);  // job.json: canonical JSON, but params verbatim as their source text
Result<JobSpec> parse_job(std::string_view text);

inline constexpr const char* prechecks_path = "scripts/prechecks.json";
PrecheckList prechecks_of(const JobSpec& job);
std::string prechecks_text(const PrecheckList& list);
Result<PrecheckList> parse_prechecks(std::string_view text);

// Everything frozen of a run: the code files plus job.json and generated scripts.
struct Bundle {
  Digest digest;
  BundleManifest manifest;
  std::map<std::string, std::string> generated;  // path -> content of what was generated (job.json, scripts/…)
};
// argv: the entry's command line, argv[0] a path below inputs/code (as "./train.py") or an absolute program. Generates
// scripts/entrypoint.sh, which changes into inputs/code, and appends `resume_argument "$ORBIT_RESUME_FROM"` where that
// variable is set.
Result<Bundle> assemble(const JobSpec& job, const std::vector<std::string>& argv, const std::string& resume_argument,
                        const std::vector<FileEntry>& files);

// Writes the bundle below `directory` (which must be new or a half-made earlier try of the same bundle), every file
// read from `blobs` and verified while copied; modes set exactly; runtime/ and artifacts/ made; synced. Idempotent.
Result<void> materialise(const Digest& bundle, BlobStore& blobs, const fs::path& directory);

struct Finding {
  std::string path;
  std::string problem;  // "changed: digest …, expected …", "missing", "not in the manifest", "mode 0666, expected 0644"
};
// Recomputes everything frozen below `directory`; empty: it holds. The digest of bundle.json must be `expected`.
Result<std::vector<Finding>> verify(const fs::path& directory, const Digest& expected);

// Lists artifacts/ (with digests unless without_digests); links recorded, not followed; hostile names and kinds go to
// `skipped`. Safe against a workload that swaps files while we look: everything is opened beneath the directory without
// following links.
Result<ArtifactManifest> list_artifacts(const fs::path& artifacts, bool without_digests);
// Files of one directory below artifacts/ (a checkpoint), with digests.
Result<std::vector<FileEntry>> list_files(const fs::path& root, const std::string& below);
std::string artifact_manifest_text(const ArtifactManifest& manifest);  // canonical JSON
Result<ArtifactManifest> parse_artifact_manifest(std::string_view text);

}  // namespace orbit::bundle
