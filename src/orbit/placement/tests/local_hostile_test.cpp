// What lies in an attempt's directory may be anything: nothing is followed, waited for or believed (X4, R14).
#include <sys/stat.h>

#include "fixture.hpp"
#include "orbit/platform/process.hpp"

namespace orbit::placement {
namespace {

std::string line(std::int64_t seq, JournalKind kind) {
  JournalRecord record;
  record.seq = seq;
  record.kind = kind;
  return json::encode(record) + "\n";
}

TEST_F(LocalPlacementTest, X4_logs_and_artifacts_swapped_for_links_and_fifos_are_refused) {
  const AttemptId attempt = new_attempt();
  const std::string handle = lay_out(attempt);
  const fs::path artifacts = directory(attempt) / "artifacts";
  fs::remove(artifacts / "stdout");
  fs::create_symlink("/etc/passwd", artifacts / "stdout");
  fs::create_symlink("/", artifacts / "root");
  ASSERT_EQ(::mkfifo((artifacts / "metrics.jsonl").c_str(), 0644), 0);
  ASSERT_EQ(::mkfifo((artifacts / "stderr").c_str(), 0644), 0);

  for (const Stream stream : {Stream::stdout_, Stream::stderr_}) {
    const auto log = placement_->read_log(handle, stream, 0, 100);
    ASSERT_FALSE(log) << stream_name(stream);
    EXPECT_EQ(log.error().code, ErrorCode::refused) << log.error().text();
  }
  for (const char* path : {"stdout", "metrics.jsonl", "root/etc/passwd"}) {
    const auto read = placement_->read_artifact(handle, path, 0, 100);
    ASSERT_FALSE(read) << path;
    EXPECT_EQ(read.error().code, ErrorCode::refused) << read.error().text();
    EXPECT_EQ(read.error().text().find(root_.string()), std::string::npos) << "names the server's own directories";
  }
  for (const char* path : {"../runtime/order.json", "/etc/passwd", "", ".", "a//b", "a/../b", "a\nb"}) {
    const auto read = placement_->read_artifact(handle, path, 0, 100);
    ASSERT_FALSE(read) << path;
    EXPECT_EQ(read.error().code, ErrorCode::invalid_argument) << read.error().text();
  }
  const auto missing = placement_->read_artifact(handle, "nowhere", 0, 100);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);

  const ArtifactManifest listed = must(placement_->list_artifacts(handle));
  for (const Artifact& artifact : listed.artifacts) EXPECT_EQ(artifact.kind, ArtifactKind::symlink) << artifact.path;
  EXPECT_EQ(listed.skipped.size(), 2U);
}

TEST_F(LocalPlacementTest, X4_an_artifacts_folder_swapped_for_a_link_is_not_followed) {
  const AttemptId attempt = new_attempt();
  const std::string handle = lay_out(attempt);
  fs::rename(directory(attempt) / "artifacts", directory(attempt) / "elsewhere");
  fs::create_symlink("/etc", directory(attempt) / "artifacts");
  EXPECT_FALSE(placement_->read_artifact(handle, "passwd", 0, 100));
  EXPECT_FALSE(placement_->list_artifacts(handle));
}

TEST_F(LocalPlacementTest, R12_a_stream_that_says_nothing_yet_is_empty) {
  const std::string handle = must(placement_->provision(new_attempt(), ExecutionRequest{}));
  for (const Stream stream : all_streams) EXPECT_EQ(must(placement_->read_log(handle, stream, 0, 100)), "");
  EXPECT_TRUE(must(placement_->list_artifacts(handle)).artifacts.empty());
  const auto manifest = placement_->read_manifest(handle);
  ASSERT_FALSE(manifest);
  EXPECT_EQ(manifest.error().code, ErrorCode::not_found);
}

TEST_F(LocalPlacementTest, R10_a_torn_last_line_of_the_journal_is_left_for_the_next_runner) {
  const AttemptId attempt = new_attempt();
  const std::string handle = lay_out(attempt);
  const std::string whole = line(1, JournalKind::runner_started) + line(2, JournalKind::precheck_passed);
  const std::string third = line(3, JournalKind::workload_launching);
  for (std::size_t length = 0; length < third.size(); ++length) {
    write(attempt, "runtime/journal.jsonl", whole + third.substr(0, length));
    const Observation seen = must(placement_->observe(handle, 1));
    EXPECT_TRUE(seen.started);
    ASSERT_EQ(seen.journal.size(), 1U) << length;
    EXPECT_EQ(seen.journal[0].seq, 2);
  }
  write(attempt, "runtime/journal.jsonl", whole + third);
  EXPECT_EQ(must(placement_->observe(handle, 0)).journal.size(), 3U);
  EXPECT_TRUE(must(placement_->observe(handle, 3)).journal.empty());
}

TEST_F(LocalPlacementTest,
       X5_garbage_in_the_journal_is_corrupt_while_a_runner_lives_and_an_end_to_be_cut_off_when_it_is_dead) {
  const AttemptId attempt = new_attempt();
  const std::string handle = lay_out(attempt);
  const std::string first = line(1, JournalKind::runner_started);
  for (const std::string& garbage :
       {std::string("not json\n"), std::string(10, '\0') + "\n", std::string("{}\n"), line(3, JournalKind::collected),
        line(1, JournalKind::runner_started), std::string(2 << 20, 'x') + "\n", std::string("[[[[[[\n")}) {
    write(attempt, "runtime/journal.jsonl", first + garbage + line(2, JournalKind::precheck_passed));
    EXPECT_EQ(must(placement_->observe(handle, 0)).journal.size(), 1U);
    const auto lock = must(platform::FileLock::acquire(directory(attempt) / "runtime" / "lock"));
    const auto seen = placement_->observe(handle, 0);
    ASSERT_FALSE(seen);
    EXPECT_EQ(seen.error().code, ErrorCode::corrupt);
    EXPECT_EQ(seen.error().field, "runtime/journal.jsonl:2");
  }
}

TEST_F(LocalPlacementTest, X4_files_of_the_runtime_that_are_links_broken_or_foreign_are_not_believed) {
  const AttemptId attempt = new_attempt();
  const std::string handle = lay_out(attempt);
  RunnerResult result;
  result.attempt = new_attempt();
  for (const std::string& text : {json::encode(result), std::string("{"), std::string(20 << 20, ' '), std::string()}) {
    write(attempt, "runtime/result.json", text);
    const auto seen = placement_->observe(handle, 0);
    ASSERT_FALSE(seen);
    EXPECT_EQ(seen.error().code, ErrorCode::corrupt) << seen.error().text();
  }
  result.attempt = attempt;
  write(attempt, "elsewhere.json", json::encode(result));
  fs::remove(directory(attempt) / "runtime" / "result.json");
  fs::create_symlink("../elsewhere.json", directory(attempt) / "runtime" / "result.json");
  EXPECT_FALSE(placement_->observe(handle, 0));
}

TEST_F(LocalPlacementTest, X4_a_handle_leads_nowhere_but_to_an_attempt) {
  for (const char* handle : {"", "x", "{}", R"({"directory":".."})", R"({"directory":"../attempts"})",
                             R"({"directory":"/etc"})", R"({"directory":""})", R"({"directory":7})"}) {
    const auto seen = placement_->observe(handle, 0);
    ASSERT_FALSE(seen) << handle;
    EXPECT_EQ(seen.error().code, ErrorCode::corrupt) << seen.error().text();
    EXPECT_FALSE(placement_->release(handle));
  }
  const std::string gone = must(placement_->provision(new_attempt(), ExecutionRequest{}));
  EXPECT_EQ(gone, must(placement_->provision(must(AttemptId::parse(gone.substr(14, 26))), ExecutionRequest{})));
  fs::remove_all(root_);
  const auto seen = placement_->observe(gone, 0);
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, ErrorCode::not_found);
  ASSERT_OK(placement_->release(gone));
}

TEST_F(LocalPlacementTest, R9_a_result_speaks_also_when_journal_and_order_were_removed) {
  const AttemptId attempt = new_attempt();
  const std::string handle =
      start(request_for(attempt, make_bundle("rm -f ../../runtime/journal.jsonl ../../runtime/order.json\nexit 3\n")));
  const auto result = wait_for_result(handle);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 3);
  const Observation seen = must(placement_->observe(handle, 0));
  EXPECT_TRUE(seen.started);
  EXPECT_EQ(seen.epoch, 1);
}

// R10: nothing a workload started outlives its stop, whatever became of the directory it was started in.
TEST_F(LocalPlacementTest, R10_a_workload_whose_directory_is_gone_is_ended_by_a_stop) {
  for (const bool whole : {true, false}) {
    const AttemptId attempt = new_attempt();
    const std::string handle = start(request_for(attempt, make_bundle("cd /\nwhile :; do sleep 0.05; done\n")));
    ASSERT_TRUE(wait_for([&] { return !journal(handle, JournalKind::workload_started).empty(); }));
    const ProcessIdentity workload = journal(handle, JournalKind::workload_started).at(0).process.value();
    ASSERT_TRUE(platform::is_alive(workload));
    remove_for_good(whole ? directory(attempt) : directory(attempt) / "runtime");
    ASSERT_OK(placement_->stop(handle, StopOrder{"ada", clock_.now().wall}));
    EXPECT_TRUE(wait_for([&] { return !platform::is_alive(workload); }));
  }
}

TEST_F(LocalPlacementTest, a_place_whose_runner_lives_is_not_given_back) {
  const AttemptId attempt = new_attempt();
  const std::string handle = lay_out(attempt);
  {
    const auto lock = must(platform::FileLock::acquire(directory(attempt) / "runtime" / "lock"));
    const auto released = placement_->release(handle);
    ASSERT_FALSE(released);
    EXPECT_EQ(released.error().code, ErrorCode::unavailable);
  }
  ASSERT_OK(placement_->release(handle));
}

class ResumeTest : public LocalPlacementTest {
 protected:
  void SetUp() override {
    LocalPlacementTest::SetUp();
    from_ = new_attempt();
    lay_out(from_);
    write(from_, "artifacts/checkpoints/step-2/weights", "12345");
    write(from_, "artifacts/checkpoints/step-2/deep/er/state", "6");
    write(from_, "artifacts/checkpoints/step-2/COMPLETE", "");
    fs::permissions(checkpoint() / "weights", fs::perms::owner_all);
    attempt_ = new_attempt();
    request_ = request_for(attempt_, make_bundle("cat \"$ORBIT_ARTIFACTS/resume/weights\"\n"));
    request_.order.resume = ResumeFrom{from_, "checkpoints/step-2", {}};
    request_.order.resume->sha256 =
        bundle::digest_of_list(must(bundle::list_files(directory(from_) / "artifacts", "checkpoints/step-2")));
    handle_ = must(placement_->provision(attempt_, ExecutionRequest{}));
  }
  fs::path checkpoint() const { return directory(from_) / "artifacts" / "checkpoints" / "step-2"; }
  fs::path copy() const { return directory(attempt_) / "artifacts" / "resume"; }
  void expect_refused(ErrorCode code) {
    const auto started = placement_->start(handle_, request_);
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, code) << started.error().text();
    EXPECT_FALSE(fs::exists(directory(attempt_) / "runtime" / "order.json"))
        << "a runner could start without its checkpoint";
  }

  AttemptId from_;
  AttemptId attempt_;
  StartRequest request_;
  std::string handle_;
};

TEST_F(ResumeTest, R8_the_checkpoint_is_copied_and_the_workload_finds_it) {
  start(request_);
  const auto result = wait_for_result(handle_);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 0) << result->detail;
  EXPECT_EQ(must(placement_->read_log(handle_, Stream::stdout_, 0, 100)), "12345");
  EXPECT_TRUE(fs::exists(copy() / "deep/er/state"));
  EXPECT_EQ(fs::hard_link_count(checkpoint() / "weights"), 1U) << "linked, not copied";
}

TEST_F(ResumeTest, R8_a_checkpoint_that_changed_since_it_was_announced_is_refused) {
  write(from_, "artifacts/checkpoints/step-2/weights", "12346");
  expect_refused(ErrorCode::corrupt);
  EXPECT_FALSE(fs::exists(copy() / "weights"));
}

TEST_F(ResumeTest, R8_a_file_more_or_a_run_bit_less_is_a_change_too) {
  write(from_, "artifacts/checkpoints/step-2/more", "");
  expect_refused(ErrorCode::corrupt);
  fs::remove(checkpoint() / "more");
  fs::permissions(checkpoint() / "weights", fs::perms::owner_read);
  expect_refused(ErrorCode::corrupt);
}

TEST_F(ResumeTest, X4_a_checkpoint_with_a_link_in_it_or_behind_a_link_is_refused) {
  fs::remove(checkpoint() / "weights");
  fs::create_symlink("/etc/passwd", checkpoint() / "weights");
  expect_refused(ErrorCode::refused);
  fs::rename(checkpoint(), directory(from_) / "moved");
  fs::create_symlink(directory(from_) / "moved", checkpoint());
  EXPECT_FALSE(placement_->start(handle_, request_));
}

TEST_F(ResumeTest, R8_a_checkpoint_that_is_gone_is_said_to_be) {
  fs::remove_all(checkpoint());
  expect_refused(ErrorCode::not_found);
}

TEST_F(ResumeTest, X4_a_checkpoint_path_cannot_climb) {
  request_.order.resume->checkpoint = "../../" + from_.str() + "/artifacts/checkpoints/step-2";
  expect_refused(ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace orbit::placement
