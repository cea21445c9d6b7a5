#include "orbit/server/lookup.hpp"

#include <vector>

#include "orbit/base/text.hpp"

namespace orbit::server {
namespace {

template <class T>
std::string nearest_of(const std::string& name, const std::vector<T>& known) {
  std::vector<std::string> names;
  for (const T& each : known) names.push_back(each.name);
  return nearest(name, names);
}

}  // namespace

Result<Project> find_project(StoreReader& reader, const std::string& name) {
  ORBIT_TRY(check_name(name, "project"));
  ORBIT_TRY_ASSIGN(auto project, reader.project(name));
  if (project) return std::move(*project);
  ORBIT_TRY_ASSIGN(const auto projects, reader.projects());
  const std::string near = nearest_of(name, projects);
  return fail(ErrorCode::not_found, fmt::format("there is no project '{}'", name), "project",
              near.empty() ? "orbit project create " + name
                           : fmt::format("did you mean '{}'? else: orbit project create {}", near, name));
}

Result<Experiment> find_experiment(StoreReader& reader, const std::string& project, const std::string& name) {
  ORBIT_TRY(check_name(name, "experiment"));
  ORBIT_TRY_ASSIGN(auto experiment, reader.experiment(project, name));
  if (experiment) return std::move(*experiment);
  ORBIT_TRY_ASSIGN(const auto experiments, reader.experiments(project));
  const std::string near = nearest_of(name, experiments);
  return fail(ErrorCode::not_found, fmt::format("project '{}' has no experiment '{}'", project, name), "experiment",
              near.empty() ? "create it, or list the experiments" : fmt::format("did you mean '{}'?", near));
}

Result<RunView> find_run(StoreReader& reader, const std::string& id_or_name, const std::optional<std::string>& project,
                         const std::string& field) {
  if (auto id = RunId::parse(id_or_name)) {
    ORBIT_TRY_ASSIGN(auto view, reader.run(*id));
    if (view && (!project || view->run.project == *project)) return std::move(*view);
  }
  ORBIT_TRY(check_name(id_or_name, field));
  if (project) ORBIT_TRY(check_name(*project, "project"));
  ORBIT_TRY_ASSIGN(const std::vector<RunId> ids, reader.runs_named(id_or_name, project));
  if (ids.empty())
    return fail(ErrorCode::not_found,
                project ? fmt::format("project '{}' has no run '{}'", *project, id_or_name)
                        : fmt::format("there is no run '{}'", id_or_name),
                field, "list the runs to see ids and names");
  if (ids.size() > 1)
    return fail(ErrorCode::conflict, fmt::format("{} runs are named '{}'", ids.size(), id_or_name), field,
                "say which project, or use the run's id");
  ORBIT_TRY_ASSIGN(auto view, reader.run(ids.front()));
  if (!view) return fail(ErrorCode::internal, "a run of that name is recorded but cannot be read", field);
  return std::move(*view);
}

}  // namespace orbit::server
