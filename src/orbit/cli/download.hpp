// Fetching artifacts: into files that appear whole or not at all, checked against their digests, never outside the
// folder.
#pragma once

#include <string>
#include <vector>

#include "orbit/cli/api.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/cli/run_ref.hpp"

namespace orbit::cli {

// `paths`: files or folders below artifacts/, all when empty. `to`: a folder, or "-" for one file on standard output.
Result<int> download_artifacts(Context& context, Api& api, const RunRef& run, const std::string& attempt,
                               const std::vector<std::string>& paths, const std::string& to);

}  // namespace orbit::cli
