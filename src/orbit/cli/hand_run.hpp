// Running a bundle by hand: the runner is told what a server would tell it, and its result is shown.
#pragma once

#include <filesystem>
#include <string>

#include "orbit/base/result.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/domain/runtime_files.hpp"

namespace orbit::cli {

// Copies the frozen part of a bundle into a fresh directory beside it, NAME-2, NAME-3 …
Result<std::filesystem::path> copy_for_another_run(const std::filesystem::path& directory);

// Writes runtime/order.json for attempt 1. `conflict` when the directory was run before.
Result<Order> write_hand_order(const std::filesystem::path& directory, WallTime now);

bool succeeded(const RunnerResult& result);

// Starts the runner (this program again), shows the workload's output while it runs, then the result. Ctrl-C asks it to
// end; a second one leaves it alone. 0 if it succeeded, else 1.
Result<int> hand_run(Context& context, const std::filesystem::path& directory);

}  // namespace orbit::cli
