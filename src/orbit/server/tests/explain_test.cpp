#include "orbit/server/explain.hpp"

#include <algorithm>

#include "orbit/base/text.hpp"
#include "run_fixture.hpp"

namespace orbit::server {
namespace {

class ExplainTest : public RunFixture {
 protected:
  wire::WhyObject why(const RunView& run) { return must(explain(run, *reader_, *logs_, *writer_)); }
  static bool says(const wire::WhyObject& answer, const std::string& text) {
    return std::any_of(answer.evidence.begin(), answer.evidence.end(),
                       [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }
  // As if it had failed, with what the workload printed.
  RunView failed(Reason reason, Stream stream, const std::string& output) {
    RunView run = submit(request());
    Attempt& attempt = run.attempts[0];
    attempt.state = AttemptState::failed;
    attempt.reason = reason;
    attempt.exit_code = 3;
    attempt.detail = "exited with code 3";
    must(logs_->append(attempt.id, stream, 0, output));
    return run;
  }
};

TEST_F(ExplainTest, S6_a_run_that_waits_says_for_what) {
  const RunView run = submit(request());
  const auto answer = why(view(run.run.id));
  EXPECT_EQ(answer.state, AttemptState::queued);
  EXPECT_NE(answer.summary.find("waits for a slot"), std::string::npos) << answer.summary;
  EXPECT_TRUE(says(answer, "submitted → queued"));
}

TEST_F(ExplainTest, R7_a_failure_is_explained_with_the_last_lines_of_stderr) {
  std::string output;
  for (int i = 0; i < 2000; ++i) output += fmt::format("line {}\n", i);
  const auto answer = why(failed(Reason::exit_nonzero, Stream::stderr_, output + "ValueError: bad\n"));
  EXPECT_EQ(answer.summary.rfind("failed: the entry exited with 3", 0), 0U) << answer.summary;
  EXPECT_TRUE(says(answer, "ValueError: bad"));
  EXPECT_TRUE(says(answer, "line 1999"));
  EXPECT_FALSE(says(answer, "line 1980"));
}

TEST_F(ExplainTest, R11_a_failed_check_is_explained_with_the_execution_log) {
  const auto answer = why(failed(Reason::precheck_failed, Stream::execution, "python: wanted 3.9, found 3.11\n"));
  EXPECT_TRUE(says(answer, "wanted 3.9"));
}

TEST_F(ExplainTest, X4_what_a_workload_printed_cannot_move_the_readers_cursor) {
  const auto answer = why(failed(Reason::exit_nonzero, Stream::stderr_,
                                 "10%\r100%\n\x1b[2Jcleared\xff \xC2\x9B"
                                 "31m\n" +
                                     std::string(5000, 'x')));
  EXPECT_TRUE(says(answer, "100%"));
  EXPECT_FALSE(says(answer, "10%\r"));
  for (const std::string& line : answer.evidence) {
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
    EXPECT_EQ(line.find("\xC2\x9B"), std::string::npos);
    EXPECT_TRUE(is_valid_utf8(line));
    EXPECT_LT(line.size(), 500U);
  }
}

TEST_F(ExplainTest, every_reason_has_words) {
  RunView run = submit(request());
  for (const std::string& name : json::names_of<Reason>()) {
    run.attempts[0].state = AttemptState::failed;
    run.attempts[0].reason = must(json::parse_enum<Reason>(name));
    EXPECT_GT(why(run).summary.size(), std::string("failed: ").size() + 5) << name;
  }
}

TEST_F(ExplainTest, a_stopped_run_says_by_whom) {
  const RunView run = submit(request());
  end(run);
  const auto answer = why(view(run.run.id));
  EXPECT_EQ(answer.summary.rfind("terminated: it was stopped by ada", 0), 0U) << answer.summary;
}

TEST_F(ExplainTest, S3_the_queue_lists_what_waits_in_order) {
  for (const char* name : {"first", "second", "third"}) submit_named(name);
  end(view(must(reader_->runs_named("second", "digits")).at(0)));
  const auto items = must(queue_items(*reader_, *writer_));
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].name, "first");
  EXPECT_EQ(items[0].position, 1);
  EXPECT_EQ(items[1].name, "third");
  EXPECT_EQ(items[1].position, 2);
  EXPECT_NE(items[1].waits_for.find("1 ahead"), std::string::npos) << items[1].waits_for;
}

}  // namespace
}  // namespace orbit::server
