// What a client says of a project, checked and put into the record.
#pragma once

#include <optional>
#include <string>

#include "orbit/base/result.hpp"
#include "orbit/domain/records.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::server {

Result<void> check_text(const std::optional<std::string>& text, const std::string& field);

// Members that are absent stay as they are. `params`, `key_files`: whether they were sent; an empty one that was is a
// change.
Result<void> apply_request(const wire::ProjectRequest& request, bool params, bool key_files, Project& project);

// A project that is not recorded yet.
Result<Project> new_project(const std::string& name, const wire::ProjectRequest& request, const std::string& actor,
                            WallTime now);

}  // namespace orbit::server
