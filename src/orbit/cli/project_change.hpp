// What `project create` and `project set` send: the members that were given, and no others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/domain/execution.hpp"

namespace orbit::cli {

struct ProjectChange {
  std::string name;
  std::optional<std::string> description, source, entry, environment;
  std::vector<std::string> params, key_files;

  bool empty() const {
    return !description && !source && !entry && !environment && params.empty() && key_files.empty();
  }
};

// JSON text. `version`: of the project that is changed; absent for a new one, whose name is sent instead.
Result<std::string> project_body(const ProjectChange& change, std::optional<std::int64_t> version);

}  // namespace orbit::cli
