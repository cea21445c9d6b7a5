// Where a run would go if it were submitted now.
#pragma once

#include <string>

#include "orbit/base/result.hpp"
#include "orbit/control/writer.hpp"
#include "orbit/domain/records.hpp"

namespace orbit::server {

// A sentence: where it would start at once, what it would wait for, or why it never could.
Result<std::string> placement_outlook(const ExecutionRequest& request, const EnvironmentProfile& environment,
                                      control::Writer& writer);

}  // namespace orbit::server
