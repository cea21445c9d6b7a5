#include "orbit/cli/bundle_build.hpp"

#include <algorithm>

#include "orbit/base/text.hpp"
#include "orbit/bundle/source.hpp"
#include "orbit/cli/submit.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/spec/task_type.hpp"
#include "orbit/spec/template.hpp"

namespace orbit::cli {

namespace fs = std::filesystem;

namespace {

Result<Template> find_template(const BuildOptions& options, const std::string& id) {
  if (options.template_file) {
    ORBIT_TRY_ASSIGN(const std::string text, platform::read_file(*options.template_file, 1 << 20));
    return spec::parse_template(text, *options.template_file);
  }
  const auto shipped = spec::shipped_templates();
  const auto it = shipped.find(id);
  if (it != shipped.end()) return spec::parse_template(it->second, id + ".yaml");
  std::vector<std::string> known;
  for (const auto& [name, text] : shipped) known.push_back(name);
  return fail(ErrorCode::not_found, fmt::format("'{}' is no shipped template", to_valid_utf8(id)), "template",
              "give its file with --template FILE, or use one of " + join(known, ", "));
}

Result<spec::TaskType> find_task_type(const BuildOptions& options, const std::string& id) {
  std::map<std::string, spec::TaskType> types = spec::built_in_task_types();
  if (options.task_types) {
    ORBIT_TRY_ASSIGN(types, spec::load_task_types(*options.task_types));
  }
  const auto it = types.find(id);
  if (it != types.end()) return it->second;
  std::vector<std::string> known;
  for (const auto& [name, type] : types) known.push_back(name);
  const std::string close = nearest(id, known);
  return fail(ErrorCode::not_found, fmt::format("there is no task type '{}'", to_valid_utf8(id)), "task",
              close.empty() ? "one of " + join(known, ", ") + "; --task-types DIR adds your own"
                            : "did you mean " + close + "?");
}

Result<void> write_new(const fs::path& root, const FileEntry& entry, const Content& content) {
  ORBIT_TRY(bundle::check_path(entry.path, "path"));
  const fs::path path = root / entry.path;
  ORBIT_TRY(platform::make_directories(path.parent_path()));
  const mode_t mode = entry.executable ? 0755 : 0644;
  if (content.file.empty()) return platform::write_file(path, content.bytes, mode);
  return platform::copy_file(content.file, path, mode);
}

}  // namespace

Result<Digest> digest_of_bundle(const fs::path& directory) {
  auto text = platform::read_file(directory / "bundle.json", bundle::max_manifest_bytes);
  if (!text) {
    Error error = std::move(text).error();
    error.hint = "is this a bundle? orbit bundle build makes one";
    return fail(std::move(error));
  }
  return Sha256::of(*text);
}

Result<BuiltBundle> build_bundle(const BuildOptions& options, const std::vector<std::string>& command,
                                 const fs::path& current) {
  ORBIT_TRY_ASSIGN(const SubmitPlan plan, plan_submission(options.submission, command, current));
  const Submission& submission = plan.submission;
  const fs::path out = (current / options.out).lexically_normal();
  std::error_code failure;
  if (fs::symlink_status(out, failure).type() != fs::file_type::not_found)
    return fail(ErrorCode::conflict, "exists", out.string(), "name a directory that is not there yet");

  ORBIT_TRY_ASSIGN(const Template base, find_template(options, submission.template_id));
  ORBIT_TRY_ASSIGN(const ExecutionRequest request, spec::resolve(base, submission.resources, submission.overrides));
  const std::optional<EnvironmentProfile> environment =
      submission.environment ? submission.environment : request.values.environment;
  if (!environment)
    return fail(ErrorCode::invalid_argument, "is missing: neither run file nor template declares what the run needs",
                "environment", "--env FILE, or --env any when it needs nothing");
  ORBIT_TRY(spec::check_profile(*environment, "environment"));
  ORBIT_TRY_ASSIGN(const spec::TaskType type, find_task_type(options, submission.task));
  ORBIT_TRY_ASSIGN(spec::ShapedTask shaped, spec::shape(type, submission, request, *environment));

  fs::path parent = out.has_filename() ? out.parent_path() : out.parent_path().parent_path();
  ORBIT_TRY(platform::make_directories(parent));
  ORBIT_TRY_ASSIGN(const auto work, platform::TempDirectory::make(parent, ".orbit-bundle-"));
  bundle::SourceRequest from;
  from.source = plan.source.value_or(current.string());
  from.revision = plan.revision;
  from.allow_dirty = plan.allow_dirty;
  from.demanded_key_files = plan.key_files;
  from.work = work.path();
  ORBIT_TRY_ASSIGN(bundle::Source source, bundle::read_source(from, bundle::Limits{}));
  ORBIT_TRY_ASSIGN(shaped.job.data, fingerprint_data(submission, shaped.data_inputs));
  std::sort(shaped.job.data.begin(), shaped.job.data.end(),
            [](const DataFingerprint& a, const DataFingerprint& b) { return a.input < b.input; });

  std::vector<FileEntry> entries;
  std::map<std::string, Content> contents;
  for (bundle::SourceFile& file : source.files) {
    entries.push_back(file.entry);
    contents[file.entry.path] = Content{file.from, std::move(file.bytes), file.entry.size_bytes};
  }
  ORBIT_TRY_ASSIGN(bundle::Bundle made,
                   bundle::assemble(shaped.job, shaped.argv, submission.resume_argument.value_or(""), entries));
  for (auto& [path, text] : made.generated) contents[path] = Content{{}, std::move(text), 0};

  const fs::path half = work.path() / "bundle";
  BuiltBundle built{made.digest, out, 0, 0};
  for (const FileEntry& entry : made.manifest.files) {
    const auto it = contents.find(entry.path);
    ORBIT_ASSERT(it != contents.end());
    ORBIT_TRY(write_new(half, entry, it->second));
    ++built.files;
    built.size_bytes += entry.size_bytes;
  }
  ORBIT_TRY(platform::write_file(half / "bundle.json", bundle::manifest_text(made.manifest), 0644));
  ORBIT_TRY(platform::make_directories(half / "runtime"));
  ORBIT_TRY(platform::make_directories(half / "artifacts"));
  ORBIT_TRY(platform::write_file(half / hand_request_file,
                                 json::encode(HandRequest{1, submission.project, request}) + "\n", 0644));
  ORBIT_TRY_ASSIGN(const auto findings, bundle::verify(half, made.digest));
  if (!findings.empty())
    return fail(ErrorCode::conflict, findings.front().problem, findings.front().path,
                "did a file change meanwhile? build again");
  ORBIT_TRY(platform::rename_path(half, out));
  ORBIT_TRY(platform::sync_directory(parent));
  return built;
}

}  // namespace orbit::cli
