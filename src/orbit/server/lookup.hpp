// What a name given by somebody stands for. Nothing of that name: not_found, with the nearest there is.
#pragma once

#include <optional>
#include <string>

#include "orbit/base/result.hpp"
#include "orbit/ports/store.hpp"

namespace orbit::server {

Result<Project> find_project(StoreReader& reader, const std::string& name);
Result<Experiment> find_experiment(StoreReader& reader, const std::string& project, const std::string& name);
// By id, or by name within `project` or where only one run has it; several: conflict. `field` is what errors name.
Result<RunView> find_run(StoreReader& reader, const std::string& id_or_name, const std::optional<std::string>& project,
                         const std::string& field);

}  // namespace orbit::server
