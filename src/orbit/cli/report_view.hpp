// Diffs and metrics as people read them.
#pragma once

#include <vector>

#include "orbit/cli/render.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::cli {

// The items of a diff with digests cut to 12 digits and all differing artifacts in one line that counts them.
std::vector<wire::DiffItem> summarised(const std::vector<wire::DiffItem>& items);

// A row a step, a column a metric; empty where a metric says nothing of a step.
Table metric_table(const std::vector<wire::MetricObject>& points);

}  // namespace orbit::cli
