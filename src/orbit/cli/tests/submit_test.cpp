#include "orbit/cli/submit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <set>
#include <stdexcept>

#include "orbit/cli/follow.hpp"
#include "orbit/cli/project_change.hpp"
#include "orbit/cli/run_ref.hpp"
#include "orbit/net/sse.hpp"
#include "orbit/wire/base64.hpp"
#include "test_server.hpp"

namespace orbit::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr Backoff quick{1, 2, 50};

struct Folder {
  platform::TempDirectory directory = *platform::TempDirectory::make(fs::temp_directory_path(), "orbit-cli-");
  fs::path path = directory.path();
  void write(const std::string& name, const std::string& text, bool executable = false) {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
    ::chmod((path / name).c_str(), executable ? 0755 : 0644);
  }
};

constexpr const char* run_file = R"(project: digits
task: training
code:
  source: code
  entry: train.py
params:
  lr: 0.10
  epochs: 3
inputs:
  dataset: data.csv
  output: model.bin
resources:
  cpus: 1
environment: any
tags: [cpu]
)";

TEST(Assignment, SplitsAtTheFirstEquals) {
  EXPECT_EQ(*parse_assignment("a=b=c", "--param"), std::pair(std::string("a"), std::string("b=c")));
  EXPECT_EQ(*parse_assignment("a=", "--param"), std::pair(std::string("a"), std::string()));
  for (const char* bad : {"a", "=a", ""}) {
    const auto result = parse_assignment(bad, "--param");
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(result.error().field, "--param");
  }
}

TEST(Plan, R1FlagsWinOverTheRunFile) {
  Folder folder;
  folder.write("exp/run.yaml", run_file);
  SubmitOptions options;
  options.file = "exp/run.yaml";
  options.name = "second";
  options.params = {"lr=0.01", "seed=1.0"};
  options.gpus = "2";
  options.gpu_memory = "20GiB";
  options.tags = {"cpu", "sweep"};
  options.overrides = {"runtime_env.A=b"};
  const auto plan = plan_submission(options, {}, folder.path);
  ASSERT_TRUE(plan) << plan.error().text();
  const Submission& submission = plan->submission;
  EXPECT_EQ(submission.project, "digits");
  EXPECT_EQ(submission.name, "second");
  EXPECT_EQ(submission.params, (std::map<std::string, std::string>{{"epochs", "3"}, {"lr", "0.01"}, {"seed", "1.0"}}));
  EXPECT_EQ(submission.resources,
            (std::map<std::string, std::string>{{"cpus", "1"}, {"gpu_memory", "20GiB"}, {"gpus", "2"}}));
  EXPECT_EQ(submission.overrides, (std::map<std::string, std::string>{{"runtime_env.A", "b"}}));
  EXPECT_EQ(submission.tags, (std::vector<std::string>{"cpu", "sweep"}));
  EXPECT_EQ(submission.template_id, "local-host");
  EXPECT_EQ(plan->source, (folder.path / "exp/code").string());  // relative to the run file
  options.source = "other";
  EXPECT_EQ(plan_submission(options, {}, folder.path)->source, (folder.path / "other").string());  // to where we are
  options.source = "https://example.org/a.git";
  EXPECT_EQ(plan_submission(options, {}, folder.path)->source, "https://example.org/a.git");
}

TEST(Plan, R4ACommandLineMakesACommandTask) {
  SubmitOptions options;
  options.project = "p";
  const auto plan = plan_submission(options, {"./a.sh", "--x", ""}, "/");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->submission.task, "command");
  EXPECT_EQ(plan->submission.command, (std::vector<std::string>{"./a.sh", "--x", ""}));
  EXPECT_FALSE(plan->source);
}

TEST(Plan, ErrorsNameTheFlagOrTheFile) {
  const auto error = [](const SubmitOptions& options) { return plan_submission(options, {}, "/tmp").error(); };
  SubmitOptions options;
  EXPECT_EQ(error(options).field, "--task");
  options.task = "training";
  EXPECT_EQ(error(options).field, "--project");
  options.project = "Not A Name";
  EXPECT_EQ(error(options).field, "--project");
  options.project = "p";
  options.params = {"a=1", "a=2"};
  EXPECT_THAT(error(options).text(), HasSubstr("--param: 'a' is given twice"));
  options.params.clear();
  options.environment = "missing.yaml";
  EXPECT_EQ(error(options).field, "--env");
  options.environment.reset();
  options.file = "missing/run.yaml";
  EXPECT_EQ(error(options).field, "missing/run.yaml");
}

TEST(Sources, UrlsAreToldFromFolders) {
  for (const char* url : {"https://a/b", "ssh://git@a/b", "file:///a", "git@host:team/repo.git"})
    EXPECT_TRUE(is_repository_url(url)) << url;
  for (const char* folder : {".", "/a/b", "a:b", "dir/x@y:z"}) EXPECT_FALSE(is_repository_url(folder)) << folder;
  EXPECT_EQ(absolute_source("./a/../b/", "/x"), "/x/b");
}

TEST(ProjectBody, OnlyWhatIsGivenIsSent) {
  ProjectChange change;
  change.name = "p";
  change.entry = "b.py";
  EXPECT_EQ(*project_body(change, 3), R"({"version":3,"entry":"b.py"})");
  EXPECT_EQ(*project_body(change, {}), R"({"name":"p","entry":"b.py"})");
  change.params = {"a=1", "a=2"};
  EXPECT_FALSE(project_body(change, 3));
}

TEST(RunRefs, NamesIdsAndProjects) {
  EXPECT_EQ(parse_run_ref("first", {})->target({"why"}), "/api/v1/runs/first/why");
  EXPECT_EQ(parse_run_ref("digits/first", {})->target(), "/api/v1/runs/first?project=digits");
  EXPECT_EQ(parse_run_ref("first", "digits")->target({}, {{"limit", "3"}, {"cursor", {}}}),
            "/api/v1/runs/first?limit=3&project=digits");
  EXPECT_FALSE(parse_run_ref("digits/first", "other"));
  for (const char* bad : {"", "../x", "a b", "A", "a/b/c", "/x"}) EXPECT_FALSE(parse_run_ref(bad, {})) << bad;
}

TEST(DataFingerprints, R5OnlyAbsoluteDataIsFingerprinted) {
  Folder folder;
  folder.write("data.csv", "1,2\n");
  Submission submission;
  submission.inputs = {
      {"dataset", (folder.path / "data.csv").string()}, {"more", "relative.csv"}, {"note", "/not/data"}};
  const auto found = fingerprint_data(submission, {"dataset", "more", "absent"});
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().sha256, Sha256::of("1,2\n"));
  submission.inputs["dataset"] = "/does/not/exist";
  const auto missing = fingerprint_data(submission, {"dataset"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().field, "inputs.dataset");
}

// Answers that are cut off in the middle: the client cannot know whether it was heard.
class CutOff : public net::BodySource {
 public:
  Piece next(std::size_t, std::function<void()>) override { throw std::runtime_error("cut"); }
};
net::Response cut_off() {
  net::Response response;
  response.source = std::make_shared<CutOff>();
  return response;
}

wire::RunObject a_run(const std::string& id, AttemptState state) {
  wire::RunObject run;
  run.id = id;
  run.project = "digits";
  run.name = "first-try";
  run.state = state;
  run.bundle_digest = Sha256::of("bundle");
  wire::AttemptObject attempt;
  attempt.id = "01hzzzzzzzzzzzzzzzzzzzzzzz";
  attempt.state = state;
  if (state == AttemptState::failed) {
    attempt.reason = Reason::exit_nonzero;
    attempt.exit_code = 3;
  }
  run.attempts.push_back(attempt);
  return run;
}

// The part of a server that a submission needs; loses every first answer.
struct SubmitServer {
  std::mutex mutex;
  std::map<std::string, std::string> blobs;
  std::set<std::string> run_ids;
  std::vector<std::string> tokens;
  int run_calls = 0;
  int put_calls = 0;
  std::optional<wire::ProjectRequest> created;  // what the last request wants made
  bool project_exists = true;
  AttemptState state = AttemptState::succeeded;
  std::string output = "hello\n";

  std::vector<net::Route> routes() {
    using net::Method;
    const auto project = [this](const net::Request& request) {
      const std::lock_guard lock(mutex);
      tokens.push_back(request.headers.at("authorization"));
      if (!project_exists)
        return json_answer(
            R"({"type":"about:blank","title":"Not Found","status":404,"code":"not_found","detail":"there is no project"})",
            404);
      Project found;
      found.name = "digits";
      return json_answer(json::encode(found));
    };
    const auto task = [](const net::Request&) {
      return json_answer(R"({"id":"training","inputs":{"dataset":{"kind":"data"},"output":{"kind":"output"}}})");
    };
    const auto missing = [this](const net::Request& request) {
      const std::lock_guard lock(mutex);
      const auto asked = *json::decode<wire::MissingBlobsRequest>(request.body, json::From::user);
      wire::MissingBlobs answer;
      for (const Digest& digest : asked.digests)
        if (!blobs.contains(digest.hex())) answer.missing.push_back(digest);
      return json_answer(json::encode(answer));
    };
    const auto put = [this](const net::Request& request) {
      const std::lock_guard lock(mutex);
      blobs[request.path_params.at("digest")] = *platform::read_file(request.body_file, 1 << 26);
      if (++put_calls == 1) return cut_off();
      return json_answer("{}", 201);
    };
    const auto runs = [this](const net::Request& request) {
      const std::lock_guard lock(mutex);
      const auto asked = json::decode<wire::SubmitRequest>(request.body, json::From::user);
      EXPECT_TRUE(asked) << asked.error().text();
      run_ids.insert(*asked->id);
      created = asked->create_project;
      if (++run_calls == 1) return cut_off();
      return json_answer(json::encode(a_run(*asked->id, AttemptState::submitted)), 201);
    };
    const auto run = [this](const net::Request& request) {
      return json_answer(json::encode(a_run(request.path_params.at("run"), state)));
    };
    const auto log = [this](const net::Request& request) {
      const std::string text = request.path_params.at("stream") == "stdout" ? output : "";
      net::Response response;
      response.content_type = "text/event-stream";
      if (!text.empty())
        response.body =
            net::sse_encode({"", "log", R"({"offset":0,"bytes_base64":")" + wire::base64_encode(text) + "\"}"});
      response.body += net::sse_encode({"", "end", R"({"size_bytes":)" + std::to_string(text.size()) + "}"});
      return response;
    };
    return {route(Method::get, "/api/v1/projects/{project}", project),
            route(Method::get, "/api/v1/task-types/{id}", task),
            route(Method::post, "/api/v1/blobs/missing", missing, net::BodyKind::memory),
            route(Method::put, "/api/v1/blobs/{digest}", put, net::BodyKind::file),
            route(Method::post, "/api/v1/runs", runs, net::BodyKind::memory),
            route(Method::get, "/api/v1/runs/{run}", run),
            route(Method::get, "/api/v1/runs/{run}/attempts/{n}/logs/{stream}", log)};
  }
};

struct SubmitTest : testing::Test {
  Folder folder;
  SubmitServer fake;
  SubmitOptions options;
  void SetUp() override {
    folder.write("run.yaml", run_file);
    folder.write("code/train.py", "#!/usr/bin/env python3\n", true);
    folder.write("code/copy.py", "#!/usr/bin/env python3\n");  // the same bytes: one blob
    folder.write("code/data.csv", std::string(400'000, 'x'));
    options.file = (folder.path / "run.yaml").string();
  }
};

TEST_F(SubmitTest, R9ACutConnectionMakesNoSecondRun) {
  const TestServer server(fake.routes());
  TestContext test(server.url());
  const auto code = run_submit(test.context, options);
  ASSERT_TRUE(code) << code.error().text();
  EXPECT_EQ(*code, 0);
  EXPECT_EQ(fake.run_calls, 2);
  EXPECT_EQ(fake.run_ids.size(), 1U);
  EXPECT_EQ(fake.tokens.front(), "Bearer secret-token");
  EXPECT_THAT(test.out.str(), HasSubstr("run first-try (" + *fake.run_ids.begin() + ") submitted"));
  EXPECT_THAT(test.out.str() + test.err.str(), Not(HasSubstr("secret-token")));
  EXPECT_EQ(fake.blobs.size(), 3U);  // two contents and the list
  for (const auto& [digest, bytes] : fake.blobs) EXPECT_EQ(Sha256::of(bytes).hex(), digest);
  const int puts = fake.put_calls;
  EXPECT_EQ(puts, 4);  // one was sent again

  TestContext second(server.url());
  second.context.options.output = "json";
  ASSERT_TRUE(run_submit(second.context, options));
  EXPECT_EQ(fake.put_calls, puts);  // nothing is sent twice
  EXPECT_TRUE(json::decode<wire::RunObject>(second.out.str(), json::From::user)) << second.out.str();
}

TEST_F(SubmitTest, AMissingProjectIsAnErrorWithTheCommandThatMakesIt) {
  fake.project_exists = false;
  const TestServer server(fake.routes());
  TestContext test(server.url());
  const auto code = run_submit(test.context, options);
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, ErrorCode::not_found);
  EXPECT_THAT(code.error().hint, HasSubstr("orbit project create digits"));
  EXPECT_THAT(code.error().hint, HasSubstr("create_project: true"));
  EXPECT_TRUE(fake.blobs.empty());
}

TEST_F(SubmitTest, FlagAndRunFileMakeTheProjectTogetherWithTheRun) {
  fake.project_exists = false;
  for (const bool in_file : {false, true}) {
    folder.write("run.yaml", std::string(in_file ? "create_project: true\n" : "") + run_file);
    options.create_project = !in_file;
    const TestServer server(fake.routes());
    TestContext test(server.url());
    fake.created.reset();
    const auto code = run_submit(test.context, options);
    ASSERT_TRUE(code) << code.error().text();
    ASSERT_TRUE(fake.created) << in_file;
    EXPECT_EQ(fake.created->source, (folder.path / "code").string());
  }
}

TEST_F(SubmitTest, U2FollowExitsByTheRunsEnd) {
  for (const AttemptState state :
       {AttemptState::succeeded, AttemptState::failed, AttemptState::terminated, AttemptState::interrupted}) {
    fake.state = state;
    const TestServer server(fake.routes());
    TestContext test(server.url());
    options.follow = true;
    const auto code = run_submit(test.context, options);
    ASSERT_TRUE(code) << code.error().text();
    EXPECT_EQ(*code, state == AttemptState::succeeded ? 0 : 1);
    EXPECT_EQ(test.out.str(), "hello\n");  // stdout is the run's alone
    EXPECT_THAT(test.err.str(), HasSubstr(fmt::format("attempt 1: {}", json::name_of(state))));
    if (state == AttemptState::failed) {
      EXPECT_THAT(test.err.str(), HasSubstr("exit_nonzero, exit code 3"));
    }
  }
}

TEST_F(SubmitTest, U2FollowWithJsonPrintsTheRunAlone) {
  const TestServer server(fake.routes());
  TestContext test(server.url());
  options.follow = true;
  test.context.options.output = "json";
  ASSERT_EQ(run_submit(test.context, options).value_or(-1), 0);
  const auto run = json::decode<wire::RunObject>(test.out.str(), json::From::user);
  ASSERT_TRUE(run) << test.out.str();
  EXPECT_EQ(run->state, AttemptState::succeeded);
  EXPECT_THAT(test.err.str(), HasSubstr("hello"));
}

TEST_F(SubmitTest, ASourceThatIsNotThereIsNamed) {
  const TestServer server(fake.routes());
  TestContext test(server.url());
  options.source = "/does/not/exist";
  const auto code = run_submit(test.context, options);
  ASSERT_FALSE(code);
  EXPECT_THAT(code.error().text(), HasSubstr("/does/not/exist"));
  EXPECT_EQ(fake.run_calls, 0);
}

TEST(PostRun, GivesUpWhenTheServerStaysAway) {
  const TestServer server(
      {route(net::Method::post, "/api/v1/runs", [](const net::Request&) { return cut_off(); }, net::BodyKind::memory)});
  const auto api = Api::open(server.connection());
  ASSERT_TRUE(api);
  wire::SubmitRequest request;
  request.id = "01hzzzzzzzzzzzzzzzzzzzzzzz";
  const auto result = post_run(**api, request, quick);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::unavailable);
}

TEST(Detach, CtrlCSaysThatTheRunGoesOnAndExitsWith130) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    const DetachOnInterrupt guard("the run goes on\n");
    ::raise(SIGINT);
    ::_exit(99);
  }
  ::close(ends[1]);
  char buffer[100];
  const ssize_t length = ::read(ends[0], buffer, sizeof buffer);
  ::close(ends[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_EQ(std::string_view(buffer, static_cast<std::size_t>(std::max<ssize_t>(length, 0))), "the run goes on\n");
}

}  // namespace
}  // namespace orbit::cli
