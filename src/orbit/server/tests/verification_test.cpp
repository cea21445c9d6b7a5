#include "orbit/server/verification.hpp"

#include "run_fixture.hpp"

namespace orbit::server {
namespace {

class VerificationTest : public RunFixture {
 protected:
  VerificationTest() : run_(submit(request())) {
    Attempt& attempt = run_.attempts[0];
    finish(attempt, {{"model", "1234"}, {"checkpoints/step-1/weights", "5"}, {"checkpoints/step-1/COMPLETE", ""}});
    attempt.artifacts = put(must(placement_->read_manifest(attempt.handle)));
    attempt.artifact_count = 3;
    attempt.artifact_bytes = 5;
    attempt.state = AttemptState::succeeded;
  }

  wire::VerifyReport report() { return must(verify_run(run_, *reader_, *blobs_, backends_)); }
  // The only finding.
  wire::VerifyFinding finding() {
    const wire::VerifyReport made = report();
    EXPECT_FALSE(made.ok);
    EXPECT_EQ(made.findings.size(), 1U) << json::encode(made);
    return made.findings.empty() ? wire::VerifyFinding{} : made.findings[0];
  }
  void damage(const Digest& blob, const std::string& text) {
    const fs::path path = must(blobs_->path(blob));
    fs::permissions(path, fs::perms::owner_all);
    std::ofstream(path, std::ios::trunc) << text;
  }

  RunView run_;
};

TEST_F(VerificationTest, R16_a_run_that_holds_is_ok) {
  const wire::VerifyReport made = report();
  EXPECT_TRUE(made.ok) << json::encode(made);
  EXPECT_EQ(made.bundle_files, 5);
  EXPECT_EQ(made.artifacts, 3);
  EXPECT_GT(made.bytes, 5);
}

TEST_F(VerificationTest, R16_one_changed_byte_of_an_artifact_is_named) {
  write(run_.attempts[0], "artifacts/model", "1235");
  const auto found = finding();
  EXPECT_EQ(found.part, "artifact");
  EXPECT_EQ(found.subject, "attempt 1: artifacts/model");
  EXPECT_EQ(found.problem.rfind("changed: digest", 0), 0U) << found.problem;
}

TEST_F(VerificationTest, R16_an_attempt_whose_directory_is_gone_is_a_finding) {
  fs::remove_all(directory(run_.attempts[0]));
  EXPECT_EQ(finding().problem, "its directory is gone");
}

TEST_F(VerificationTest, R16_damaged_and_missing_blobs_of_the_bundle_are_named) {
  damage(Sha256::of("1,2\n"), "1,3\n");
  auto found = finding();
  EXPECT_EQ(found.part, "bundle");
  EXPECT_EQ(found.subject, "inputs/code/data/train.csv");
  fs::remove(must(blobs_->path(Sha256::of("1,2\n"))));
  found = finding();
  EXPECT_EQ(found.subject, "inputs/code/data/train.csv");
  EXPECT_EQ(found.problem, "missing");
}

TEST_F(VerificationTest, R16_a_damaged_or_missing_list_of_the_bundle_is_named) {
  damage(run_.run.bundle, "{}");
  EXPECT_EQ(finding().subject, "bundle.json");
  fs::remove(must(blobs_->path(run_.run.bundle)));
  EXPECT_EQ(finding().problem, "missing");
}

TEST_F(VerificationTest, R16_a_damaged_manifest_of_artifacts_is_named) {
  damage(run_.attempts[0].artifacts, "{}");
  EXPECT_EQ(finding().subject, "attempt 1: runtime/artifacts.json");
}

TEST_F(VerificationTest, R16_a_template_that_is_not_the_one_recorded_is_found) {
  run_.run.resolved_from.defaults.stop_grace_s = 99;
  EXPECT_EQ(finding().part, "template");
}

TEST_F(VerificationTest, R16_a_record_that_contradicts_what_was_frozen_is_found) {
  run_.run.code.key_files["train.py"] = Sha256::of("another");
  EXPECT_EQ(finding().subject, "inputs/code/train.py");
  run_.run.code.key_files.clear();
  run_.run.environment.python = "3.9";
  EXPECT_EQ(finding().subject, "environment");
  run_.run.environment.python.reset();
  run_.attempts[0].artifact_bytes = 6;
  EXPECT_EQ(finding().part, "record");
  run_.attempts[0].artifact_bytes = 5;
  EXPECT_TRUE(report().ok);
  run_.attempts[0].artifacts = {};
  EXPECT_EQ(finding().problem, "succeeded, but has no manifest of artifacts");
}

TEST_F(VerificationTest, P3_checkpoints_are_what_was_announced_or_were_removed_by_the_workload) {
  const Attempt& attempt = run_.attempts[0];
  announce(attempt.id, "checkpoints/step-1",
           bundle::digest_of_list(must(bundle::list_files(directory(attempt) / "artifacts", "checkpoints/step-1"))));
  announce(attempt.id, "checkpoints/step-0");
  EXPECT_TRUE(report().ok) << json::encode(report());
}

TEST_F(VerificationTest, P3_a_checkpoint_changed_after_it_was_announced_is_found) {
  announce(run_.attempts[0].id, "checkpoints/step-1");
  const auto found = finding();
  EXPECT_EQ(found.part, "checkpoint");
  EXPECT_EQ(found.subject, "attempt 1: artifacts/checkpoints/step-1");
}

}  // namespace
}  // namespace orbit::server
