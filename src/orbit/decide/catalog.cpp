#include "orbit/decide/catalog.hpp"

namespace orbit::decide {
namespace {

Event event(EventKind kind, const std::string& actor, const std::optional<std::string>& project, std::string evidence,
            Now now) {
  Event out;
  out.at = now.wall;
  out.kind = kind;
  out.actor = actor;
  out.project = project;
  out.evidence = std::move(evidence);
  return out;
}

}  // namespace

Effects create_project(const Project& project, Now now) {
  return {{AddProject{project}},
          {event(EventKind::project_created, project.created_by, project.name, project.name, now)}};
}

Effects update_project(const Project& project, const std::string& actor, Now now) {
  return {{UpdateProject{project}}, {event(EventKind::project_updated, actor, project.name, project.name, now)}};
}

Effects create_experiment(const Experiment& experiment, Now now) {
  return {{AddExperiment{experiment}},
          {event(EventKind::experiment_created, experiment.created_by, experiment.project, experiment.name, now)}};
}

Result<Effects> conclude_experiment(Experiment experiment, const std::string& conclusion, const std::string& actor,
                                    Now now) {
  if (experiment.conclusion)
    return fail(ErrorCode::conflict, "experiment '" + experiment.name + "' already has a conclusion", "conclusion",
                "a conclusion is written once; create a new experiment to go on");
  if (conclusion.empty())
    return fail(ErrorCode::invalid_argument, "is empty", "conclusion", "say in a sentence what was found");
  experiment.conclusion = conclusion;
  experiment.concluded_at = now.wall;
  const std::string project = experiment.project;
  return Effects{{ConcludeExperiment{std::move(experiment)}},
                 {event(EventKind::experiment_concluded, actor, project, conclusion, now)}};
}

Effects create_token(const Token& token, Now now) {
  return {{AddToken{token}},
          {event(EventKind::token_created, token.created_by, std::nullopt,
                 token.name + " as " + std::string(role_name(token.role)), now)}};
}

Effects revoke_token(const Token& token, const std::string& actor, Now now) {
  return {{RevokeToken{token.id, now.wall}}, {event(EventKind::token_revoked, actor, std::nullopt, token.name, now)}};
}

}  // namespace orbit::decide
