#include "orbit/server/submission_checks.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <unordered_map>

#include "orbit/base/text.hpp"
#include "orbit/spec/template.hpp"

namespace orbit::server {
namespace {

constexpr std::size_t max_tags = 32;
constexpr std::size_t max_named = 5;
constexpr std::string_view code_prefix = "inputs/code/";

const FileEntry* find(const BundleManifest& files, const std::string& path) {
  const auto it = std::lower_bound(files.files.begin(), files.files.end(), path,
                                   [](const FileEntry& file, const std::string& wanted) { return file.path < wanted; });
  return it != files.files.end() && it->path == path ? &*it : nullptr;
}

bool has_below(const BundleManifest& files, const std::string& directory) {
  const std::string prefix = directory + "/";
  const auto it = std::lower_bound(files.files.begin(), files.files.end(), prefix,
                                   [](const FileEntry& file, const std::string& wanted) { return file.path < wanted; });
  return it != files.files.end() && it->path.starts_with(prefix);
}

std::string without_dot(std::string path) {
  while (path.starts_with("./")) path.erase(0, 2);
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::vector<std::string> code_paths(const BundleManifest& files, std::size_t limit) {
  std::vector<std::string> out;
  for (const FileEntry& file : files.files) {
    if (out.size() == limit) break;
    if (file.path.starts_with(code_prefix)) out.push_back(file.path.substr(code_prefix.size()));
  }
  return out;
}

// Every blob there, and as large as the list says: what is frozen can be materialised.
Result<void> check_blobs(const BundleManifest& list, BlobStore& blobs) {
  std::unordered_map<Digest, std::int64_t> sizes;
  std::vector<std::string> missing;
  std::int64_t missing_count = 0;
  for (const FileEntry& file : list.files) {
    const auto [it, is_new] = sizes.emplace(file.sha256, -1);
    if (is_new) {
      if (!blobs.has(file.sha256)) {
        ++missing_count;
        if (missing.size() < max_named) missing.push_back(file.path);
        continue;
      }
      ORBIT_TRY_ASSIGN(const std::filesystem::path path, blobs.path(file.sha256));
      std::error_code error;
      it->second = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
      if (error) return fail_errno(error.value(), "cannot look at the blob of", file.path);
    }
    if (it->second >= 0 && it->second != file.size_bytes)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{} has {} bytes, the list says {}", file.path, it->second, file.size_bytes), "files");
  }
  if (missing_count == 0) return {};
  return fail(
      ErrorCode::conflict,
      fmt::format("the content of {} file{} was not uploaded: {}{}", missing_count, missing_count == 1 ? "" : "s",
                  join(missing, ", "), static_cast<std::size_t>(missing_count) > missing.size() ? ", …" : ""),
      "files", "ask POST /api/v1/blobs/missing, upload what it names, and submit again");
}

}  // namespace

Result<void> check_source(const std::string& source, const std::string& field) {
  if (source.empty() || source.size() > 4096)
    return fail(ErrorCode::invalid_argument, "has 1 to 4096 bytes: the folder or URL the code came from", field);
  if (std::any_of(source.begin(), source.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return fail(ErrorCode::invalid_argument, "holds a control character", field);
  const std::size_t scheme = source.find("://");
  if (scheme == std::string::npos) return {};
  const std::string authority = source.substr(scheme + 3, source.find('/', scheme + 3) - scheme - 3);
  const std::string user = authority.substr(0, authority.find('@') == std::string::npos ? 0 : authority.rfind('@'));
  if (user.find(':') != std::string::npos)
    return fail(ErrorCode::invalid_argument, "the URL holds a password, which would be recorded", field,
                "leave it out; git takes it from its credential helper or a deploy key");
  return {};
}

Result<void> check_names(const Submission& submission) {
  ORBIT_TRY(check_name(submission.project, "project"));
  ORBIT_TRY(check_name(submission.task, "task"));
  ORBIT_TRY(check_name(submission.template_id, "template_id"));
  if (submission.name) {
    ORBIT_TRY(check_name(*submission.name, "name"));
    if (is_ulid(*submission.name))
      return fail(ErrorCode::invalid_argument, "a name that looks like an id could not be told from one", "name",
                  "choose another name");
  }
  if (submission.experiment) ORBIT_TRY(check_name(*submission.experiment, "experiment"));
  if (submission.tags.size() > max_tags)
    return fail(ErrorCode::too_large, fmt::format("{} tags, more than {}", submission.tags.size(), max_tags), "tags");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < submission.tags.size(); ++i) {
    const std::string field = fmt::format("tags[{}]", i);
    ORBIT_TRY(check_name(submission.tags[i], field));
    if (!seen.insert(submission.tags[i]).second)
      return fail(ErrorCode::invalid_argument, fmt::format("'{}' is there twice", submission.tags[i]), field);
  }
  return {};
}

Result<BundleManifest> read_file_list(const Digest& digest, BlobStore& blobs, const bundle::Limits& limits) {
  if (digest.empty())
    return fail(ErrorCode::invalid_argument, "the digest of the list of files is missing", "files",
                "upload the list as a blob and name its digest");
  if (!blobs.has(digest))
    return fail(ErrorCode::conflict, fmt::format("the list of files {} was not uploaded", digest.hex()), "files",
                "upload it as a blob, and submit again");
  ORBIT_TRY_ASSIGN(const std::string text, blobs.get(digest, bundle::max_manifest_bytes));
  auto list = bundle::parse_manifest(text);
  if (!list) {
    const bool too_large = list.error().code == ErrorCode::too_large;
    return fail(too_large ? ErrorCode::too_large : ErrorCode::invalid_argument,
                fmt::format("the list cannot be taken: {}", list.error().text()), "files");
  }
  if (static_cast<std::int64_t>(list->files.size()) > limits.max_files)
    return fail(ErrorCode::too_large, fmt::format("{} files, more than {}", list->files.size(), limits.max_files),
                "files", "leave data out of the code folder and name it by an absolute path");
  std::int64_t total_bytes = 0;
  for (const FileEntry& file : list->files) {
    if (!file.path.starts_with("inputs/"))
      return fail(ErrorCode::invalid_argument, fmt::format("{} is not below inputs/", file.path), "files");
    ORBIT_TRY(bundle::check_path(file.path, "files", limits));
    total_bytes += file.size_bytes;  // cannot overflow: parse_manifest bounds the sum
  }
  if (total_bytes > limits.max_total_bytes)
    return fail(ErrorCode::too_large,
                fmt::format("{} in all, more than {}", human_bytes(total_bytes), human_bytes(limits.max_total_bytes)),
                "files", "leave data out of the code folder and name it by an absolute path");
  ORBIT_TRY(check_blobs(*list, blobs));
  return list;
}

Result<void> check_entry(const std::string& code_entry, const BundleManifest& files, const CodeRevision& code) {
  if (code_entry.empty()) return {};
  const std::string entry = without_dot(code_entry);
  const FileEntry* file = find(files, std::string(code_prefix) + entry);
  if (file == nullptr) {
    const std::string near = nearest(entry, code_paths(files, 2000));
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not among the files of the code", entry), "entry",
                near.empty() ? "the path is relative to the source folder" : fmt::format("did you mean '{}'?", near));
  }
  if (!file->executable) {
    const std::string quoted = shell_quote(entry);
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' may not be executed: its run bit is missing", entry),
                "entry",
                code.commit ? fmt::format("git update-index --chmod=+x {0} && chmod +x {0}, and commit", quoted)
                            : fmt::format("chmod +x {}", quoted));
  }
  return {};
}

Result<void> check_code(const CodeRevision& code, const BundleManifest& files) {
  ORBIT_TRY(check_source(code.source, "code.source"));
  if (code.commit) {
    const std::string& commit = *code.commit;
    const bool hex = std::all_of(commit.begin(), commit.end(),
                                 [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
    if (!hex || (commit.size() != 40 && commit.size() != 64))
      return fail(ErrorCode::invalid_argument, "is not the full hash of a commit", "code.commit",
                  "40 or 64 hexadecimal digits");
  }
  const FileEntry* patch = find(files, "inputs/patch.diff");
  if (code.patch.has_value() != (patch != nullptr) || (patch != nullptr && *code.patch != patch->sha256))
    return fail(ErrorCode::invalid_argument, "the patch of the uncommitted changes is not the one among the files",
                "code.patch");
  if (code.patch && !code.dirty) return fail(ErrorCode::invalid_argument, "a clean tree has no patch", "code.dirty");
  if (code.dirty && code.commit && !code.patch)
    return fail(ErrorCode::invalid_argument, "the uncommitted changes were not frozen", "code.patch",
                "submit with --allow-dirty, or commit first");
  for (const auto& [path, digest] : code.key_files) {
    const std::string field = "code.key_files." + path;
    ORBIT_TRY(bundle::check_path(path, "code.key_files"));
    const FileEntry* file = find(files, std::string(code_prefix) + path);
    if (digest.empty() || (file != nullptr && file->sha256 != digest))
      return fail(ErrorCode::invalid_argument, "the fingerprint is not that of the file submitted", field,
                  "the file changed while it was read: submit again");
  }
  return {};
}

Result<std::vector<DataFingerprint>> check_data(const spec::ShapedTask& task, const std::vector<DataFingerprint>& given,
                                                const BundleManifest& files) {
  std::map<std::string, DataFingerprint> by_input;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string field = fmt::format("data[{}]", i);
    const DataFingerprint& data = given[i];
    if (std::find(task.data_inputs.begin(), task.data_inputs.end(), data.input) == task.data_inputs.end())
      return fail(ErrorCode::invalid_argument,
                  fmt::format("'{}' is no data input of this task", to_valid_utf8(data.input)), field + ".input",
                  "its data inputs: " + join(task.data_inputs, ", "));
    if (data.sha256.empty() || data.files < 0 || data.size_bytes < 0)
      return fail(ErrorCode::invalid_argument, "is not a fingerprint: it needs digest, files and size", field);
    if (!by_input.emplace(data.input, data).second)
      return fail(ErrorCode::invalid_argument, fmt::format("'{}' has two fingerprints", data.input), field);
  }
  std::vector<DataFingerprint> out;
  for (const std::string& name : task.data_inputs) {
    const auto value = task.job.inputs.find(name);
    if (value == task.job.inputs.end()) continue;
    const std::string field = "inputs." + name;
    const std::string path = without_dot(value->second);
    const auto fingerprint = by_input.find(name);
    if (!path.starts_with('/')) {
      if (fingerprint != by_input.end())
        return fail(ErrorCode::invalid_argument, "data that is staged with the code needs no fingerprint", field);
      const std::string staged = std::string(code_prefix) + path;
      if (path != "." && find(files, staged) == nullptr && !has_below(files, staged))
        return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not among the files of the code", path), field,
                    "name a file or folder of the source folder, or an absolute path on the machine that runs it");
      continue;
    }
    if (fingerprint == by_input.end() || fingerprint->second.path != value->second)
      return fail(ErrorCode::invalid_argument, fmt::format("the fingerprint of '{}' is missing", value->second), field,
                  "data outside the bundle is fingerprinted at submit: is the path there?");
    out.push_back(fingerprint->second);
    by_input.erase(fingerprint);
  }
  if (!by_input.empty())
    return fail(ErrorCode::invalid_argument,
                fmt::format("a fingerprint for '{}', which was not given", by_input.begin()->first), "data");
  std::sort(out.begin(), out.end(),
            [](const DataFingerprint& a, const DataFingerprint& b) { return a.input < b.input; });
  return out;
}

Result<EnvironmentProfile> choose_environment(const Submission& submission, const Project& project,
                                              const ExecutionRequest& request) {
  struct Choice {
    const std::optional<EnvironmentProfile>& profile;
    std::string field;
  };
  const Choice choices[] = {
      {submission.environment, "environment"},
      {project.environment, fmt::format("environment (of project {})", project.name)},
      {request.values.environment, fmt::format("environment (of template {})", submission.template_id)}};
  for (const Choice& choice : choices) {
    if (!choice.profile) continue;
    ORBIT_TRY(spec::check_profile(*choice.profile, choice.field));
    return *choice.profile;
  }
  return fail(ErrorCode::invalid_argument, "neither the run nor its project nor its template says what it needs",
              "environment", "declare for example  environment: {python: \">=3.9\"}  or write out  environment: any");
}

}  // namespace orbit::server
