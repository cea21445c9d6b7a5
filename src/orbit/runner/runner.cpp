#include "orbit/runner/runner.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>

#include <csignal>
#include <ctime>

#include "orbit/base/json.hpp"
#include "orbit/base/log.hpp"
#include "orbit/platform/process.hpp"
#include "orbit/platform/system.hpp"
#include "orbit/runner/driver.hpp"

namespace orbit::runner {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t order_limit_bytes = 1 << 20;
constexpr std::size_t result_limit_bytes = 16 << 20;

// The result of this attempt, from an earlier runner.
bool has_result(const fs::path& runtime, const Order& order) {
  const auto text = platform::read_file(runtime / "result.json", result_limit_bytes);
  if (!text) return false;
  const auto result = json::decode<RunnerResult>(*text, json::From::ours);
  return result && result->attempt == order.attempt;
}

// A runner killed in the instant in which it forks leaves children that hold its lock until they notice, a few
// milliseconds later. Taken for a living runner, they would leave the bundle to nobody.
Result<platform::FileLock> acquire(const fs::path& path) {
  constexpr int tries = 20;
  constexpr long pause_ns = 25'000'000;
  for (int i = 1;; ++i) {
    auto lock = platform::FileLock::acquire(path);
    if (lock || lock.error().code != ErrorCode::conflict || i == tries) return lock;
    const timespec pause{0, pause_ns};
    nanosleep(&pause, nullptr);
  }
}

Result<bool> run(const fs::path& given) {
  std::error_code error;
  const fs::path directory = fs::canonical(given, error);
  if (error) return fail_errno(error.value(), "cannot be opened", given.string());
  const fs::path runtime = directory / "runtime";

  auto lock = acquire(runtime / "lock");
  if (!lock && lock.error().code == ErrorCode::conflict) {
    log::info("another runner carries this bundle dir={}", directory.string());
    return true;
  }
  if (!lock) return Failure(lock.error());

  ORBIT_TRY_ASSIGN(const std::string text, platform::read_file(runtime / "order.json", order_limit_bytes));
  auto order = json::decode<Order>(text, json::From::ours);
  if (!order) return fail(ErrorCode::corrupt, order.error().text(), (runtime / "order.json").string());
  if (order->attempt.empty()) return fail(ErrorCode::corrupt, "names no attempt", (runtime / "order.json").string());
  if (has_result(runtime, *order)) {
    platform::ProcessTree::for_attempt(order->attempt).remove();
    return true;
  }
  ORBIT_TRY_ASSIGN(Journal journal, Journal::open(runtime));
  const platform::SystemClock clock;
  Driver driver(directory, std::move(*order), std::move(journal), clock);
  return driver.run();
}

}  // namespace

int run_main(const fs::path& directory) {
  // What the entry orphans, should its keeper be killed, comes to us and can be reaped.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signal(SIGPIPE, SIG_IGN);
  umask(022);
  const auto recorded = run(directory);
  if (!recorded) {
    log::error("runner failed dir={} error={}", directory.string(), recorded.error().text());
    return 1;
  }
  return *recorded ? 0 : 1;
}

}  // namespace orbit::runner
