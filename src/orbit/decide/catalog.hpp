// Decisions about what has no life of its own: projects, experiments, tokens.
#pragma once

#include "orbit/base/result.hpp"
#include "orbit/domain/change.hpp"

namespace orbit::decide {

Effects create_project(const Project& project, Now now);  // created_at and created_by are the project's
Effects update_project(const Project& project, const std::string& actor, Now now);
Effects create_experiment(const Experiment& experiment, Now now);
// conflict when it already has a conclusion.
Result<Effects> conclude_experiment(Experiment experiment, const std::string& conclusion, const std::string& actor,
                                    Now now);
Effects create_token(const Token& token, Now now);
Effects revoke_token(const Token& token, const std::string& actor, Now now);

}  // namespace orbit::decide
