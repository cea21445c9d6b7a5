// What a submission's parts must be, one by one. No I/O but looking at blobs.
#pragma once

#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/domain/records.hpp"
#include "orbit/ports/blob_store.hpp"
#include "orbit/spec/task_type.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::server {

// A folder or URL that code comes from. Recorded and shown for ever: no control characters, and no credential (R15).
Result<void> check_source(const std::string& source, const std::string& field);

// Names and tags of the submission; not whether anything of that name exists.
Result<void> check_names(const Submission& submission);

// The list of files as a manifest, everything below inputs/, every blob there.
Result<BundleManifest> read_file_list(const Digest& digest, BlobStore& blobs, const bundle::Limits& limits);

// The entry is among the files and may be executed.
Result<void> check_entry(const std::string& code_entry, const BundleManifest& files, const CodeRevision& code);

// Commit, patch and key files agree with the files.
Result<void> check_code(const CodeRevision& code, const BundleManifest& files);

// Relative data is staged, absolute data has its fingerprint. Returns the fingerprints by input's name.
Result<std::vector<DataFingerprint>> check_data(const spec::ShapedTask& task, const std::vector<DataFingerprint>& given,
                                                const BundleManifest& files);

// The run's own profile, else its project's, else its template's; none at all is refused (N3).
Result<EnvironmentProfile> choose_environment(const Submission& submission, const Project& project,
                                              const ExecutionRequest& request);

}  // namespace orbit::server
