#include "orbit/server/project_request.hpp"

#include "orbit/base/text.hpp"
#include "orbit/server/submission_checks.hpp"
#include "orbit/spec/checks.hpp"
#include "orbit/spec/template.hpp"

namespace orbit::server {
namespace {

constexpr std::size_t max_text_bytes = 16 * 1024;

}  // namespace

Result<void> check_text(const std::optional<std::string>& text, const std::string& field) {
  if (text && text->size() > max_text_bytes)
    return fail(ErrorCode::invalid_argument, fmt::format("is longer than {} bytes", max_text_bytes), field);
  return {};
}

Result<void> apply_request(const wire::ProjectRequest& request, bool params, bool key_files, Project& project) {
  for (const auto& [text, field] : {std::pair(&request.description, "description"),
                                    std::pair(&request.source, "source"), std::pair(&request.entry, "entry")})
    ORBIT_TRY(check_text(*text, field));
  if (request.source) ORBIT_TRY(check_source(*request.source, "source"));
  if (request.entry) ORBIT_TRY(spec::relative_path(*request.entry, "entry", "the code folder"));
  for (std::size_t i = 0; i < request.key_files.size(); ++i)
    ORBIT_TRY(spec::relative_path(request.key_files[i], fmt::format("key_files[{}]", i), "the code folder"));
  if (request.environment) ORBIT_TRY(spec::check_profile(*request.environment, "environment"));
  if (request.description) project.description = *request.description;
  if (request.source) project.source = request.source;
  if (request.entry) project.entry = request.entry;
  if (request.environment) project.environment = request.environment;
  if (params) project.params = request.params;
  if (key_files) project.key_files = request.key_files;
  return {};
}

Result<Project> new_project(const std::string& name, const wire::ProjectRequest& request, const std::string& actor,
                            WallTime now) {
  ORBIT_TRY(check_name(name, "name"));
  if (request.version) return fail(ErrorCode::invalid_argument, "a new project has no version yet", "version");
  Project project;
  project.name = name;
  ORBIT_TRY(apply_request(request, true, true, project));
  project.created_at = now;
  project.created_by = actor;
  return project;
}

}  // namespace orbit::server
