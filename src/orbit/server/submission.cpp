#include "orbit/server/submission.hpp"

#include <algorithm>
#include <unordered_set>

#include "orbit/base/text.hpp"
#include "orbit/decide/lifecycle.hpp"
#include "orbit/server/local_machine.hpp"
#include "orbit/server/run_names.hpp"
#include "orbit/server/submission_checks.hpp"
#include "orbit/spec/template.hpp"

namespace orbit::server {
namespace {

constexpr std::size_t max_manifest_bytes = 192UL << 20;
constexpr std::size_t max_job_bytes = 16UL << 20;
constexpr int max_name_tries = 12;
constexpr std::size_t max_named = 5;

Result<Project> find_project(const std::string& name, StoreReader& reader) {
  ORBIT_TRY_ASSIGN(auto project, reader.project(name));
  if (project) return std::move(*project);
  ORBIT_TRY_ASSIGN(const auto projects, reader.projects());
  std::vector<std::string> names;
  for (const Project& known : projects) names.push_back(known.name);
  const std::string near = nearest(name, names);
  return fail(ErrorCode::not_found, fmt::format("there is no project '{}'", name), "project",
              near.empty() ? "orbit project create " + name
                           : fmt::format("did you mean '{}'? else: orbit project create {}", near, name));
}

Result<void> check_experiment(const Submission& submission, StoreReader& reader) {
  if (!submission.experiment) return {};
  ORBIT_TRY_ASSIGN(const auto found, reader.experiment(submission.project, *submission.experiment));
  if (found) return {};
  ORBIT_TRY_ASSIGN(const auto all, reader.experiments(submission.project));
  std::vector<std::string> names;
  for (const Experiment& known : all) names.push_back(known.name);
  const std::string near = nearest(*submission.experiment, names);
  return fail(ErrorCode::not_found,
              fmt::format("project '{}' has no experiment '{}'", submission.project, *submission.experiment),
              "experiment", near.empty() ? "orbit experiment create" : fmt::format("did you mean '{}'?", near));
}

Failure name_taken(const std::string& project, const std::string& name) {
  return fail(ErrorCode::conflict, fmt::format("project '{}' has a run named '{}' already", project, name), "name",
              "choose another name, or leave it out and get one");
}

Result<bool> is_taken(const std::string& project, const std::string& name, StoreReader& reader) {
  ORBIT_TRY_ASSIGN(const auto ids, reader.runs_named(name, project));
  return !ids.empty();
}

std::string last_component(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_conflict(const Error& error) {
  return error.code == ErrorCode::conflict;
}

// The files are within the limits, and with what Orbit adds to them they are not any more.
Error of_code(Error error, const BundleManifest& files) {
  if (error.code != ErrorCode::too_large) return error;
  const bundle::Limits limits;
  return Error{ErrorCode::too_large,
               fmt::format("{} files and those Orbit adds (job.json, scripts) are too much for a bundle of at most {} "
                           "files and {}",
                           files.files.size(), limits.max_files, human_bytes(limits.max_total_bytes)),
               "code", "leave data out of the code folder and name it by an absolute path"};
}

// The furthest first, by the number in the name, else the last announced; each path once.
std::vector<std::string> paths_of(std::vector<CheckpointRecord> all) {
  std::stable_sort(all.begin(), all.end(), [](const CheckpointRecord& a, const CheckpointRecord& b) {
    return a.step.value_or(-1) > b.step.value_or(-1);
  });
  std::vector<std::string> out;
  std::unordered_set<std::string> seen;
  for (const CheckpointRecord& record : all)
    if (seen.insert(record.path).second) out.push_back(record.path);
  return out;
}

// The part of a bundle that came as files, as the list it came as.
Digest list_digest(const BundleManifest& manifest) {
  BundleManifest list;
  for (const FileEntry& file : manifest.files)
    if (file.path.starts_with("inputs/")) list.files.push_back(file);
  return bundle::manifest_digest(list);
}

}  // namespace

struct SubmissionService::Draft {
  Run run;
  JobSpec job;
  bundle::Bundle bundle;
  bool generated_name = false;
};

SubmissionService::SubmissionService(control::Writer& writer, ReaderSource readers, BlobStore& blobs,
                                     const BackendRegistry& backends, Clock& clock, Rng& rng, SubmissionOptions options)
    : writer_(writer),
      readers_(std::move(readers)),
      blobs_(blobs),
      backends_(backends),
      clock_(clock),
      rng_(rng),
      options_(std::move(options)),
      catalog_(options_.templates, options_.task_types) {}

Result<std::map<std::string, Template>> SubmissionService::templates() {
  return catalog_.templates();
}

Result<std::map<std::string, spec::TaskType>> SubmissionService::task_types() {
  return catalog_.task_types();
}

Result<SubmissionService::Draft> SubmissionService::draft(const wire::SubmitRequest& request, const std::string& actor,
                                                          StoreReader& reader) {
  const Submission& asked = request.submission;
  ORBIT_TRY(check_names(asked));
  Project project;
  project.name = asked.project;
  auto recorded = find_project(asked.project, reader);
  if (recorded)
    project = std::move(*recorded);
  else if (recorded.error().code != ErrorCode::not_found || !request.dry_run.value_or(false))
    return fail(std::move(recorded).error());  // a dry run shows what a project yet to be made would get
  ORBIT_TRY(check_experiment(asked, reader));
  ORBIT_TRY_ASSIGN(const Template base, catalog_.find_template(asked.template_id));
  ORBIT_TRY_ASSIGN(const ExecutionRequest execution, spec::resolve(base, asked.resources, asked.overrides));
  ORBIT_TRY(backends_.find(execution.placement, execution.launch));
  ORBIT_TRY_ASSIGN(const EnvironmentProfile environment, choose_environment(asked, project, execution));
  ORBIT_TRY_ASSIGN(const spec::TaskType type, catalog_.find_task_type(asked.task));
  if (type.ad_hoc && !options_.allow_command_tasks)
    return fail(ErrorCode::refused, fmt::format("tasks of type '{}' are not allowed on this server", asked.task),
                "task", "an administrator may set allow_command_tasks in config.yaml");

  Submission effective = asked;  // what the project fills in; recorded is what was asked
  effective.params.insert(project.params.begin(), project.params.end());
  if (!effective.entry && type.needs_entry) effective.entry = project.entry;

  Draft out;
  ORBIT_TRY_ASSIGN(spec::ShapedTask shaped, spec::shape(type, effective, execution, environment));
  ORBIT_TRY_ASSIGN(const BundleManifest files, read_file_list(request.files, blobs_, options_.limits));
  ORBIT_TRY(check_entry(shaped.job.code_entry, files, request.code));
  ORBIT_TRY(check_code(request.code, files));
  ORBIT_TRY_ASSIGN(shaped.job.data, check_data(shaped, request.data, files));
  auto assembled = bundle::assemble(shaped.job, shaped.argv, asked.resume_argument.value_or(""), files.files);
  if (!assembled) return fail(of_code(std::move(assembled).error(), files));
  out.bundle = std::move(*assembled);
  out.job = std::move(shaped.job);

  Run& run = out.run;
  run.project = asked.project;
  run.experiment = asked.experiment;
  run.tags = asked.tags;
  run.task = asked.task;
  run.submission = asked;
  run.resolved_from = base;
  run.template_digest = digest_of(base);
  run.request = execution;
  run.bundle = out.bundle.digest;
  run.code = request.code;
  run.environment = environment;
  run.data = out.job.data;
  run.created_by = actor;
  out.generated_name = !asked.name.has_value();
  if (asked.name) {
    run.name = *asked.name;
    ORBIT_TRY_ASSIGN(const bool taken, is_taken(run.project, run.name, reader));
    if (taken) return name_taken(run.project, run.name);
  }
  return out;
}

// Every blob a runner will need is durable before anything is recorded.
Result<void> SubmissionService::freeze(const Draft& draft) {
  for (const auto& [path, content] : draft.bundle.generated) {
    auto stored = blobs_.put(Sha256::of(content), content);
    if (!stored) return stored;
  }
  return blobs_.put(draft.bundle.digest, bundle::manifest_text(draft.bundle.manifest));
}

// The run a request made when it was first sent. Compared by what was sent: templates may have changed since.
Result<std::optional<Submitted>> SubmissionService::earlier(const RunId& id, const wire::SubmitRequest& request,
                                                            StoreReader& reader) {
  ORBIT_TRY_ASSIGN(auto view, reader.run(id));
  if (!view) return std::optional<Submitted>();
  const Run& run = view->run;
  std::vector<DataFingerprint> data = request.data;
  std::sort(data.begin(), data.end(),
            [](const DataFingerprint& a, const DataFingerprint& b) { return a.input < b.input; });
  ORBIT_TRY_ASSIGN(const std::string text, blobs_.get(run.bundle, max_manifest_bytes));
  ORBIT_TRY_ASSIGN(const BundleManifest manifest, bundle::parse_manifest(text));
  const bool same = json::encode(run.submission) == json::encode(request.submission) &&
                    json::encode(run.code) == json::encode(request.code) &&
                    json::encode(run.data) == json::encode(data) && list_digest(manifest) == request.files;
  if (!same)
    return fail(ErrorCode::conflict, fmt::format("run {} exists and was submitted with something else", id.str()), "id",
                "leave the id out, or make a new one for each submission");
  return std::optional(Submitted{std::move(*view), false});
}

Result<Submitted> SubmissionService::record(Draft draft, const wire::SubmitRequest& request, StoreReader& reader) {
  Run& run = draft.run;
  for (int tries = 0;; ++tries) {
    if (draft.generated_name) run.name = generate_run_name(run.project, rng_, tries);
    const Now now = clock_.now();
    run.created_at = now.wall;
    const AttemptId attempt = make_id<AttemptId>(rng_, now.wall);
    auto recorded = writer_.run(
        [&](const World&, Now decided) -> Result<Effects> { return decide::submit(run, attempt, decided); });
    if (recorded) break;
    if (!is_conflict(recorded.error())) return fail(std::move(recorded).error());
    // Lost against somebody: against the same request, or against a run of that name.
    ORBIT_TRY_ASSIGN(auto same, earlier(run.id, request, reader));
    if (same) return std::move(*same);
    ORBIT_TRY_ASSIGN(const bool taken, is_taken(run.project, run.name, reader));
    if (!taken || tries + 1 == max_name_tries) return fail(std::move(recorded).error());
    if (!draft.generated_name) return name_taken(run.project, run.name);
  }
  ORBIT_TRY_ASSIGN(auto view, reader.run(run.id));
  if (!view) return fail(ErrorCode::internal, "the run was recorded and cannot be read back", run.id.str());
  return Submitted{std::move(*view), true};
}

Result<Submitted> SubmissionService::submit(const wire::SubmitRequest& request, const std::string& actor) {
  ORBIT_TRY_ASSIGN(const auto reader, readers_());
  RunId id;
  if (request.id) {
    auto parsed = RunId::parse(*request.id);
    if (!parsed) {
      parsed.error().field = "id";
      return fail(std::move(parsed).error());
    }
    id = *parsed;
    ORBIT_TRY_ASSIGN(auto same, earlier(id, request, *reader));
    if (same) return std::move(*same);
  } else {
    id = make_id<RunId>(rng_, clock_.now().wall);
  }
  ORBIT_TRY_ASSIGN(Draft drafted, draft(request, actor, *reader));
  drafted.run.id = id;
  ORBIT_TRY(freeze(drafted));
  return record(std::move(drafted), request, *reader);
}

Result<wire::SubmitPreview> SubmissionService::preview(const wire::SubmitRequest& request, const std::string& actor) {
  ORBIT_TRY_ASSIGN(const auto reader, readers_());
  ORBIT_TRY_ASSIGN(Draft drafted, draft(request, actor, *reader));
  ORBIT_TRY(freeze(drafted));
  wire::SubmitPreview out;
  out.spec.submission = drafted.run.submission;
  out.spec.resolved_from = drafted.run.resolved_from;
  out.spec.template_digest = drafted.run.template_digest;
  out.spec.request = drafted.run.request;
  out.spec.job = std::move(drafted.job);
  out.spec.bundle = std::move(drafted.bundle.manifest);
  out.spec.bundle_digest = drafted.bundle.digest;
  out.data = drafted.run.data;
  out.environment = drafted.run.environment;
  out.backend = backend_key(drafted.run.request.placement, drafted.run.request.launch);
  ORBIT_TRY_ASSIGN(out.placement, where(drafted.run.request));
  return out;
}

Result<std::string> SubmissionService::where(const ExecutionRequest& request) {
  const std::string target = request.values.target.value_or("");
  if (request.placement == PlacementKind::local) {
    const std::vector<std::string> lacking = beyond(look_at_local_machine(), request.values.resources);
    if (!lacking.empty())
      return fmt::format("could never start on the server's own machine: asked for are {}", join(lacking, "; "));
  }
  const std::string place = target.empty() ? "the server's own machine" : fmt::format("'{}'", target);
  std::int32_t taken = 0;
  std::int32_t slots = 0;
  std::int64_t waiting = 0;
  ORBIT_TRY(writer_.inspect([&](const World& world) {
    slots = world.policy.local_slots;
    if (const auto it = world.occupied.find(target); it != world.occupied.end()) taken = it->second;
    for (const auto& [seq, id] : world.queue)
      if (const LiveAttempt* live = world.find(id); live != nullptr && live->record.target == target) ++waiting;
    for (const auto& [seq, id] : world.submitted)
      if (const LiveAttempt* live = world.find(id); live != nullptr && live->record.target == target) ++waiting;
  }));
  if (taken + waiting < slots)
    return fmt::format("would start at once on {} ({} of {} slots taken)", place, taken, slots);
  return fmt::format("would wait for a slot on {}: {} of {} are taken, {} waiting in front", place, taken, slots,
                     waiting);
}

Result<Attempt> SubmissionService::add_attempt(const Run& run, const std::optional<std::string>& target,
                                               std::optional<ResumeFrom> resume, const std::string& actor) {
  ORBIT_TRY(backends_.find(run.request.placement, run.request.launch));
  if (target && run.request.placement == PlacementKind::local)
    return fail(ErrorCode::invalid_argument,
                "runs of the local placement have no target: the server's own machine is the only one", "target",
                "leave it out");
  if (target) ORBIT_TRY(check_name(*target, "target"));
  if (!blobs_.has(run.bundle))
    return fail(ErrorCode::corrupt, fmt::format("the bundle {} of this run is not there any more", run.bundle.hex()),
                "bundle", "orbit run verify says what is missing");
  ORBIT_TRY_ASSIGN(const auto reader, readers_());
  ORBIT_TRY_ASSIGN(const auto view, reader->run(run.id));
  if (!view) return fail(ErrorCode::not_found, "there is no such run", run.id.str());

  decide::NewAttempt wanted;
  wanted.id = make_id<AttemptId>(rng_, clock_.now().wall);
  for (const Attempt& attempt : view->attempts) wanted.number = std::max(wanted.number, attempt.number + 1);
  wanted.target = target.value_or("");
  wanted.resume = std::move(resume);
  wanted.actor = actor;
  ORBIT_TRY(writer_.run([&](const World& world, Now now) { return decide::add_attempt(world, run, wanted, now); }));
  ORBIT_TRY_ASSIGN(auto attempt, reader->attempt(wanted.id));
  if (!attempt) return fail(ErrorCode::internal, "the attempt was recorded and cannot be read back", wanted.id.str());
  return std::move(*attempt);
}

Result<Attempt> SubmissionService::rerun(const RunView& run, const wire::RerunRequest& request,
                                         const std::string& actor) {
  return add_attempt(run.run, request.target, std::nullopt, actor);
}

namespace {

// Which of an attempt's checkpoints is meant. Nothing: none of them.
Result<std::optional<CheckpointRecord>> choose(const std::vector<CheckpointRecord>& all,
                                               const std::optional<std::string>& wanted) {
  if (all.empty()) return std::optional<CheckpointRecord>();
  if (!wanted) {
    // The furthest, by the number in its name: several may be announced in one look, in no particular order. Without
    // numbers, the last announced.
    const CheckpointRecord* latest = &all.front();
    for (const CheckpointRecord& record : all)
      if (record.step.value_or(-1) >= latest->step.value_or(-1)) latest = &record;
    return std::optional(*latest);
  }
  std::string path = *wanted;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  std::vector<const CheckpointRecord*> matches;
  for (const CheckpointRecord& record : all) {
    if (record.path == path) return std::optional(record);
    if (last_component(record.path) == path) matches.push_back(&record);
  }
  if (matches.empty()) return std::optional<CheckpointRecord>();
  if (matches.size() == 1) return std::optional(*matches.front());
  std::vector<std::string> paths;
  for (const CheckpointRecord* match : matches) paths.push_back(match->path);
  return fail(ErrorCode::conflict, fmt::format("'{}' may be any of {}", path, join(paths, ", ")), "checkpoint",
              "name it by its whole path");
}

}  // namespace

Result<Attempt> SubmissionService::resume(const RunView& run, const wire::ResumeRequest& request,
                                          const std::string& actor) {
  ORBIT_TRY_ASSIGN(const auto reader, readers_());
  ORBIT_TRY_ASSIGN(const auto view, reader->run(run.run.id));
  if (!view) return fail(ErrorCode::not_found, "there is no such run", run.run.id.str());
  std::vector<Attempt> attempts = view->attempts;
  std::sort(attempts.begin(), attempts.end(), [](const Attempt& a, const Attempt& b) { return a.number > b.number; });
  if (request.attempt) {
    std::erase_if(attempts, [&](const Attempt& attempt) { return attempt.number != *request.attempt; });
    if (attempts.empty())
      return fail(ErrorCode::not_found, fmt::format("run '{}' has no attempt {}", run.run.name, *request.attempt),
                  "attempt", fmt::format("it has {}", view->attempts.size()));
  }
  std::vector<CheckpointRecord> announced;  // newest first
  for (const Attempt& attempt : attempts) {
    ORBIT_TRY_ASSIGN(const auto all, reader->checkpoints(attempt.id));
    ORBIT_TRY_ASSIGN(const auto chosen, choose(all, request.checkpoint));
    if (chosen)
      return add_attempt(run.run, request.target, ResumeFrom{attempt.id, chosen->path, chosen->sha256}, actor);
    announced.insert(announced.end(), all.rbegin(), all.rend());
  }
  std::vector<std::string> known = paths_of(std::move(announced));
  if (known.empty())
    return fail(ErrorCode::not_found,
                request.attempt ? fmt::format("attempt {} announced no checkpoint", *request.attempt)
                                : fmt::format("run '{}' announced no checkpoint", run.run.name),
                "checkpoint", fmt::format("orbit run rerun {} starts it from the beginning", run.run.name));
  const std::string near = nearest(request.checkpoint.value_or(""), known);
  if (known.size() > max_named) known.resize(max_named);
  return fail(ErrorCode::not_found,
              fmt::format("there is no checkpoint '{}'", to_valid_utf8(request.checkpoint.value_or(""))), "checkpoint",
              near.empty() ? "the furthest are " + join(known, ", ") : fmt::format("did you mean '{}'?", near));
}

Result<wire::RunSpecObject> frozen_spec(const Run& run, BlobStore& blobs) {
  wire::RunSpecObject out;
  out.submission = run.submission;
  out.resolved_from = run.resolved_from;
  out.template_digest = run.template_digest;
  out.request = run.request;
  out.bundle_digest = run.bundle;
  ORBIT_TRY_ASSIGN(const std::string manifest, blobs.get(run.bundle, max_manifest_bytes));
  ORBIT_TRY_ASSIGN(out.bundle, bundle::parse_manifest(manifest));
  for (const FileEntry& file : out.bundle.files) {
    if (file.path != "job.json") continue;
    ORBIT_TRY_ASSIGN(const std::string job, blobs.get(file.sha256, max_job_bytes));
    ORBIT_TRY_ASSIGN(out.job, bundle::parse_job(job));
    return out;
  }
  return fail(ErrorCode::corrupt, "the bundle has no job.json", run.bundle.hex());
}

}  // namespace orbit::server
