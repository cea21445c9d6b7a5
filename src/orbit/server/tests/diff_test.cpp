#include "orbit/server/diff.hpp"

#include "run_fixture.hpp"

namespace orbit::server {
namespace {

class DiffTest : public RunFixture {
 protected:
  std::map<std::string, wire::DiffItem> diff(const RunView& left, const RunView& right) {
    std::map<std::string, wire::DiffItem> out;
    for (wire::DiffItem& item : must(diff_runs(left, right, *reader_, *blobs_)).items) {
      const std::string key = item.part + ":" + item.key;
      EXPECT_NE(item.left, item.right) << key << " does not differ";
      EXPECT_TRUE(out.emplace(key, std::move(item)).second) << key << " twice";
    }
    return out;
  }
  void add_points(const RunView& run, const std::vector<MetricPoint>& points) {
    must(writer_->run(
        [&](const World&, Now) -> Result<Effects> { return decide::metrics(run.attempts[0].id, 0, 100, points); }));
  }
};

TEST_F(DiffTest, R16_two_runs_of_one_submission_differ_in_nothing) {
  EXPECT_TRUE(diff(submit_named("a"), submit_named("b")).empty());
  const RunView one = submit_named("c");
  EXPECT_TRUE(diff(one, one).empty());
}

TEST_F(DiffTest, R16_only_what_differs_is_listed_with_both_values) {
  const auto items =
      diff(submit_named("a", {{"rate", "1.0"}, {"same", "1"}}), submit_named("b", {{"rate", "1.00"}, {"same", "1"}}));
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items.at("request:params.rate").left, "1.0");
  EXPECT_EQ(items.at("request:params.rate").right, "1.00");
  EXPECT_TRUE(items.contains("code:bundle"));
}

TEST_F(DiffTest, R16_code_environment_data_and_template_are_parts_of_their_own) {
  const RunView left = submit(request());
  Files files = code();
  files["inputs/code/train.py"].text = "changed";
  files["inputs/code/more.py"] = {"more", false};
  write_template("local-host", "defaults: {stop_grace: 7s}\n");
  auto wanted = request(files);
  wanted.code.commit = std::string(40, 'c');
  wanted.submission.environment = EnvironmentProfile{};
  wanted.submission.environment->python = "3.11";
  wanted.submission.inputs["dataset"] = "/data/train";
  wanted.data = {{"dataset", "/data/train", 1, 2, Sha256::of("d")}};
  const auto items = diff(left, submit(wanted));
  EXPECT_FALSE(items.at("code:inputs/code/more.py").left);
  EXPECT_TRUE(items.at("code:inputs/code/train.py").left);
  EXPECT_EQ(items.at("code:commit").right, std::string(40, 'c'));
  EXPECT_EQ(items.at("environment:python").right, "3.11");
  EXPECT_EQ(items.at("environment:any").left, "true");
  EXPECT_EQ(items.at("data:dataset.path").right, "/data/train");
  EXPECT_EQ(items.at("template:resolved.values.stop_grace_s").right, "7");
  EXPECT_TRUE(items.contains("template:digest"));
  EXPECT_FALSE(items.contains("code:inputs/code/data/train.csv")) << "is the same";
}

TEST_F(DiffTest, R16_what_the_machines_had_is_compared_as_well) {
  RunView left = submit_named("a");
  RunView right = submit_named("b");
  left.attempts[0].result.emplace().environment = {{"python", "3.11.2"}, {"os", "debian 12"}};
  right.attempts[0].result.emplace().environment = {{"python", "3.12.0"}, {"os", "debian 12"}};
  const auto items = diff(left, right);
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items.at("environment:found.python").left, "3.11.2");
  EXPECT_EQ(items.at("environment:found.python").right, "3.12.0");
}

TEST_F(DiffTest, R16_results_compare_the_last_value_of_each_metric_and_the_artifacts) {
  RunView left = submit_named("a");
  RunView right = submit_named("b");
  add_points(left, {{"loss", 1, 0.9, {}}, {"loss", 2, 0.5, {}}, {"acc", 2, 0.75, {}}});
  add_points(right, {{"loss", 1, 0.5, {}}, {"acc", 2, 0.75, {}}});
  for (RunView* run : {&left, &right}) {
    Attempt& attempt = run->attempts[0];
    finish(attempt, {{"model", run == &left ? "1" : "2"}, {"same", ""}});
    attempt.artifacts = put(must(placement_->read_manifest(attempt.handle)));
    attempt.state = AttemptState::succeeded;
  }
  right.attempts[0].exit_code = 3;
  Attempt failed = left.attempts[0];
  failed.number = 2;
  failed.state = AttemptState::failed;
  failed.artifacts = {};
  left.attempts.push_back(failed);  // the succeeded one counts
  const auto items = diff(left, right);
  EXPECT_EQ(items.at("result:metric.loss").left, "0.5 (step 2)");
  EXPECT_EQ(items.at("result:metric.loss").right, "0.5 (step 1)");
  EXPECT_FALSE(items.contains("result:metric.acc"));
  EXPECT_EQ(items.at("result:artifact.model").left, Sha256::of("1").hex());
  EXPECT_EQ(items.at("result:attempt.exit_code").right, "3");
  EXPECT_FALSE(items.contains("result:attempt.state"));
}

TEST_F(DiffTest, R16_a_run_whose_bundle_is_gone_is_an_error_not_an_empty_diff) {
  const RunView left = submit_named("a");
  const RunView right = submit_named("b", {{"rate", "1"}});
  fs::remove(must(blobs_->path(right.run.bundle)));
  EXPECT_FALSE(diff_runs(left, right, *reader_, *blobs_));
}

}  // namespace
}  // namespace orbit::server
