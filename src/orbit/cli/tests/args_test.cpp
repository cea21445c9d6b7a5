#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "orbit/cli/args.hpp"
#include "orbit/cli/completion.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/cli/tree.hpp"
#include "orbit/cli/version.hpp"

namespace orbit::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Fixture : testing::Test {
  Command root{"orbit", "test"};
  GlobalOptions globals;
  bool follow = false;
  std::string run;
  std::vector<std::string> params, paths;
  std::optional<std::int64_t> lines;
  std::optional<std::string> state;

  Fixture() {
    const auto nothing = [](Context&) -> Result<int> { return 0; };
    Command& group = root.add("run", "runs");
    group.add("logs", "logs")
        .positional("run", &run, "the run")
        .positional("path", &paths, "paths", false)
        .flag("-f,--follow", follow, "follow")
        .option("--param", "K=V", &params, "params")
        .option("-n,--lines", "N", &lines, "lines")
        .option("--state", "S", &state, "state", {"running", "failed"})
        .run(nothing);
    root.add("submit", "submit").option("--param", "K=V", &params, "params").takes_rest("CMD", "command").run(nothing);
  }
  Result<Parsed> parse(const std::vector<std::string>& arguments) {
    return cli::parse(root, global_arguments(globals), arguments);
  }
  std::string error(const std::vector<std::string>& arguments) {
    const auto parsed = parse(arguments);
    return parsed ? "no error" : parsed.error().text();
  }
};

TEST_F(Fixture, ReadsALeaf) {
  const auto parsed = parse({"run", "logs", "my-run", "-f", "-n", "20", "--param", "a=1", "--param=b=-2", "x", "y"});
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_EQ(parsed->command->path(), "orbit run logs");
  EXPECT_EQ(run, "my-run");
  EXPECT_TRUE(follow);
  EXPECT_EQ(lines, 20);
  EXPECT_THAT(params, ElementsAre("a=1", "b=-2"));
  EXPECT_THAT(paths, ElementsAre("x", "y"));
}

TEST_F(Fixture, ARepeatedOptionTakesOneValueEachTime) {
  ASSERT_TRUE(parse({"run", "logs", "--param", "a=[1,2]", "my-run"}));
  EXPECT_THAT(params, ElementsAre("a=[1,2]"));
  EXPECT_EQ(run, "my-run");
}

TEST_F(Fixture, ARunMayBeNamedLikeACommand) {
  ASSERT_TRUE(parse({"run", "logs", "submit"}));
  EXPECT_EQ(run, "submit");
}

TEST_F(Fixture, GlobalOptionsStandAnywhere) {
  ASSERT_TRUE(parse({"--server", "http://a", "run", "-o", "json", "logs", "my-run", "--token=t"}));
  EXPECT_EQ(globals.server, "http://a");
  EXPECT_EQ(globals.output, "json");
  EXPECT_EQ(globals.token, "t");
}

TEST_F(Fixture, WhatFollowsTheDashesIsHandedOver) {
  const auto parsed = parse({"submit", "--param", "a=1", "--", "./x", "--param", "--", "-f"});
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->rest, ElementsAre("./x", "--param", "--", "-f"));
  EXPECT_THAT(params, ElementsAre("a=1"));
  EXPECT_THAT(error({"run", "logs", "a", "--", "b"}), HasSubstr("nothing may follow"));
}

TEST_F(Fixture, U2SaysWhatWasMeant) {
  EXPECT_THAT(error({"rnu", "logs"}),
              AllOf(HasSubstr("'rnu' is no command of orbit"), HasSubstr("did you mean orbit run?")));
  EXPECT_THAT(error({"run", "log", "x"}), HasSubstr("did you mean orbit run logs?"));
  EXPECT_THAT(error({"run", "logs", "x", "--folow"}), AllOf(HasSubstr("--folow"), HasSubstr("did you mean --follow?")));
  EXPECT_THAT(error({"--sever", "x", "run"}), HasSubstr("did you mean --server?"));
}

TEST_F(Fixture, WrongUseIsAUsageError) {
  EXPECT_THAT(error({"run", "logs"}), HasSubstr("run: is missing"));
  EXPECT_THAT(error({"submit", "extra"}), HasSubstr("'extra' is one argument too many"));
  EXPECT_THAT(error({"run", "logs", "x", "-n", "many"}), HasSubstr("'many' is not a number"));
  EXPECT_THAT(error({"run", "logs", "x", "-n", "1", "-n", "2"}), HasSubstr("--lines"));
  EXPECT_THAT(error({"run", "logs", "x", "--state", "dead"}), HasSubstr("one of running, failed"));
  EXPECT_THAT(error({"run", "logs", "x", "-n"}), HasSubstr("--lines"));
  EXPECT_EQ(parse({"nothing"}).error().code, ErrorCode::invalid_argument);
}

TEST_F(Fixture, HelpWorksEverywhere) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"run", "logs", "--help"}, {"run", "logs", "-h", "--bogus"}, {"help", "run", "logs"}}) {
    const auto parsed = parse(words);
    ASSERT_TRUE(parsed);
    EXPECT_TRUE(parsed->help && parsed->asked);
    EXPECT_EQ(parsed->command->path(), "orbit run logs");
  }
  const auto bare = parse({"run"});
  ASSERT_TRUE(bare);
  EXPECT_TRUE(bare->help && !bare->asked);
}

struct WholeTree : testing::Test {
  Program program{
      "1.2.3",
      [](Command& top) { top.add("server", "Run the server").local().run([](Context&) -> Result<int> { return 0; }); },
      {{"runner", [](const auto&) { return 7; }}}};
  std::unique_ptr<Command> root = make_tree(program);
  std::ostringstream out, err;
  int run(const std::vector<std::string>& arguments) {
    out.str({});
    err.str({});
    Context context{out, err, {}, [](const char*) { return std::optional<std::string>(); }, {}, {}};
    return run_command(*root, context, arguments);
  }
};

void visit(const Command& command, const std::function<void(const Command&)>& see) {
  see(command);
  for (const auto& child : command.children()) visit(*child, see);
}

TEST_F(WholeTree, U2EveryCommandHasHelpThatFits) {
  GlobalOptions globals;
  int leaves = 0;
  visit(*root, [&](const Command& command) {
    EXPECT_FALSE(command.description().empty()) << command.path();
    if (command.handler()) ++leaves;
    EXPECT_TRUE(command.handler() || !command.children().empty()) << command.path();
    std::istringstream lines(command.help(global_arguments(globals), 100));
    for (std::string line; std::getline(lines, line) && line != "examples:";)
      EXPECT_LE(display_width(line), 120U) << command.path() << ": " << line;
    for (const Argument& argument : command.options()) EXPECT_FALSE(argument.help.empty()) << argument.names;
  });
  EXPECT_GT(leaves, 35);
}

TEST_F(WholeTree, EveryLeafTakesOutputJson) {
  visit(*root, [&](const Command& command) {
    if (!command.handler()) return;
    EXPECT_EQ(run({"--output", "xml"}), 2);
  });
}

TEST_F(WholeTree, ListsTheServerAndHidesTheRunner) {
  EXPECT_EQ(run({"--help"}), 0);
  EXPECT_THAT(out.str(), HasSubstr("server"));
  EXPECT_THAT(out.str(), Not(HasSubstr("runner")));
  EXPECT_EQ(run({}), 2);
  EXPECT_THAT(err.str(), HasSubstr("usage: orbit COMMAND"));
}

TEST_F(WholeTree, HandsInternalCommandsOnBeforeAnythingElse) {
  std::string words[] = {"orbit", "runner", "--help"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data()};
  EXPECT_EQ(cli::main(3, argv, program), 7);
}

TEST_F(WholeTree, WhatAsksNoServerOffersNoWayToNameOne) {
  for (const char* command : {"server", "version", "bundle", "completion"}) {
    EXPECT_EQ(run({command, "--help"}), 0);
    EXPECT_THAT(out.str(), Not(HasSubstr("--token"))) << command;
  }
  EXPECT_EQ(run({"run", "ls", "--help"}), 0);
  EXPECT_THAT(out.str(), HasSubstr("--token"));
}

TEST_F(WholeTree, VersionAndErrors) {
  set_version("1.2.3");
  EXPECT_EQ(run({"version"}), 0);
  EXPECT_EQ(out.str(), "orbit 1.2.3\n");
  EXPECT_EQ(run({"version", "-o", "json"}), 0);
  EXPECT_EQ(out.str(), "{\"version\":\"1.2.3\"}\n");
  EXPECT_EQ(run({"run", "lss"}), 2);
  EXPECT_EQ(err.str(), "orbit: 'lss' is no command of orbit run\nhint: did you mean orbit run ls?\n");
}

TEST_F(WholeTree, CompletionScriptsAreAcceptedByTheirShell) {
  EXPECT_EQ(run({"completion", "bash"}), 0);
  const std::string script = out.str();
  std::FILE* bash = ::popen(
      "bash -c 'eval \"$(cat)\"; COMP_WORDS=(orbit run --server x l); COMP_CWORD=4; _orbit; echo \"${COMPREPLY[*]}\"' "
      "| "
      "grep -qx 'ls logs'",
      "w");
  ASSERT_NE(bash, nullptr);
  std::fwrite(script.data(), 1, script.size(), bash);
  EXPECT_EQ(::pclose(bash), 0);
  EXPECT_EQ(run({"completion", "fish"}), 0);
  EXPECT_THAT(out.str(), HasSubstr("complete -c orbit -f -n"));
  EXPECT_EQ(run({"completion", "zsh"}), 0);
  EXPECT_THAT(out.str(), testing::StartsWith("#compdef orbit"));
}

TEST_F(WholeTree, ExitCodeSixWhenNobodyAnswers) {
  EXPECT_EQ(run({"run", "ls", "--server", "http://127.0.0.1:1"}), 6);
  EXPECT_THAT(err.str(), HasSubstr("is the server running? orbit server"));
}

}  // namespace
}  // namespace orbit::cli
