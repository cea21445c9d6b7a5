#include <gtest/gtest.h>

#include "orbit/base/json.hpp"
#include "orbit/decide/conclusion.hpp"

namespace orbit::decide {
namespace {

struct Case {
  const char* what;
  void (*shape)(RunnerResult&, Collected&);
  AttemptState state;
  Reason reason;
};

// R7: every ending and its reason, decided in one place from evidence.
const Case cases[] = {
    {"all well", [](RunnerResult&, Collected&) {}, AttemptState::succeeded, Reason::completed},
    {"exit code", [](RunnerResult& r, Collected&) { r.exit_code = 3; }, AttemptState::failed, Reason::exit_nonzero},
    {"signal", [](RunnerResult& r, Collected&) { r.exit_code.reset(), r.signal = 11; }, AttemptState::failed,
     Reason::killed_by_signal},
    {"signal and out of memory",
     [](RunnerResult& r, Collected&) { r.exit_code.reset(), r.signal = 9, r.host_oom = true; }, AttemptState::failed,
     Reason::host_oom},
    {"exit code on a full disk", [](RunnerResult& r, Collected&) { r.exit_code = 1, r.disk_full = true; },
     AttemptState::failed, Reason::disk_full},
    {"signal on a full disk",
     [](RunnerResult& r, Collected&) { r.exit_code.reset(), r.signal = 7, r.disk_full = true; }, AttemptState::failed,
     Reason::disk_full},
    {"all well though the disk is full", [](RunnerResult& r, Collected&) { r.disk_full = true; },
     AttemptState::succeeded, Reason::completed},
    {"end not known", [](RunnerResult& r, Collected&) { r.exit_code.reset(); }, AttemptState::interrupted,
     Reason::runner_lost},
    {"end not known though outputs are there",
     [](RunnerResult& r, Collected& c) { r.exit_code.reset(), c.artifacts = 5; }, AttemptState::interrupted,
     Reason::runner_lost},
    {"stopped, and it exited with 0", [](RunnerResult& r, Collected&) { r.stop_requested = true; },
     AttemptState::terminated, Reason::cancelled},
    {"stopped before it started",
     [](RunnerResult& r, Collected&) { r.exit_code.reset(), r.workload_started = false, r.stop_requested = true; },
     AttemptState::terminated, Reason::cancelled},
    {"time limit", [](RunnerResult& r, Collected&) { r.exit_code.reset(), r.signal = 15, r.timed_out = true; },
     AttemptState::terminated, Reason::timeout},
    {"precheck",
     [](RunnerResult& r, Collected&) { r.workload_started = false, r.failed_check = Reason::dataset_changed; },
     AttemptState::failed, Reason::dataset_changed},
    {"never started", [](RunnerResult& r, Collected&) { r.exit_code.reset(), r.workload_started = false; },
     AttemptState::failed, Reason::start_failed},
    {"missing output", [](RunnerResult& r, Collected&) { r.missing_outputs = {"model.npz"}; }, AttemptState::failed,
     Reason::output_missing},
    {"missing output after a bad exit code",
     [](RunnerResult& r, Collected&) { r.exit_code = 1, r.missing_outputs = {"model.npz"}; }, AttemptState::failed,
     Reason::exit_nonzero},
    {"artifact does not hold", [](RunnerResult&, Collected& c) { c.problems = {"a: changed"}; }, AttemptState::failed,
     Reason::collect_failed},
    {"runner could not collect", [](RunnerResult& r, Collected&) { r.collect_error = "disk full"; },
     AttemptState::failed, Reason::collect_failed},
};

TEST(Conclusion, EveryEndingHasItsReason) {
  for (const Case& c : cases) {
    RunnerResult result;
    result.workload_started = true;
    result.exit_code = 0;
    Collected collected;
    c.shape(result, collected);
    const Conclusion conclusion = conclude(result, collected);
    EXPECT_EQ(conclusion.state, c.state) << c.what << ": " << json::name_of(conclusion.state);
    EXPECT_EQ(conclusion.reason, c.reason) << c.what << ": " << json::name_of(conclusion.reason);
    EXPECT_FALSE(conclusion.detail.empty() && c.reason != Reason::dataset_changed) << c.what;
  }
}

TEST(Conclusion, WhatWasNotCollectedIsSaid) {
  RunnerResult result;
  result.workload_started = true;
  result.exit_code = 0;
  Collected collected;
  collected.artifacts = 4;
  collected.skipped = 2;
  EXPECT_EQ(conclude(result, collected).detail, "4 artifacts verified, 2 not collected (the execution log names them)");
}

}  // namespace
}  // namespace orbit::decide
