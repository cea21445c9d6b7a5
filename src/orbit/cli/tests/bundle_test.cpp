// R17: bundles by hand, without a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "orbit/bundle/bundle.hpp"
#include "orbit/cli/bundle_build.hpp"
#include "orbit/cli/doctor.hpp"
#include "orbit/cli/download.hpp"
#include "orbit/cli/hand_run.hpp"
#include "orbit/cli/tree.hpp"
#include "orbit/wire/api.hpp"
#include "test_server.hpp"

namespace orbit::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct BundleTest : testing::Test {
  platform::TempDirectory directory = *platform::TempDirectory::make(fs::temp_directory_path(), "orbit-cli-");
  fs::path path = directory.path();
  std::unique_ptr<Command> tree = make_tree({});
  std::string out, err;

  void write(const std::string& name, const std::string& text, mode_t mode = 0644) {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
    ::chmod((path / name).c_str(), mode);
  }
  void SetUp() override {
    write("project/run.yaml",
          "project: digits\ntask: training\ncode: {entry: train.py}\nparams: {lr: 0.10}\n"
          "inputs: {dataset: data.csv, output: model.bin}\nenvironment: any\nresources: {time_limit: 5m}\n");
    write("project/train.py", "#!/usr/bin/env python3\n", 0755);
    write("project/data.csv", "1,2\n");
  }
  int run(const std::vector<std::string>& arguments) {
    TestContext test;
    const int code = run_command(*make_tree({}), test.context, arguments);
    out = test.out.str();
    err = test.err.str();
    return code;
  }
  std::string in(const std::string& name) const { return (path / name).string(); }
};

TEST_F(BundleTest, R17BuildsWhatChecks) {
  ASSERT_EQ(run({"bundle", "build", in("project"), "--out", in("b")}), 0) << err;
  const std::string digest = out.substr(0, 64);
  EXPECT_TRUE(Digest::parse(digest)) << out;
  EXPECT_EQ(digest_of_bundle(path / "b")->hex(), digest);
  EXPECT_EQ(run({"bundle", "check", in("b")}), 0) << out << err;
  EXPECT_EQ(out, "ok: " + digest + "\n");
  EXPECT_TRUE(fs::is_regular_file(path / "b/inputs/code/train.py"));
  EXPECT_TRUE(fs::is_regular_file(path / "b/job.json"));
  EXPECT_TRUE(fs::is_directory(path / "b/artifacts"));
}

TEST_F(BundleTest, R5TheSameFilesGiveTheSameDigestAnywhere) {
  ASSERT_EQ(run({"bundle", "build", in("project"), "--out", in("a")}), 0) << err;
  const std::string first = out;
  fs::create_directories(path / "elsewhere");
  fs::copy(path / "project", path / "elsewhere/copy", fs::copy_options::recursive);
  ::chmod((path / "elsewhere/copy/data.csv").c_str(), 0600);
  const mode_t before = ::umask(077);
  EXPECT_EQ(run({"bundle", "build", in("elsewhere/copy"), "--out", in("b")}), 0) << err;
  ::umask(before);
  EXPECT_EQ(out, first);
  EXPECT_EQ(run({"bundle", "check", in("b"), "--digest", first.substr(0, 64)}), 0) << out;
  EXPECT_EQ(run({"bundle", "build", in("project"), "--out", in("c"), "--param", "lr=0.2"}), 0) << err;
  EXPECT_NE(out, first);
}

TEST_F(BundleTest, CheckNamesTheFileThatChanged) {
  ASSERT_EQ(run({"bundle", "build", in("project"), "--out", in("b")}), 0) << err;
  write("b/inputs/code/data.csv", "1,3\n");
  EXPECT_EQ(run({"bundle", "check", in("b")}), 1);
  EXPECT_THAT(out, HasSubstr("inputs/code/data.csv"));
  EXPECT_EQ(run({"bundle", "check", in("b"), "-o", "json"}), 1);
  const auto report = json::parse(out);
  ASSERT_TRUE(report) << out;
  EXPECT_FALSE(report->at("ok").get_bool());
  EXPECT_EQ(run({"bundle", "run", in("b")}), 1);  // R5: refused before anything starts
  EXPECT_FALSE(fs::exists(path / "b/runtime/order.json"));
  EXPECT_EQ(run({"bundle", "check", in("nothing")}), 3);
}

TEST_F(BundleTest, BuildRefusesWhatIsWrongAndLeavesNothing) {
  write("taken/file", "x");
  EXPECT_EQ(run({"bundle", "build", in("project"), "--out", in("taken")}), 5);
  EXPECT_EQ(run({"bundle", "build", in("project"), "--out", in("b"), "--set", "no.such=1"}), 2);
  EXPECT_EQ(run({"bundle", "build", in("project"), "--out", in("b"), "--task", "traning"}), 3);
  EXPECT_THAT(err, HasSubstr("did you mean training?"));
  EXPECT_EQ(run({"bundle", "build", in("project")}), 2);
  EXPECT_FALSE(fs::exists(path / "b"));
  for (const auto& entry : fs::directory_iterator(path))
    EXPECT_NE(entry.path().filename().string()[0], '.') << entry.path();
}

TEST_F(BundleTest, R10ADirectoryIsRunOnceAndACopyMayFollow) {
  ASSERT_EQ(run({"bundle", "build", in("project"), "--out", in("b")}), 0) << err;
  const auto order = write_hand_order(path / "b", WallTime{1});
  ASSERT_TRUE(order) << order.error().text();
  EXPECT_EQ(order->number, 1);
  EXPECT_EQ(order->project, "digits");
  EXPECT_EQ(order->resources.time_limit_s, 300);
  EXPECT_EQ(order->bundle, *digest_of_bundle(path / "b"));
  const auto text = platform::read_file(path / "b/runtime/order.json", 1 << 20);
  ASSERT_TRUE(text);
  EXPECT_TRUE(json::decode<Order>(*text, json::From::user));
  const auto second = write_hand_order(path / "b", WallTime{2});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  EXPECT_THAT(second.error().hint, HasSubstr("--again"));
  EXPECT_EQ(run({"bundle", "run", in("b")}), 5);

  const auto copy = copy_for_another_run(path / "b");
  ASSERT_TRUE(copy) << copy.error().text();
  EXPECT_EQ(*copy, path / "b-2");
  EXPECT_EQ(*digest_of_bundle(*copy), order->bundle);
  EXPECT_TRUE(bundle::verify(*copy, order->bundle)->empty());
  EXPECT_FALSE(fs::exists(*copy / "runtime/order.json"));
  EXPECT_TRUE(write_hand_order(*copy, WallTime{3}));
}

TEST(HandResult, OnlyACleanEndIsASuccess) {
  RunnerResult good;
  good.workload_started = true;
  good.exit_code = 0;
  EXPECT_TRUE(succeeded(good));
  RunnerResult bad = good;
  bad.exit_code = 1;
  EXPECT_FALSE(succeeded(bad));
  bad = good;
  bad.exit_code.reset();  // how it ended is not known: never a guessed success
  EXPECT_FALSE(succeeded(bad));
  bad = good;
  bad.missing_outputs = {"model.bin"};
  EXPECT_FALSE(succeeded(bad));
  bad = good;
  bad.stop_requested = true;
  EXPECT_FALSE(succeeded(bad));
}

TEST(DoctorJudges, ClockAndDisk) {
  const auto clock = [](std::int64_t server_ms) {
    return judge_clock(WallTime{100'000}, WallTime{server_ms}, WallTime{100'200});
  };
  EXPECT_EQ(clock(100'000).health, Health::ok);
  EXPECT_EQ(clock(99'000).health, Health::ok);  // whole seconds: it may be 99.999
  EXPECT_EQ(clock(160'000).health, Health::warn);
  EXPECT_THAT(clock(160'000).found, HasSubstr("59s behind"));
  EXPECT_THAT(clock(40'000).found, HasSubstr("59s ahead"));
  EXPECT_EQ(judge_disk(1 << 20, "/d").health, Health::fail);
  EXPECT_EQ(judge_disk(std::int64_t{5} << 30, "/d").health, Health::warn);
  EXPECT_EQ(judge_disk(std::int64_t{50} << 30, "/d").health, Health::ok);
}

struct DownloadTest : BundleTest {
  std::vector<Artifact> artifacts;
  std::map<std::string, std::string> contents;
  RunRef ref{"first", {}};

  void add(const std::string& name, const std::string& text, std::int32_t mode = 0644) {
    Artifact artifact;
    artifact.path = name;
    artifact.mode = mode;
    artifact.size_bytes = static_cast<std::int64_t>(text.size());
    artifact.sha256 = Sha256::of(text);
    artifacts.push_back(artifact);
    contents[name] = text;
  }
  std::vector<net::Route> routes() {
    return {route(net::Method::get, "/api/v1/runs/{run}/attempts/{n}/artifacts",
                  [this](const net::Request&) {
                    wire::ArtifactListObject list;
                    list.items = artifacts;
                    return json_answer(json::encode(list));
                  }),
            route(net::Method::get, "/api/v1/runs/{run}/attempts/{n}/artifacts/{path...}",
                  [this](const net::Request& request) {
                    net::Response response;
                    response.body = contents.at(request.path_params.at("path"));
                    return response;
                  })};
  }
  Result<int> get(const std::vector<std::string>& paths, const std::string& to) {
    const TestServer server(routes());
    TestContext test(server.url());
    auto api = test.context.api();
    EXPECT_TRUE(api);
    auto code = download_artifacts(test.context, **api, ref, "1", paths, to);
    out = test.out.str();
    return code;
  }
};

TEST_F(DownloadTest, R17FetchesFilesAndFolders) {
  add("model.bin", "weights", 04755);
  add("checkpoints/epoch 1/state", "one");
  ASSERT_TRUE(get({}, in("all")));
  EXPECT_EQ(*platform::read_file(path / "all/checkpoints/epoch 1/state", 100), "one");
  struct stat status{};
  ASSERT_EQ(::stat(in("all/model.bin").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0755U);  // no set-user-id
  ASSERT_TRUE(get({"checkpoints/"}, in("some")));
  EXPECT_FALSE(fs::exists(path / "some/model.bin"));
  EXPECT_TRUE(fs::exists(path / "some/checkpoints/epoch 1/state"));
  ASSERT_TRUE(get({"model.bin"}, "-"));
  EXPECT_EQ(out, "weights");
  const auto missing = get({"modle.bin"}, in("none"));
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().hint, HasSubstr("did you mean model.bin?"));
}

TEST_F(DownloadTest, R14WhatHasAnotherDigestIsNotKept) {
  add("model.bin", "weights");
  contents["model.bin"] = "weightz";
  const auto code = get({}, in("all"));
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, ErrorCode::corrupt);
  EXPECT_TRUE(fs::is_empty(path / "all"));
}

TEST_F(DownloadTest, X4NothingIsWrittenOutsideTheFolder) {
  add("../evil", "x");
  EXPECT_FALSE(get({}, in("all")));
  EXPECT_FALSE(fs::exists(path / "evil"));
  artifacts.clear();
  add("sub/file", "x");
  fs::create_directories(path / "out");
  fs::create_directories(path / "victim");
  fs::create_directory_symlink(path / "victim", path / "out/sub");
  const auto code = get({}, in("out"));
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, ErrorCode::refused);
  EXPECT_TRUE(fs::is_empty(path / "victim"));
}

}  // namespace
}  // namespace orbit::cli
