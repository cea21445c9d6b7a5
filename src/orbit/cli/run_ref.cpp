#include "orbit/cli/run_ref.hpp"

#include "orbit/base/id.hpp"
#include "orbit/base/text.hpp"
#include "orbit/cli/api.hpp"

namespace orbit::cli {

std::string RunRef::target(const std::vector<std::string>& below,
                           std::vector<std::pair<std::string, std::optional<std::string>>> parameters) const {
  std::vector<std::string> segments{"runs", run};
  segments.insert(segments.end(), below.begin(), below.end());
  if (project) parameters.emplace_back("project", project);
  return api_path(segments) + query(parameters);
}

Result<RunRef> parse_run_ref(const std::string& text, const std::optional<std::string>& project_flag) {
  RunRef out{text, project_flag};
  if (const std::size_t slash = text.find('/'); slash != std::string::npos) {
    out.project = text.substr(0, slash);
    out.run = text.substr(slash + 1);
    ORBIT_TRY(check_name(*out.project, "run"));
    if (project_flag && *project_flag != *out.project)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("'{}' names another project than --project", to_valid_utf8(text)), "run",
                  "leave --project out");
  }
  if (!is_ulid(out.run)) ORBIT_TRY(check_name(out.run, "run"));
  return out;
}

Result<std::string> attempt_segment(const std::optional<std::int64_t>& number) {
  if (!number) return std::string("latest");
  if (*number < 1) return fail(ErrorCode::invalid_argument, "attempts are counted from 1", "--attempt");
  return std::to_string(*number);
}

}  // namespace orbit::cli
