#include "orbit/cli/submit.hpp"

#include <algorithm>
#include <ostream>

#include "orbit/base/text.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/cli/follow.hpp"
#include "orbit/cli/frozen_view.hpp"
#include "orbit/cli/progress.hpp"
#include "orbit/cli/run_ref.hpp"
#include "orbit/cli/views.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/platform/system.hpp"

namespace orbit::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t digests_a_call = 5'000;  // the server takes 10,000, and 1 MiB
constexpr std::int64_t worth_a_stream_bytes = 256 * 1024;

// The project, or what it will be when `create` made it.
Result<Project> find_project(Api& api, const SubmitOptions& options, const SubmitPlan& plan,
                             std::optional<wire::ProjectRequest>& create) {
  const std::string& name = plan.submission.project;
  auto project = api.get_as<Project>(api_path({"projects", name}));
  if (project || project.error().code != ErrorCode::not_found) return project;
  if (!plan.create_project)
    return fail(
        ErrorCode::not_found, fmt::format("there is no project '{}'", name), "project",
        fmt::format(
            "make it with: orbit project create {}{}", name,
            options.file ? ", submit with --create-project, or write create_project: true in the run file" : ""));
  wire::ProjectRequest wanted;
  wanted.source = plan.source;
  create = std::move(wanted);  // by the server, together with the run
  Project planned;
  planned.name = name;
  planned.source = plan.source;
  return planned;
}

void print_preview(Context& context, const wire::SubmitPreview& preview, const wire::SubmitRequest& request) {
  Fields fields;
  add_frozen(fields, preview.spec, request.code);
  fields.add("placement", preview.placement);
  context.out << fields.text(context.terminal.colour_out);
  context.out << "\nnothing was submitted (--dry-run)\n";
}

}  // namespace

Result<std::vector<std::string>> data_inputs(Api& api, const std::string& task) {
  ORBIT_TRY_ASSIGN(const auto type, api.get_as<json::Value>(api_path({"task-types", task})));
  std::vector<std::string> names;
  const json::Value* inputs = type.is_object() ? type.get_object().if_contains("inputs") : nullptr;
  if (inputs != nullptr && inputs->is_object())
    for (const auto& item : inputs->get_object())
      if (text_at(item.value(), "kind") == "data") names.emplace_back(item.key());
  return names;
}

Result<std::vector<DataFingerprint>> fingerprint_data(const Submission& submission,
                                                      const std::vector<std::string>& names) {
  std::vector<DataFingerprint> out;
  for (const std::string& name : names) {
    const auto it = submission.inputs.find(name);
    if (it == submission.inputs.end() || !fs::path(it->second).is_absolute()) continue;
    auto found = bundle::fingerprint(name, it->second);
    if (!found) {
      Error error = std::move(found).error();
      const std::string field = "inputs." + name;
      if (error.field != field) error.message = (error.field.empty() ? it->second : error.field) + ": " + error.message;
      error.field = field;
      if (error.hint.empty()) error.hint = "an absolute path must exist on this machine: it is fingerprinted at submit";
      if (error.code == ErrorCode::not_found) error.code = ErrorCode::invalid_argument;
      return fail(std::move(error));
    }
    out.push_back(std::move(*found));
  }
  return out;
}

CodeContents contents_of(std::vector<bundle::SourceFile> files) {
  CodeContents out;
  BundleManifest list;
  for (bundle::SourceFile& file : files) {
    list.files.push_back(file.entry);
    out.contents.try_emplace(file.entry.sha256, Content{file.from, std::move(file.bytes), file.entry.size_bytes});
  }
  std::sort(list.files.begin(), list.files.end(),
            [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; });
  std::string text = bundle::manifest_text(list);
  out.files = Sha256::of(text);
  const auto size = static_cast<std::int64_t>(text.size());
  out.contents[out.files] = Content{{}, std::move(text), size};
  return out;
}

Result<UploadCount> upload_missing(Api& api, Context& context, const CodeContents& code, const Backoff& backoff) {
  std::vector<Digest> missing;
  std::vector<Digest> all;
  for (const auto& [digest, content] : code.contents) all.push_back(digest);
  for (std::size_t at = 0; at < all.size(); at += digests_a_call) {
    wire::MissingBlobsRequest request;
    request.digests.assign(all.begin() + static_cast<std::ptrdiff_t>(at),
                           all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), at + digests_a_call)));
    const std::string body = json::encode(request);
    const auto ask = [&] { return api.send(net::Method::post, api_path({"blobs", "missing"}), body); };
    ORBIT_TRY_ASSIGN(const std::string answer, at == 0 ? ask() : retried(backoff, ask));
    ORBIT_TRY_ASSIGN(auto part, Api::decode<wire::MissingBlobs>(answer));
    missing.insert(missing.end(), part.missing.begin(), part.missing.end());
  }
  UploadCount count;
  std::int64_t total = 0;
  for (const Digest& digest : missing) {
    const auto it = code.contents.find(digest);
    if (it == code.contents.end())
      return fail(ErrorCode::internal, fmt::format("the server asks for {}, which was not offered", digest.hex()));
    total += it->second.size_bytes;
  }
  Progress progress(context.err, context.terminal.err && !missing.empty(), context.terminal.width, "uploading", total);
  for (const Digest& digest : missing) {
    const Content& content = code.contents.at(digest);
    const std::string target = api_path({"blobs", digest.hex()});
    auto sent = retried(backoff, [&]() -> Result<void> {
      if (!content.file.empty() && content.size_bytes >= worth_a_stream_bytes)
        return api.upload(target, content.file, [&](std::int64_t bytes) { progress.update(count.bytes + bytes); });
      std::string read;
      if (!content.file.empty()) {
        ORBIT_TRY_ASSIGN(read, platform::read_file(content.file, worth_a_stream_bytes));
      }
      ORBIT_TRY(api.request(net::Method::put, target, content.file.empty() ? content.bytes : read,
                            {{"Content-Type", "application/octet-stream"}}));
      return {};
    });
    if (!sent) {
      Error error = std::move(sent).error();
      if (error.code == ErrorCode::corrupt || error.code == ErrorCode::invalid_argument) {
        error.field = content.file.string();
        error.hint = "did the file change while it was submitted? submit again";
      }
      return fail(std::move(error));
    }
    ++count.blobs;
    count.bytes += content.size_bytes;
    progress.update(count.bytes);
  }
  return count;
}

Result<std::string> post_run(Api& api, const wire::SubmitRequest& request, const Backoff& backoff) {
  ORBIT_ASSERT(request.id.has_value());
  const std::string body = json::encode(request);
  return retried(backoff, [&] { return api.send(net::Method::post, api_path({"runs"}), body); });
}

namespace {

// Everything up to the request itself; what lies in temporary folders is sent and gone when it returns.
Result<wire::SubmitRequest> prepare(Context& context, Api& api, const SubmitOptions& options) {
  std::error_code failure;
  const fs::path current = fs::current_path(failure);
  if (failure) return fail(ErrorCode::io, failure.message(), "current directory");
  ORBIT_TRY_ASSIGN(SubmitPlan plan, plan_submission(options, context.rest, current));
  wire::SubmitRequest request;
  ORBIT_TRY_ASSIGN(const Project project, find_project(api, options, plan, request.create_project));
  ORBIT_TRY_ASSIGN(const auto data_names, data_inputs(api, plan.submission.task));

  const fs::path temporary = fs::temp_directory_path(failure);
  if (failure) return fail(ErrorCode::io, failure.message(), "TMPDIR", "set TMPDIR to a folder that exists");
  ORBIT_TRY_ASSIGN(const auto work, platform::TempDirectory::make(temporary, "orbit-submit-"));
  bundle::SourceRequest from;
  from.source = plan.source ? *plan.source : project.source ? *project.source : current.string();
  from.revision = plan.revision;
  from.allow_dirty = plan.allow_dirty;
  from.demanded_key_files = plan.key_files;
  from.key_files = project.key_files;
  const std::optional<std::string>& entry = plan.submission.entry ? plan.submission.entry : project.entry;
  if (entry) from.key_files.push_back(fs::path(*entry).lexically_normal().string());
  from.work = work.path();
  ORBIT_TRY_ASSIGN(bundle::Source source, bundle::read_source(from, bundle::Limits{}));

  request.submission = plan.submission;
  request.code = source.revision;
  ORBIT_TRY_ASSIGN(request.data, fingerprint_data(plan.submission, data_names));
  const CodeContents code = contents_of(std::move(source.files));
  request.files = code.files;
  ORBIT_TRY(upload_missing(api, context, code, submit_backoff));
  return request;
}

}  // namespace

Result<int> run_submit(Context& context, const SubmitOptions& options) {
  if (options.dry_run && options.follow)
    return fail(ErrorCode::invalid_argument, "cannot be used with --dry-run", "--follow");
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  ORBIT_TRY_ASSIGN(wire::SubmitRequest request, prepare(context, *api, options));

  if (options.dry_run) {
    request.dry_run = true;
    ORBIT_TRY_ASSIGN(const std::string body, api->send(net::Method::post, api_path({"runs"}), json::encode(request)));
    if (context.json()) {
      context.print_json(body);
      return 0;
    }
    ORBIT_TRY_ASSIGN(const auto preview, Api::decode<wire::SubmitPreview>(body));
    print_preview(context, preview, request);
    return 0;
  }

  platform::SystemRng rng;
  request.id = make_id<RunId>(rng, context.now()).str();
  ORBIT_TRY_ASSIGN(const std::string body, post_run(*api, request, submit_backoff));
  ORBIT_TRY_ASSIGN(const auto run, Api::decode<wire::RunObject>(body));
  const std::string submitted = fmt::format("run {} ({}) submitted", escape(run.name), run.id);
  if (options.follow) {  // stdout belongs to the run's own output then
    context.note(submitted);
    return follow_attempt(context, run.id, run.attempts.empty() ? 1 : run.attempts.back().number);
  }
  if (context.json())
    context.print_json(body);
  else
    context.out << submitted
                << fmt::format("\n  watch it:   orbit run logs {0} --follow\n  its state:  orbit run show {0}\n",
                               run.id);
  return 0;
}

}  // namespace orbit::cli
