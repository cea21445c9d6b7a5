#include "orbit/cli/project_change.hpp"

#include "orbit/base/json.hpp"
#include "orbit/base/text.hpp"
#include "orbit/cli/submit_plan.hpp"

namespace orbit::cli {

Result<std::string> project_body(const ProjectChange& change, std::optional<std::int64_t> version) {
  std::error_code failure;
  const std::filesystem::path current = std::filesystem::current_path(failure);
  if (failure) return fail(ErrorCode::io, failure.message(), "current directory");
  ORBIT_TRY(check_name(change.name, "name"));
  json::Object body;
  if (version)
    body["version"] = *version;
  else
    body["name"] = change.name;
  if (change.description) body["description"] = *change.description;
  if (change.source) body["source"] = absolute_source(*change.source, current);
  if (change.entry) body["entry"] = *change.entry;
  if (change.environment) {
    ORBIT_TRY_ASSIGN(const EnvironmentProfile profile, read_environment(*change.environment, current));
    body["environment"] = json::from(profile);
  }
  if (!change.params.empty()) {
    json::Object params;
    for (const std::string& text : change.params) {
      ORBIT_TRY_ASSIGN(const auto pair, parse_assignment(text, "--param"));
      if (params.contains(pair.first))
        return fail(ErrorCode::invalid_argument, fmt::format("'{}' is given twice", to_valid_utf8(pair.first)),
                    "--param");
      params[pair.first] = pair.second;
    }
    body["params"] = std::move(params);
  }
  if (!change.key_files.empty()) body["key_files"] = json::from(change.key_files);
  return json::dump(body);
}

}  // namespace orbit::cli
