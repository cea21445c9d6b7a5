#include "orbit/server/collect.hpp"

#include <sys/stat.h>

#include "run_fixture.hpp"

namespace orbit::server {
namespace {

class CollectTest : public RunFixture {
 protected:
  CollectTest() {
    attempt_.id = make_id<AttemptId>(rng_, clock_.now().wall);
    finish(attempt_, {{"stdout", output_}, {"model", "1234"}});
    write(attempt_, "runtime/execution.log", "log\n");
    attempt_.result->log_sizes_bytes = {
        {"stdout", static_cast<std::int64_t>(output_.size())}, {"stderr", 0}, {"execution", 4}};
  }
  std::string stored(Stream stream) { return must(logs_->read(attempt_.id, stream, 0, 10'000'000)); }
  decide::Collected collected() { return must(collect(*placement_, attempt_, *logs_, *blobs_)); }
  MetricsRead metrics(std::int64_t offset = 0) {
    return must(read_metrics(*placement_, attempt_, "metrics.jsonl", offset, WallTime{7}));
  }
  MetricsRead metrics_of(const std::string& text) {
    write(attempt_, "artifacts/metrics.jsonl", text);
    return metrics();
  }

  const std::string output_ = std::string(3'000'000, 'o') + std::string("\r\0\xff\n", 4);
  Attempt attempt_;
};

TEST_F(CollectTest, R12_logs_are_whole_and_the_manifest_is_stored_and_verified) {
  const decide::Collected out = collected();
  EXPECT_TRUE(out.problems.empty()) << out.problems.front();
  EXPECT_EQ(out.artifacts, 2);
  EXPECT_EQ(out.manifest, attempt_.result->artifacts);
  EXPECT_TRUE(blobs_->has(out.manifest));
  EXPECT_EQ(stored(Stream::stdout_), output_);
  EXPECT_EQ(stored(Stream::execution), "log\n");
}

TEST_F(CollectTest, R9_cut_off_anywhere_and_called_again_it_brings_the_same) {
  must(logs_->append(attempt_.id, Stream::stdout_, 0, std::string(1'234'567, 'o')));
  EXPECT_TRUE(collected().problems.empty());
  const std::string once = stored(Stream::stdout_);
  EXPECT_TRUE(collected().problems.empty());
  EXPECT_EQ(stored(Stream::stdout_), once);
}

TEST_F(CollectTest, R12_a_stream_that_ends_early_is_a_problem) {
  attempt_.result->log_sizes_bytes["execution"] = 5;
  attempt_.result->log_sizes_bytes["stderr"] = -1;
  EXPECT_EQ(collected().problems.size(), 2U);
}

TEST_F(CollectTest, R12_a_workload_that_truncated_its_own_stream_is_no_problem) {
  must(logs_->append(attempt_.id, Stream::execution, 0, "log\nand what was cut away"));
  EXPECT_TRUE(collected().problems.empty());
  EXPECT_EQ(stored(Stream::execution), "log\nand what was cut away") << "what had arrived stays";
}

TEST_F(CollectTest, X4_a_log_swapped_for_a_link_is_a_problem_and_not_followed) {
  fs::remove(directory(attempt_) / "artifacts" / "stdout");
  fs::create_symlink("/etc/passwd", directory(attempt_) / "artifacts" / "stdout");
  const decide::Collected out = collected();
  EXPECT_EQ(out.problems.size(), 2U) << "the stream and the artifact";
  EXPECT_EQ(stored(Stream::stdout_), "");
}

TEST_F(CollectTest, R14_changed_artifacts_and_a_changed_manifest_are_problems) {
  write(attempt_, "artifacts/model", "1235");
  decide::Collected out = collected();
  ASSERT_EQ(out.problems.size(), 1U);
  EXPECT_EQ(out.problems[0].rfind("model: ", 0), 0U) << out.problems[0];
  write(attempt_, "runtime/artifacts.json", "{}");
  out = collected();
  ASSERT_EQ(out.problems.size(), 1U);
  EXPECT_TRUE(out.manifest.empty());
  fs::remove(directory(attempt_) / "runtime" / "artifacts.json");
  EXPECT_EQ(collected().problems.size(), 1U);
}

TEST_F(CollectTest, without_a_result_or_a_place_there_is_nothing_to_collect) {
  Attempt without = attempt_;
  without.result.reset();
  EXPECT_FALSE(collect(*placement_, without, *logs_, *blobs_));
  fs::remove_all(directory(attempt_));
  const auto gone = collect(*placement_, attempt_, *logs_, *blobs_);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::not_found);
}

TEST_F(CollectTest, R12_live_logs_are_shipped_as_they_grow) {
  std::atomic<bool> stop{false};
  write(attempt_, "artifacts/stdout", "one\n");
  EXPECT_EQ(must(ship_logs(*placement_, attempt_, *logs_, stop)), 8);
  EXPECT_EQ(must(ship_logs(*placement_, attempt_, *logs_, stop)), 0);
  write(attempt_, "artifacts/stdout", "one\ntwo\n");
  EXPECT_EQ(must(ship_logs(*placement_, attempt_, *logs_, stop)), 4);
  EXPECT_EQ(stored(Stream::stdout_), "one\ntwo\n");
  write(attempt_, "artifacts/stdout", "one\ntwo\nthree\n");
  stop = true;
  EXPECT_EQ(must(ship_logs(*placement_, attempt_, *logs_, stop)), 0);
  stop = false;
  ASSERT_EQ(::mkfifo((directory(attempt_) / "artifacts" / "stderr").c_str(), 0644), 0);
  EXPECT_FALSE(ship_logs(*placement_, attempt_, *logs_, stop));
  EXPECT_EQ(stored(Stream::stdout_), "one\ntwo\nthree\n") << "one bad stream keeps no other back";
}

TEST_F(CollectTest, metrics_give_a_point_for_each_number_but_the_step) {
  const MetricsRead read = metrics_of(
      "{\"step\": 3, \"loss\": 0.25, \"acc\": 1}\n"
      "{\"step\": 4.0, \"loss\": -1e3, \"time\": 1.5}\r\n"
      "{\"step\": 5, \"loss\": 18446744073709551615, \"at\": \"2026-11-30T02:28:58.123Z\"}\n");
  ASSERT_EQ(read.points.size(), 4U);
  EXPECT_EQ(read.points[0].name, "loss");
  EXPECT_EQ(read.points[0].step, 3);
  EXPECT_EQ(read.points[0].value, 0.25);
  EXPECT_EQ(read.points[0].at, WallTime{7});
  EXPECT_EQ(read.points[2].step, 4);
  EXPECT_EQ(read.points[2].at, WallTime{1500});
  EXPECT_EQ(to_rfc3339(read.points[3].at), "2026-11-30T02:28:58.123Z");
  EXPECT_EQ(read.skipped_lines + read.skipped_values, 0);
  EXPECT_TRUE(metrics(read.to_offset).points.empty());
}

TEST_F(CollectTest, X4_broken_lines_and_values_that_are_no_numbers_are_skipped_and_counted) {
  attempt_.result.reset();
  const MetricsRead read = metrics_of(
      "not json\n{\"loss\": 1}\n[1]\n{\"step\": \"1\", \"loss\": 1}\n{\"step\": 1.5, \"loss\": 1}\n{\"step\": 1, "
      "\"loss\": NaN}\n\n"
      "{\"step\": 1, \"a\": \"NaN\", \"b\": true, \"c\": null, \"d\": [1], \"e\": 1e999, \"f\": 2, \"time\": \"now\", "
      "\"g\\n\": 1}\n" +
      std::string(70'000, ' ') + "{\"step\": 1, \"long\": 1}\n" + "{\"step\": 2, \"partial\": 1");
  ASSERT_EQ(read.points.size(), 1U);
  EXPECT_EQ(read.points[0].name, "f");
  EXPECT_EQ(read.skipped_lines, 7);
  EXPECT_GE(read.skipped_values, 6);
}

TEST_F(CollectTest, a_partial_last_line_waits_until_it_is_whole_or_the_attempt_is_over) {
  const auto result = std::exchange(attempt_.result, std::nullopt);
  const std::string whole = "{\"step\": 1, \"a\": 1}\n";
  const MetricsRead first = metrics_of(whole + "{\"step\": 2, \"a\"");
  EXPECT_EQ(first.points.size(), 1U);
  EXPECT_EQ(first.to_offset, static_cast<std::int64_t>(whole.size()));
  write(attempt_, "artifacts/metrics.jsonl", whole + "{\"step\": 2, \"a\": 2}");
  EXPECT_TRUE(metrics(first.to_offset).points.empty());
  attempt_.result = result;
  const MetricsRead last = metrics(first.to_offset);
  ASSERT_EQ(last.points.size(), 1U);
  EXPECT_EQ(last.points[0].step, 2);
  EXPECT_TRUE(metrics(last.to_offset).points.empty());
}

TEST_F(CollectTest, X4_a_line_without_end_is_skipped_without_losing_what_follows) {
  write(attempt_, "artifacts/metrics.jsonl",
        std::string(2'000'000, 'x') + "{\"step\": 1, \"no\": 1}\n{\"step\": 1, \"yes\": 1}\n");
  std::vector<MetricPoint> points;
  std::int64_t offset = 0;
  int reads = 0;
  for (bool more = true; more; ++reads) {
    ASSERT_LT(reads, 20);
    const MetricsRead read = metrics(offset);
    EXPECT_EQ(read.from_offset, offset);
    points.insert(points.end(), read.points.begin(), read.points.end());
    offset = read.to_offset;
    more = read.more;
  }
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].name, "yes");
}

TEST_F(CollectTest, metrics_of_a_missing_file_are_empty_and_a_fifo_is_refused_at_once) {
  EXPECT_TRUE(metrics().points.empty());
  ASSERT_EQ(::mkfifo((directory(attempt_) / "artifacts" / "metrics.jsonl").c_str(), 0644), 0);
  EXPECT_FALSE(read_metrics(*placement_, attempt_, "metrics.jsonl", 0, WallTime{7}));
}

}  // namespace
}  // namespace orbit::server
