// How people name a run: its id, its name, or project/name where the name alone is not unique.
#pragma once

#include <optional>
#include <string>

#include "orbit/base/result.hpp"

namespace orbit::cli {

struct RunRef {
  std::string run;
  std::optional<std::string> project;

  // Path below /api/v1 with the query that the name needs: target({"why"}), target({}, {{"limit", "10"}}).
  std::string target(const std::vector<std::string>& below = {},
                     std::vector<std::pair<std::string, std::optional<std::string>>> parameters = {}) const;
};
Result<RunRef> parse_run_ref(const std::string& text, const std::optional<std::string>& project_flag);

// "latest" or a number: what stands for an attempt in a path.
Result<std::string> attempt_segment(const std::optional<std::int64_t>& number);

}  // namespace orbit::cli
