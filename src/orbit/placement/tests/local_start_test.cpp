// Starting, stopping and adopting: real runners, real workloads (R9, R10).
#include <signal.h>
#include <sys/stat.h>

#include <thread>

#include "fixture.hpp"
#include "orbit/platform/process.hpp"

namespace orbit::placement {
namespace {

TEST_F(LocalPlacementTest, R10_an_attempt_runs_to_its_result_and_its_artifacts_verify) {
  const AttemptId attempt = new_attempt();
  const Digest bundle = make_bundle("echo to stdout\necho to stderr >&2\necho 1234 > \"$ORBIT_ARTIFACTS/model\"\n");
  const std::string handle = start(request_for(attempt, bundle));
  const auto result = wait_for_result(handle);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 0) << result->detail;
  EXPECT_EQ(must(placement_->read_log(handle, Stream::stdout_, 0, 100)), "to stdout\n");
  EXPECT_EQ(must(placement_->read_log(handle, Stream::stderr_, 3, 100)), "stderr\n");
  EXPECT_FALSE(must(placement_->read_log(handle, Stream::execution, 0, 100)).empty());
  EXPECT_EQ(must(placement_->read_artifact(handle, "model", 1, 2)), "23");

  const std::string text = must(placement_->read_manifest(handle));
  EXPECT_EQ(Sha256::of(text), result->artifacts);
  const ArtifactManifest manifest = must(bundle::parse_artifact_manifest(text));
  EXPECT_TRUE(must(placement_->verify_artifacts(handle, manifest)).empty());
  EXPECT_EQ(json::encode(must(placement_->list_artifacts(handle))), json::encode(manifest));

  ASSERT_TRUE(wait_for([&] { return must(placement_->observe(handle, 0)).runner == RunnerLiveness::dead; }));
  ASSERT_OK(placement_->release(handle));
  EXPECT_FALSE(fs::exists(directory(attempt) / "runtime" / "lock"));
  EXPECT_EQ(must(placement_->read_artifact(handle, "model", 0, 100)), "1234\n") << "what was made stays readable";
  ASSERT_OK(placement_->release(handle));
}

TEST_F(LocalPlacementTest, R16_one_changed_byte_of_an_artifact_is_found_and_named) {
  const AttemptId attempt = new_attempt();
  const std::string handle = start(
      request_for(attempt, make_bundle("cd \"$ORBIT_ARTIFACTS\"\necho 1 > a\necho 2 > b\necho 3 > c\nln -s a link\n")));
  ASSERT_TRUE(wait_for_result(handle));
  const auto manifest = must(bundle::parse_artifact_manifest(must(placement_->read_manifest(handle))));
  const fs::path artifacts = directory(attempt) / "artifacts";
  std::ofstream(artifacts / "b") << "X\n";  // the same size
  fs::remove(artifacts / "c");
  fs::remove(artifacts / "link");
  fs::create_symlink("b", artifacts / "link");
  const auto problems = must(placement_->verify_artifacts(handle, manifest));
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_NE(problems.at("b").find("changed: digest"), std::string::npos) << problems.at("b");
  EXPECT_EQ(problems.at("c"), "missing");
  EXPECT_NE(problems.at("link").find("points to 'b', expected 'a'"), std::string::npos) << problems.at("link");
}

TEST_F(LocalPlacementTest, R10_started_many_times_there_is_one_runner_and_one_workload) {
  const AttemptId attempt = new_attempt();
  const StartRequest request = request_for(attempt, make_bundle("echo once\n" + std::string(wait_to_go)));
  const std::string handle = start(request);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 5; ++n) {
        const auto again = placement_->start(handle, request);
        EXPECT_TRUE(again || again.error().code == ErrorCode::unavailable) << again.error().text();
      }
    });
  for (std::thread& thread : threads) thread.join();
  // Another server on the same directory after a restart knows of no runner it started.
  LocalPlacement restarted(root_, *blobs_, platform::own_program(), clock_);
  ASSERT_TRUE(wait_for([&] { return !journal(handle, JournalKind::workload_started).empty(); }));
  ASSERT_OK(restarted.start(handle, request));
  EXPECT_EQ(must(restarted.observe(handle, 0)).runner, RunnerLiveness::alive);

  std::ofstream(go_file(handle)).put('\n');
  const auto result = wait_for_result(handle);
  ASSERT_TRUE(result);
  EXPECT_EQ(journal(handle, JournalKind::runner_started).size(), 1U);
  EXPECT_EQ(journal(handle, JournalKind::workload_started).size(), 1U);
  EXPECT_EQ(must(placement_->read_log(handle, Stream::stdout_, 0, 100)), "once\n");

  ASSERT_TRUE(wait_for([&] { return must(placement_->observe(handle, 0)).runner == RunnerLiveness::dead; }));
  ASSERT_OK(placement_->start(handle, request)) << "over: nothing to start";
  EXPECT_EQ(must(placement_->observe(handle, 0)).runner, RunnerLiveness::dead);
}

TEST_F(LocalPlacementTest, R10_a_runner_killed_hard_is_followed_by_one_that_adopts) {
  const AttemptId attempt = new_attempt();
  const StartRequest request = request_for(attempt, make_bundle(std::string(wait_to_go) + "echo survived\n"));
  const std::string handle = start(request);
  ASSERT_TRUE(wait_for([&] { return !journal(handle, JournalKind::workload_started).empty(); }));
  const auto first = journal(handle, JournalKind::runner_started).at(0).process;
  ASSERT_TRUE(first);
  ASSERT_EQ(::kill(first->pid, SIGKILL), 0);
  ASSERT_TRUE(wait_for([&] { return must(placement_->observe(handle, 0)).runner == RunnerLiveness::dead; }));
  EXPECT_FALSE(must(placement_->observe(handle, 0)).result);

  ASSERT_OK(placement_->start(handle, request));
  EXPECT_EQ(must(placement_->observe(handle, 0)).runner, RunnerLiveness::alive);
  ASSERT_TRUE(wait_for([&] { return journal(handle, JournalKind::runner_started).size() == 2; }));
  std::ofstream(go_file(handle)).put('\n');
  const auto result = wait_for_result(handle);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->workload_started);
  EXPECT_EQ(journal(handle, JournalKind::workload_started).size(), 1U) << "the workload was started again";
  EXPECT_EQ(must(placement_->read_log(handle, Stream::stdout_, 0, 100)), "survived\n");
}

TEST_F(LocalPlacementTest, R10_a_stop_ends_the_workload) {
  const std::string handle = start(request_for(new_attempt(), make_bundle("exec sleep 1000\n")));
  ASSERT_TRUE(wait_for([&] { return !journal(handle, JournalKind::workload_started).empty(); }));
  ASSERT_OK(placement_->stop(handle, StopOrder{"ada", clock_.now().wall}));
  ASSERT_OK(placement_->stop(handle, StopOrder{"bob", clock_.now().wall})) << "asked twice";
  const auto result = wait_for_result(handle);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->stop_requested);
}

TEST_F(LocalPlacementTest, R10_a_stop_ends_a_workload_whose_runner_is_dead) {
  const std::string handle = start(request_for(new_attempt(), make_bundle("exec sleep 1000\n")));
  ASSERT_TRUE(wait_for([&] { return !journal(handle, JournalKind::workload_started).empty(); }));
  const auto workload = journal(handle, JournalKind::workload_started).at(0).process;
  ASSERT_TRUE(workload);
  ASSERT_EQ(::kill(journal(handle, JournalKind::runner_started).at(0).process.value().pid, SIGKILL), 0);
  ASSERT_TRUE(wait_for([&] { return must(placement_->observe(handle, 0)).runner == RunnerLiveness::dead; }));
  ASSERT_TRUE(platform::is_alive(*workload));
  ASSERT_OK(placement_->stop(handle, StopOrder{"ada", clock_.now().wall}));
  const auto result = wait_for_result(handle);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->stop_requested);
  EXPECT_FALSE(platform::is_alive(*workload));
}

TEST_F(LocalPlacementTest, R9_a_stop_that_comes_before_the_start_is_not_lost) {
  const AttemptId attempt = new_attempt();
  const StartRequest request = request_for(attempt, make_bundle("echo must not run\n"));
  const std::string handle = must(placement_->provision(attempt, ExecutionRequest{}));
  ASSERT_OK(placement_->stop(handle, StopOrder{"ada", clock_.now().wall}));
  start(request);
  const auto result = wait_for_result(handle);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->stop_requested);
  EXPECT_FALSE(result->workload_started);
  ASSERT_TRUE(wait_for([&] { return must(placement_->observe(handle, 0)).runner == RunnerLiveness::dead; }));
  ASSERT_OK(placement_->release(handle));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), fs::directory_iterator()), 1) << "only the attempt is left";
}

TEST_F(LocalPlacementTest, R9_an_outdated_order_changes_nothing) {
  const AttemptId attempt = new_attempt();
  StartRequest request = request_for(attempt, make_bundle("true\n"));
  request.order.epoch = 7;
  const std::string handle = start(request);
  ASSERT_TRUE(wait_for_result(handle));
  fs::remove(directory(attempt) / "runtime" / "result.json");
  ASSERT_TRUE(wait_for([&] { return must(placement_->observe(handle, 0)).runner == RunnerLiveness::dead; }));
  request.order.epoch = 6;
  const auto outdated = placement_->start(handle, request);
  ASSERT_FALSE(outdated);
  EXPECT_EQ(outdated.error().code, ErrorCode::conflict);
  EXPECT_EQ(must(placement_->observe(handle, 0)).epoch, 7);
}

TEST_F(LocalPlacementTest, a_runner_that_cannot_be_started_is_an_error_and_trying_again_works) {
  const AttemptId attempt = new_attempt();
  const StartRequest request = request_for(attempt, make_bundle("true\n"));
  LocalPlacement broken(root_, *blobs_, "/nonexistent/orbit", clock_);
  const std::string handle = must(broken.provision(attempt, ExecutionRequest{}));
  EXPECT_FALSE(broken.start(handle, request));
  const Observation seen = must(broken.observe(handle, 0));
  EXPECT_FALSE(seen.started);
  EXPECT_EQ(seen.runner, RunnerLiveness::dead);
  start(request);
  const auto result = wait_for_result(handle);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 0);
}

TEST_F(LocalPlacementTest, the_order_must_be_for_the_attempt_of_the_handle) {
  const std::string handle = must(placement_->provision(new_attempt(), ExecutionRequest{}));
  const auto started = placement_->start(handle, request_for(new_attempt(), make_bundle("true\n")));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::invalid_argument);
}

TEST_F(LocalPlacementTest, a_bundle_whose_blob_is_damaged_is_not_started) {
  const AttemptId attempt = new_attempt();
  const Digest bundle = make_bundle("echo must not run\n");
  const fs::path blob = must(blobs_->path(Sha256::of("#!/bin/sh\necho must not run\n")));
  fs::permissions(blob, fs::perms::owner_all);
  std::ofstream(blob) << "#!/bin/sh\necho something else\n";
  const std::string handle = must(placement_->provision(attempt, ExecutionRequest{}));
  const auto started = placement_->start(handle, request_for(attempt, bundle));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::corrupt) << started.error().text();
  EXPECT_FALSE(fs::exists(directory(attempt) / "runtime" / "order.json"));
}

// Whatever write fails, the next start finds its way, and what was laid out is the bundle.
TEST_F(LocalPlacementTest, X5_each_failing_write_of_a_start_is_survived) {
  const Digest bundle = make_bundle("true\n");
  const AttemptId from = new_attempt();
  lay_out(from);
  write(from, "artifacts/checkpoints/step-1/weights", "12345");
  write(from, "artifacts/checkpoints/step-1/COMPLETE", "");
  ResumeFrom resume{from, "checkpoints/step-1", {}};
  resume.sha256 = bundle::digest_of_list(must(bundle::list_files(directory(from) / "artifacts", resume.checkpoint)));
  // A program that ends at once, so that the directory stays as start() left it.
  LocalPlacement placement(root_, *blobs_, "/bin/true", clock_);
  for (int failing = 1;; ++failing) {
    ASSERT_LT(failing, 500);
    const AttemptId attempt = new_attempt();
    StartRequest request = request_for(attempt, bundle);
    request.order.resume = resume;
    std::atomic<int> calls = 0;  // from more than one thread
    platform::set_fault_hook([&](std::string_view, const std::string&) { return ++calls == failing ? ENOSPC : 0; });
    const auto handle = placement.provision(attempt, ExecutionRequest{});
    const auto started = handle ? placement.start(*handle, request) : Result<void>(fail(handle.error()));
    platform::set_fault_hook({});
    if (calls < failing) {
      ASSERT_OK(started);
      break;
    }
    EXPECT_TRUE(started || started.error().code == ErrorCode::exhausted) << started.error().text();
    const std::string again = must(placement.provision(attempt, ExecutionRequest{}));
    ASSERT_OK(placement.start(again, request)) << "after failing operation " << failing;
    EXPECT_TRUE(must(bundle::verify(directory(attempt), bundle)).empty());
    EXPECT_EQ(bundle::digest_of_list(must(bundle::list_files(directory(attempt) / "artifacts", "resume"))),
              resume.sha256);
    EXPECT_EQ(must(placement.observe(again, 0)).epoch, 1);
  }
}

}  // namespace
}  // namespace orbit::placement
