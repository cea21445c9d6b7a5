// Projects and experiments.
#include "orbit/decide/catalog.hpp"
#include "orbit/server/project_request.hpp"
#include "orbit/server/routes_common.hpp"

namespace orbit::server {
namespace {

// Whether the body has the key at all: an empty list that was sent is a change, one that was not is none.
bool sent(const RouteContext& context, const std::string& key) {
  const auto value = json::parse(context.request.body);
  return value && value->is_object() && value->get_object().contains(key) && !value->get_object().at(key).is_null();
}

Result<net::Response> create_project(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto request, body_of<wire::ProjectRequest>(context));
  if (!request.name) return fail(ErrorCode::invalid_argument, "is missing", "name");
  ORBIT_TRY_ASSIGN(const Project project, new_project(*request.name, request, context.caller.name, context.now.wall));
  {
    ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
    ORBIT_TRY_ASSIGN(const auto existing, reader->project(project.name));
    if (existing)
      return fail(ErrorCode::conflict, fmt::format("there is a project '{}' already", project.name), "name",
                  "choose another name, or change that project");
  }
  ORBIT_TRY(commit(context, [project](Now now) -> Result<Effects> { return decide::create_project(project, now); }));
  return json_response(project, 201);
}

Result<net::Response> list_projects(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(auto projects, reader->projects());
  std::sort(projects.begin(), projects.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  ORBIT_TRY_ASSIGN(const auto page, page_of(context, projects, [](const Project& project) { return project.name; }));
  return json_response(page);
}

Result<net::Response> get_project(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const Project project, find_project(*reader, path_param(context, "project")));
  return json_response(project);
}

Result<net::Response> change_project(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto request, body_of<wire::ProjectRequest>(context));
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(Project project, find_project(*reader, path_param(context, "project")));
  ORBIT_TRY(check_may_act_on(context, project.created_by, "this project"));
  if (request.name && *request.name != project.name)
    return fail(ErrorCode::invalid_argument, "a project cannot be renamed", "name", "its runs are recorded under it");
  if (request.version && *request.version != project.version)
    return fail(ErrorCode::conflict,
                fmt::format("the project is at version {}, not {}", project.version, *request.version), "version",
                "somebody else changed it: read it again");
  ORBIT_TRY(apply_request(request, sent(context, "params"), sent(context, "key_files"), project));
  ORBIT_TRY(commit(context, [project, actor = context.caller.name](Now now) -> Result<Effects> {
    return decide::update_project(project, actor, now);
  }));
  ORBIT_TRY_ASSIGN(project, find_project(*reader, project.name));
  return json_response(project);
}

Result<Experiment> experiment_in_path(RouteContext& context, StoreReader& reader) {
  ORBIT_TRY_ASSIGN(const Project project, find_project(reader, path_param(context, "project")));
  return find_experiment(reader, project.name, path_param(context, "name"));
}

Result<net::Response> create_experiment(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto request, body_of<wire::ExperimentRequest>(context));
  ORBIT_TRY(check_name(request.name, "name"));
  ORBIT_TRY(check_text(request.variable, "variable"));
  ORBIT_TRY(check_text(request.hypothesis, "hypothesis"));
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const Project project, find_project(*reader, path_param(context, "project")));
  ORBIT_TRY_ASSIGN(const auto existing, reader->experiment(project.name, request.name));
  if (existing)
    return fail(ErrorCode::conflict,
                fmt::format("project '{}' has an experiment '{}' already", project.name, request.name), "name");
  Experiment experiment;
  experiment.project = project.name;
  experiment.name = request.name;
  experiment.variable = request.variable;
  experiment.hypothesis = request.hypothesis;
  experiment.created_at = context.now.wall;
  experiment.created_by = context.caller.name;
  ORBIT_TRY(
      commit(context, [experiment](Now now) -> Result<Effects> { return decide::create_experiment(experiment, now); }));
  return json_response(experiment, 201);
}

Result<net::Response> list_experiments(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  const auto project = context.request.query_value("project");
  if (project) ORBIT_TRY(find_project(*reader, *project));
  ORBIT_TRY_ASSIGN(auto experiments, reader->experiments(project));
  const auto key = [](const Experiment& experiment) { return experiment.project + "/" + experiment.name; };
  std::sort(experiments.begin(), experiments.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  ORBIT_TRY_ASSIGN(const auto page, page_of(context, experiments, key));
  return json_response(page);
}

Result<net::Response> get_experiment(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  wire::ExperimentObject out;
  ORBIT_TRY_ASSIGN(out.experiment, experiment_in_path(context, *reader));
  RunFilter filter;
  filter.project = out.experiment.project;
  filter.experiment = out.experiment.name;
  ORBIT_TRY_ASSIGN(const auto views, reader->runs(filter, Page{0, 100}));
  for (const RunView& view : views) out.runs.push_back(run_object(context, view));
  return json_response(out);
}

Result<net::Response> conclude_experiment(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto request, body_of<wire::ConcludeRequest>(context));
  ORBIT_TRY(check_text(request.conclusion, "conclusion"));
  if (request.conclusion.empty()) return fail(ErrorCode::invalid_argument, "is empty", "conclusion");
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const Experiment experiment, experiment_in_path(context, *reader));
  ORBIT_TRY(check_may_act_on(context, experiment.created_by, "this experiment"));
  ORBIT_TRY(commit(context, [experiment, text = request.conclusion, actor = context.caller.name](Now now) {
    return decide::conclude_experiment(experiment, text, actor, now);
  }));
  ORBIT_TRY_ASSIGN(const Experiment concluded, experiment_in_path(context, *reader));
  return json_response(concluded);
}

}  // namespace

void add_project_routes(RouteTable& table) {
  using net::Method;
  const Access viewer = Access::at_least(Role::viewer);
  const Access member = Access::at_least(Role::member);
  table.add(Method::post, "/api/v1/projects", member, "createProject", "Creates a project", create_project)
      .takes<wire::ProjectRequest>()
      .returns<Project>(201, "Created")
      .fails({409});
  table.add(Method::get, "/api/v1/projects", viewer, "listProjects", "Projects by name", list_projects)
      .paged()
      .returns<wire::List<Project>>();
  table.add(Method::get, "/api/v1/projects/{project}", viewer, "getProject", "One project", get_project)
      .returns<Project>()
      .fails({404});
  table
      .add(Method::patch, "/api/v1/projects/{project}", Access::own_or_operator(), "changeProject",
           "Changes what is sent", change_project)
      .takes<wire::ProjectRequest>()
      .returns<Project>()
      .fails({404, 409});
  table
      .add(Method::post, "/api/v1/projects/{project}/experiments", member, "createExperiment", "Creates an experiment",
           create_experiment)
      .takes<wire::ExperimentRequest>()
      .returns<Experiment>(201, "Created")
      .fails({404, 409});
  table
      .add(Method::get, "/api/v1/experiments", viewer, "listExperiments", "Experiments by project and name",
           list_experiments)
      .param("project", "Only this project's")
      .paged()
      .returns<wire::List<Experiment>>()
      .fails({404});
  table
      .add(Method::get, "/api/v1/projects/{project}/experiments/{name}", viewer, "getExperiment",
           "One experiment with its newest runs", get_experiment)
      .returns<wire::ExperimentObject>()
      .fails({404});
  table
      .add(Method::post, "/api/v1/projects/{project}/experiments/{name}/conclude", Access::own_or_operator(),
           "concludeExperiment", "Writes down what came of it; once", conclude_experiment)
      .takes<wire::ConcludeRequest>()
      .returns<Experiment>()
      .fails({404, 409});
}

}  // namespace orbit::server
