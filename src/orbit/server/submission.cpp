#include "orbit/server/submission.hpp"

#include <algorithm>

#include "orbit/base/text.hpp"
#include "orbit/decide/catalog.hpp"
#include "orbit/decide/lifecycle.hpp"
#include "orbit/server/frozen_spec.hpp"
#include "orbit/server/lookup.hpp"
#include "orbit/server/outlook.hpp"
#include "orbit/server/project_request.hpp"
#include "orbit/server/run_names.hpp"
#include "orbit/server/submission_checks.hpp"
#include "orbit/spec/template.hpp"

namespace orbit::server {
namespace {

constexpr int max_name_tries = 12;

Failure name_taken(const std::string& project, const std::string& name) {
  return fail(ErrorCode::conflict, fmt::format("project '{}' has a run named '{}' already", project, name), "name",
              "choose another name, or leave it out and get one");
}

Result<bool> is_taken(const std::string& project, const std::string& name, StoreReader& reader) {
  ORBIT_TRY_ASSIGN(const auto ids, reader.runs_named(name, project));
  return !ids.empty();
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
  std::optional<Project> new_project;  // to be made together with the run
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

// The project as it is recorded, or as it would be made.
Result<Project> SubmissionService::project_of(const wire::SubmitRequest& request, const std::string& actor,
                                              StoreReader& reader, std::optional<Project>& made) {
  auto recorded = find_project(reader, request.submission.project);
  if (recorded || recorded.error().code != ErrorCode::not_found) return recorded;
  // A dry run shows what a project yet to be made would get.
  if (!request.create_project && !request.dry_run.value_or(false)) return recorded;
  auto project = new_project(request.submission.project, request.create_project.value_or(wire::ProjectRequest{}), actor,
                             clock_.now().wall);
  if (!project) {
    project.error().field = "create_project." + project.error().field;
    return project;
  }
  made = *project;
  return project;
}

Result<SubmissionService::Draft> SubmissionService::draft(const wire::SubmitRequest& request, const std::string& actor,
                                                          StoreReader& reader) {
  const Submission& asked = request.submission;
  ORBIT_TRY(check_names(asked));
  Draft out;
  ORBIT_TRY_ASSIGN(const Project project, project_of(request, actor, reader, out.new_project));
  if (asked.experiment) ORBIT_TRY(find_experiment(reader, asked.project, *asked.experiment));
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
  ORBIT_TRY_ASSIGN(const BundleManifest manifest, bundle::read_manifest(blobs_, run.bundle));
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
    auto recorded = writer_.run([&](const World&, Now decided) -> Result<Effects> {
      Effects effects;
      if (draft.new_project) effects = decide::create_project(*draft.new_project, decided);
      effects.append(decide::submit(run, attempt, decided));
      return effects;
    });
    if (recorded) break;
    if (!is_conflict(recorded.error())) return fail(std::move(recorded).error());
    if (draft.new_project) {  // made by somebody meanwhile, perhaps with other defaults
      ORBIT_TRY_ASSIGN(const auto made, reader.project(run.project));
      if (made) return submit(request, run.created_by);
    }
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
  drafted.run.created_at = clock_.now().wall;
  out.spec = spec_of(drafted.run, std::move(drafted.bundle.manifest), std::move(drafted.job));
  out.data = drafted.run.data;
  out.environment = drafted.run.environment;
  out.backend = backend_key(drafted.run.request.placement, drafted.run.request.launch);
  ORBIT_TRY_ASSIGN(out.placement, placement_outlook(drafted.run.request, drafted.run.environment, writer_));
  return out;
}

}  // namespace orbit::server
