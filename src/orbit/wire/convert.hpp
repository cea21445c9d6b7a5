// From records to the API's objects.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orbit/domain/records.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::wire {

AttemptObject attempt_object(const Attempt& attempt, WallTime now);

// `attempts`: oldest first. `params`: JSON source text of each, as frozen in job.json or, without that, as submitted:
// text that is no JSON stands for itself.
RunObject run_object(const Run& run, const std::vector<Attempt>& attempts,
                     const std::map<std::string, std::string>& params, WallTime now);
inline RunObject run_object(const Run& run, const std::vector<Attempt>& attempts, WallTime now) {
  return run_object(run, attempts, run.submission.params, now);
}

EventObject event_object(const Event& event);
TokenObject token_object(const Token& token);
MetricObject metric_object(const MetricPoint& point);

}  // namespace orbit::wire
