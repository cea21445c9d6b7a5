#include "orbit/decide/conclusion.hpp"

#include <fmt/format.h>

#include "orbit/base/text.hpp"

namespace orbit::decide {
namespace {

std::string with(std::string sentence, const std::string& detail) {
  return detail.empty() ? sentence : sentence + ": " + detail;
}

}  // namespace

// The order of the questions is the decision: what people or limits asked for explains an exit code, an exit code
// explains a missing output, and success needs every one of them answered well.
Conclusion conclude(const RunnerResult& result, const Collected& collected) {
  if (result.failed_check) {
    if (result.stop_requested && !result.workload_started)
      return {AttemptState::terminated, Reason::cancelled, "stopped before the workload started"};
    return {AttemptState::failed, *result.failed_check, result.detail};
  }
  if (result.timed_out)
    return {AttemptState::terminated, Reason::timeout, with("ended by its time limit", result.detail)};
  if (result.stop_requested)
    return {AttemptState::terminated, Reason::cancelled, with("stopped on request", result.detail)};
  if (!result.workload_started)
    return {AttemptState::failed, Reason::start_failed, with("the workload was not started", result.detail)};
  if (!result.exit_code && !result.signal)
    return {AttemptState::interrupted, Reason::runner_lost,
            with("the workload is gone and how it ended cannot be known", result.detail)};
  if (result.host_oom) return {AttemptState::failed, Reason::host_oom, "the kernel ended the workload: out of memory"};
  if (result.disk_full && (result.signal || *result.exit_code != 0))
    return {AttemptState::failed, Reason::disk_full,
            "no room was left on its disk: " + (result.signal ? fmt::format("ended by signal {}", *result.signal)
                                                              : fmt::format("exited with code {}", *result.exit_code))};
  if (result.signal)
    return {AttemptState::failed, Reason::killed_by_signal, fmt::format("ended by signal {}", *result.signal)};
  if (*result.exit_code != 0)
    return {AttemptState::failed, Reason::exit_nonzero, fmt::format("exited with code {}", *result.exit_code)};
  if (result.collect_error) return {AttemptState::failed, Reason::collect_failed, *result.collect_error};
  if (!collected.problems.empty()) {
    std::string detail = collected.problems.front();
    if (collected.problems.size() > 1) detail += fmt::format(" (and {} more)", collected.problems.size() - 1);
    return {AttemptState::failed, Reason::collect_failed, std::move(detail)};
  }
  if (!result.missing_outputs.empty())
    return {AttemptState::failed, Reason::output_missing,
            "expected and not there: " + join(result.missing_outputs, ", ")};
  std::string detail = fmt::format("{} artifacts verified", collected.artifacts);
  if (collected.skipped > 0)
    detail += fmt::format(", {} not collected (the execution log names them)", collected.skipped);
  return {AttemptState::succeeded, Reason::completed, std::move(detail)};
}

}  // namespace orbit::decide
