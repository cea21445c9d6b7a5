// A local placement on a temporary directory, with real blobs and real runners.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "orbit/base/json.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/placement/local.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/platform/system.hpp"
#include "orbit/ports/rng.hpp"
#include "orbit/store/file_blob_store.hpp"

namespace orbit::placement {

namespace fs = std::filesystem;

#define ASSERT_OK(expression)                     \
  GTEST_AMBIGUOUS_ELSE_BLOCKER_                   \
  if (const auto result_ = (expression); result_) \
    SUCCEED();                                    \
  else                                            \
    FAIL() << result_.error().text() << ' '

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return std::move(*result);
}

// As `rm -rf` given again until all is gone: a living runner may write into what is being removed.
inline void remove_for_good(const fs::path& path) {
  std::error_code failed;
  do {
    fs::remove_all(path, failed);
  } while (failed);
}

class LocalPlacementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    scratch_.emplace(must(platform::TempDirectory::make(fs::temp_directory_path(), "orbit-placement-")));
    root_ = scratch_->path() / "attempts";
    blobs_ = must(store::open_file_blob_store(scratch_->path() / "blobs"));
    placement_ = std::make_unique<LocalPlacement>(root_, *blobs_, platform::own_program(), clock_);
  }
  void TearDown() override {
    platform::set_fault_hook({});
    for (const std::string& handle : started_) end(handle);
  }

  // No test leaves a workload behind, whatever it was about.
  void end(const std::string& handle) {
    std::ofstream(go_file(handle)).put('\n');
    (void)placement_->stop(handle, StopOrder{"test", clock_.now().wall});
    (void)wait_for([&] {
      const auto seen = placement_->observe(handle, 0);
      return !seen || seen->runner == RunnerLiveness::dead;
    });
  }

  template <class Condition>
  [[nodiscard]] bool wait_for(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }

  AttemptId new_attempt() { return make_id<AttemptId>(rng_, clock_.now().wall); }
  fs::path directory(const AttemptId& attempt) const { return root_ / attempt.str(); }
  fs::path go_file(const std::string& handle) const {
    return root_ / std::string(must(json::parse(handle)).at("directory").get_string()) / "artifacts" / "go";
  }

  // A bundle whose entry is this shell script, put into the blob store.
  Digest make_bundle(const std::string& script) {
    const std::string text = "#!/bin/sh\n" + script;
    JobSpec job;
    job.task = "training";
    job.code_entry = "main.sh";
    job.environment.any = true;
    job.metrics_file = "metrics.jsonl";
    const FileEntry entry{"inputs/code/main.sh", true, static_cast<std::int64_t>(text.size()), Sha256::of(text)};
    const auto made = must(bundle::assemble(job, {"./main.sh"}, "", {entry}));
    check(blobs_->put(entry.sha256, text));
    for (const auto& [path, content] : made.generated) check(blobs_->put(Sha256::of(content), content));
    check(blobs_->put(made.digest, bundle::manifest_text(made.manifest)));
    return made.digest;
  }

  StartRequest request_for(const AttemptId& attempt, const Digest& bundle) {
    StartRequest request;
    request.order.attempt = attempt;
    request.order.run = make_id<RunId>(rng_, clock_.now().wall);
    request.order.epoch = 1;
    request.order.project = "tests";
    request.order.bundle = bundle;
    request.order.stop_grace_s = 1;
    request.bundle = bundle;
    return request;
  }

  std::string start(const StartRequest& request) {
    const std::string handle = must(placement_->provision(request.order.attempt, ExecutionRequest{}));
    check(placement_->start(handle, request));
    started_.push_back(handle);
    return handle;
  }

  std::optional<RunnerResult> wait_for_result(const std::string& handle) {
    std::optional<RunnerResult> result;
    (void)wait_for([&] {
      const auto seen = placement_->observe(handle, 0);
      if (!seen) ADD_FAILURE() << seen.error().text();
      if (seen) result = seen->result;
      return !seen || result.has_value();
    });
    return result;
  }

  std::vector<JournalRecord> journal(const std::string& handle, JournalKind kind) {
    std::vector<JournalRecord> out = must(placement_->observe(handle, 0)).journal;
    std::erase_if(out, [&](const JournalRecord& record) { return record.kind != kind; });
    return out;
  }

  // An attempt's directory as if a runner had been there, without one.
  std::string lay_out(const AttemptId& attempt) {
    const std::string handle = must(placement_->provision(attempt, ExecutionRequest{}));
    Order order;
    order.attempt = attempt;
    order.run = make_id<RunId>(rng_, clock_.now().wall);
    order.epoch = 1;
    write(attempt, "runtime/order.json", json::encode(order));
    write(attempt, "artifacts/stdout", "hello\n");
    return handle;
  }
  void write(const AttemptId& attempt, const std::string& path, const std::string& text) {
    const fs::path file = directory(attempt) / path;
    check(platform::make_directories(file.parent_path()));
    check(platform::write_file(file, text, 0644));
  }
  static void check(const Result<void>& result) {
    if (!result) throw std::runtime_error(result.error().text());
  }

  static constexpr const char* wait_to_go = "while [ ! -e \"$ORBIT_ARTIFACTS/go\" ]; do sleep 0.05; done\n";

  std::optional<platform::TempDirectory> scratch_;
  fs::path root_;
  platform::SystemClock clock_;
  platform::SystemRng rng_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<LocalPlacement> placement_;
  std::vector<std::string> started_;
};

}  // namespace orbit::placement
