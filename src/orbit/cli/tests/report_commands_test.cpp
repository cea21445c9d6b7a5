// What people see of the lists and reports of runs, against answers as the API gives them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "orbit/cli/tree.hpp"
#include "orbit/cli/views.hpp"
#include "test_server.hpp"

namespace orbit::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// Every request below `pattern` is answered with `body`.
struct Commands {
  std::vector<net::Route> routes;
  std::ostringstream out, err;

  void answer(const std::string& pattern, std::string body) {
    routes.push_back(
        route(net::Method::get, pattern, [body = std::move(body)](const net::Request&) { return json_answer(body); }));
  }
  int run(std::vector<std::string> arguments) {
    TestServer server(routes);
    Terminal terminal;
    terminal.out = true;  // 80 columns, no colour
    Context context{out, err, terminal, [](const char*) { return std::optional<std::string>(); }, {}, {}};
    for (const std::string& word : {std::string("--server"), server.url(), std::string("--token"), std::string("t")})
      arguments.push_back(word);
    return run_command(*make_tree({}), context, arguments);
  }
};

const std::string empty_page = R"({"items":[],"next_cursor":null})";

TEST(RunLs, AnEmptyAnswerToAFilterIsNotNoRunsAtAll) {
  Commands commands;
  commands.answer("/api/v1/runs", empty_page);
  EXPECT_EQ(commands.run({"run", "ls", "--tag", "t"}), 0);
  EXPECT_THAT(commands.err.str(), HasSubstr("no run matches"));
  EXPECT_THAT(commands.err.str(), Not(HasSubstr("no runs yet")));
}

TEST(RunLs, WithoutAFilterItSaysHowToMakeTheFirst) {
  Commands commands;
  commands.answer("/api/v1/runs", empty_page);
  EXPECT_EQ(commands.run({"run", "ls"}), 0);
  EXPECT_THAT(commands.err.str(), HasSubstr("no runs yet: orbit submit"));
}

TEST(RunLs, ALimitOfNothingIsWrongUse) {
  for (const char* limit : {"0", "-3"}) {
    for (const char* format : {"text", "json"}) {
      Commands commands;
      commands.answer("/api/v1/runs", empty_page);
      EXPECT_EQ(commands.run({"run", "ls", std::string("--limit=") + limit, "-o", format}), 2) << limit << format;
      EXPECT_THAT(commands.err.str(), HasSubstr("--limit"));
    }
  }
}

TEST(RunLs, ReasonsOfEndsThatAreNoCompletionWithin80Columns) {
  std::vector<wire::RunObject> runs(3);
  runs[0].project = runs[1].project = runs[2].project = "a-project-of-some-length";
  runs[0].name = runs[1].name = runs[2].name = "a-run-with-a-rather-long-name";
  runs[0].id = runs[1].id = runs[2].id = "01m8n9pjwzm03esfypbj6e7q6p";
  runs[0].state = AttemptState::failed;
  runs[0].reason = Reason::exit_nonzero;
  runs[1].state = AttemptState::succeeded;
  runs[1].reason = Reason::completed;
  runs[2].state = AttemptState::interrupted;
  runs[2].reason = Reason::environment_mismatch;
  Terminal terminal;
  terminal.out = true;
  const std::string text = run_table(runs, WallTime{0}, terminal);
  EXPECT_THAT(text, HasSubstr("REASON"));
  EXPECT_THAT(text, HasSubstr("exit_non"));
  EXPECT_THAT(text, Not(HasSubstr("completed")));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80U) << line;

  runs = {runs[1]};
  EXPECT_THAT(run_table(runs, WallTime{0}, terminal), Not(HasSubstr("REASON")));  // names get the columns
}

std::string why(const std::string& state, const std::string& summary) {
  Commands commands;
  commands.answer("/api/v1/runs/{run}/why", R"({"run":"01m8n9pjwzm03esfypbj6e7q6p","state":")" + state +
                                                R"(","summary":")" + summary + R"(","evidence":[]})");
  EXPECT_EQ(commands.run({"run", "why", "first"}), 0) << commands.err.str();
  return commands.out.str();
}

TEST(RunWhy, SaysTheStateOnce) {
  EXPECT_EQ(why("succeeded", "succeeded: it did all it should"), "succeeded: it did all it should\n");
  EXPECT_EQ(why("succeeded", "succeeded: succeeded: it did"), "succeeded: it did\n");
  EXPECT_EQ(why("running", "running since 2026-01-01T00:00:00Z"), "running: since 2026-01-01T00:00:00Z\n");
  EXPECT_EQ(why("running", "running; the place where it runs is stale"), "running: the place where it runs is stale\n");
  EXPECT_EQ(why("starting", "starting"), "starting\n");
  EXPECT_EQ(why("failed", "failedness is no state"), "failed: failedness is no state\n");
}

TEST(Help, ColumnsLineUpWhereANameHasWideOrManyByteCharacters) {
  Command leaf("leaf", "test");
  std::string value;
  leaf.positional("run", &value, "FIRST").takes_rest("COMMAND…", "SECOND").run([](Context&) -> Result<int> {
    return 0;
  });
  const std::string help = leaf.help({}, 80);
  const auto column_of = [&](const std::string& word) {
    const std::size_t at = help.find(word);
    EXPECT_NE(at, std::string::npos) << help;
    return display_width(help.substr(help.rfind('\n', at) + 1, at - help.rfind('\n', at) - 1));
  };
  EXPECT_EQ(column_of("FIRST"), column_of("SECOND")) << help;
}

TEST(Server, AUrlOfAnUnsupportedSchemeIsWrongUse) {
  std::ostringstream out, err;
  Context context{out, err, {}, [](const char*) { return std::optional<std::string>(); }, {}, {}};
  EXPECT_EQ(run_command(*make_tree({}), context, {"run", "ls", "--server", "https://orbit.example"}), 2);
  EXPECT_THAT(err.str(), HasSubstr("https"));
}

}  // namespace
}  // namespace orbit::cli
