// The bundle's directory is taken away, spoiled or full while its workload runs.
#include <sys/mount.h>

#include "bench.hpp"

namespace orbit::runner {
namespace {

using test::Bench;
using test::eventually;
using test::put;
using test::remove_for_good;
using test::slurp;

// Ignores SIGTERM, as does its child: only SIGKILL ends them.
constexpr const char* stubborn = "trap '' TERM; sleep 1000 & touch artifacts/ready; while :; do sleep 0.05; done";

enum class Loss { removed, moved, parent_moved, replaced, runtime_removed, runtime_moved, lock_replaced };

class Lost : public testing::TestWithParam<Loss> {};

TEST_P(Lost, R10_DirectoryTakenAwayEndsEverything) {
  Bench bench;
  bench.order.stop_grace_s = 1;
  // One level below, so that also the parent can be moved.
  const auto parent = bench.dir;
  const auto aside = parent.parent_path() / "aside";
  bench.dir = parent / "bundle";
  bench.make(stubborn);
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.workload_started() && bench.has("artifacts/ready"); }));
  const auto workload = bench.workload();
  namespace fs = std::filesystem;
  switch (GetParam()) {
    case Loss::removed:
      remove_for_good(bench.dir);
      break;
    case Loss::moved:
      fs::rename(bench.dir, aside);
      break;
    case Loss::parent_moved:
      fs::rename(parent, aside);
      break;
    case Loss::replaced:
      fs::rename(bench.dir, aside);
      bench.make(stubborn);
      put(bench.dir / "runtime/lock", "");
      break;
    case Loss::runtime_removed:
      remove_for_good(bench.dir / "runtime");
      break;
    case Loss::runtime_moved:
      fs::rename(bench.dir / "runtime", bench.dir / "elsewhere");
      break;
    case Loss::lock_replaced:
      put(bench.dir / "runtime/other", "");
      fs::rename(bench.dir / "runtime/other", bench.dir / "runtime/lock");
      break;
  }
  int status = 0;
  ASSERT_TRUE(eventually([&] { return waitpid(runner, &status, WNOHANG) == runner; })) << "the runner lives on";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
  EXPECT_EQ(bench.living(), 0U);
  EXPECT_FALSE(platform::is_alive(workload.entry));
  EXPECT_TRUE(eventually([&] { return !platform::is_alive(workload.keeper); })) << "the keeper lives on";
  EXPECT_FALSE(bench.has("runtime/result.json"));
  if (GetParam() == Loss::removed) {
    EXPECT_FALSE(fs::exists(bench.dir)) << "made anew";
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Lost,
                         testing::Values(Loss::removed, Loss::moved, Loss::parent_moved, Loss::replaced,
                                         Loss::runtime_removed, Loss::runtime_moved, Loss::lock_replaced));

TEST(Loss, R10_KeeperGivesUpInADirectoryThatIsGone) {
  Bench bench;
  const auto end = bench.dir.parent_path() / "end";
  bench.make("while [ ! -e '" + end.string() + "' ]; do sleep 0.02; done");
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.workload_started(); }));
  const auto workload = bench.workload();
  bench.kill_runner(runner);
  remove_for_good(bench.dir);
  put(end, "");
  EXPECT_TRUE(eventually([&] { return !platform::is_alive(workload.keeper); })) << "the keeper lives on";
}

TEST(Loss, X4_WhatTheWorkloadPutsInTheWayIsRemoved) {
  for (const std::string obstacle : {"mkdir -p runtime/$n/full/of", "mkfifo runtime/$n", "ln -s nowhere runtime/$n"}) {
    Bench bench;
    bench.make("for n in result.json exit.json .exit.json.keeper artifacts.json; do " + obstacle + "; done; exit 5");
    const pid_t runner = bench.start();
    int status = 0;
    ASSERT_TRUE(eventually([&] { return waitpid(runner, &status, WNOHANG) == runner; })) << obstacle;
    EXPECT_EQ(status, 0);
    EXPECT_EQ(bench.result().exit_code, 5) << obstacle;
    EXPECT_FALSE(bench.result().collect_error) << obstacle;
    EXPECT_FALSE(bench.artifacts().artifacts.empty()) << obstacle;
    const auto keeper = bench.workload().keeper;
    EXPECT_TRUE(eventually([&] { return !platform::is_alive(keeper); })) << obstacle;
  }
}

TEST(Loss, X4_KeeperProvesTheExitInSpiteOfWhatStandsInTheWay) {
  for (const std::string obstacle : {"mkdir runtime/$n", "mkfifo runtime/$n", "ln -s nowhere runtime/$n"}) {
    Bench bench;
    bench.make("for n in result.json exit.json .exit.json.keeper; do " + obstacle +
               "; done; while [ ! -e artifacts/end ]; do sleep 0.02; done; exit 6");
    const pid_t runner = bench.start();
    ASSERT_TRUE(eventually([&] { return bench.workload_started(); }));
    const auto workload = bench.workload();
    bench.kill_runner(runner);
    put(bench.dir / "artifacts/end", "");
    ASSERT_TRUE(eventually([&] { return !platform::is_alive(workload.keeper); })) << obstacle;
    ASSERT_EQ(bench.run(), 0);
    EXPECT_EQ(bench.result().exit_code, 6) << obstacle;
  }
}

TEST(Loss, X5_ManifestIsRetriedUntilItCanBeWritten) {
  Bench bench;
  bench.make("while [ ! -e artifacts/end ]; do sleep 0.02; done; exit 0");
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.workload_started(); }));
  const auto in_the_way = bench.dir / "runtime/artifacts.json";
  std::filesystem::create_directory(in_the_way);
  if (mount("tmpfs", in_the_way.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "nothing can be mounted";
  put(bench.dir / "artifacts/end", "");
  const bool waited = eventually([&] { return bench.log().find("artifacts.json has to wait") != std::string::npos; });
  bench.stop("ada");  // too late to mean anything
  EXPECT_EQ(waitpid(runner, nullptr, WNOHANG), 0);
  ASSERT_EQ(umount2(in_the_way.c_str(), MNT_DETACH), 0);
  ASSERT_TRUE(waited);
  ASSERT_EQ(bench.wait(runner), 0);
  EXPECT_FALSE(bench.result().collect_error);
  EXPECT_FALSE(bench.result().stop_requested);
  EXPECT_EQ(Sha256::of(slurp(in_the_way)), bench.result().artifacts);
}

TEST(Loss, X5_FullDiskAtTheEndCostsNoArtifacts) {
  Bench bench;
  std::filesystem::create_directories(bench.dir);
  if (mount("tmpfs", bench.dir.c_str(), "tmpfs", 0, "size=96m") != 0) GTEST_SKIP() << "no file system can be mounted";
  struct Unmount {
    std::filesystem::path path;
    ~Unmount() { umount2(path.c_str(), MNT_DETACH); }
  } const unmount{bench.dir};
  bench.make(
      "echo done >artifacts/model; while [ ! -e artifacts/end ]; do sleep 0.02; done; cat /dev/zero >filler; exit 0");
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.workload_started(); }));
  const auto workload = bench.workload();
  put(bench.dir / "artifacts/end", "");
  ASSERT_TRUE(eventually([&] { return !platform::is_alive(workload.entry); }));
  // The audit, the journal and the manifest are all tried again.
  EXPECT_EQ(*platform::free_bytes(bench.dir), 0);
  EXPECT_EQ(waitpid(runner, nullptr, WNOHANG), 0);
  std::filesystem::remove(bench.dir / "filler");
  ASSERT_EQ(bench.wait(runner), 0);
  EXPECT_FALSE(bench.result().collect_error) << *bench.result().collect_error;
  EXPECT_NE(bench.artifact(bench.artifacts(), "model"), nullptr);
}

// R7: little enough room is left to have ended a workload, and enough for the runner to say so.
TEST(Loss, R7_AFullDiskIsToldApart) {
  Bench bench;
  std::filesystem::create_directories(bench.dir);
  if (mount("tmpfs", bench.dir.c_str(), "tmpfs", 0, "size=96m") != 0) GTEST_SKIP() << "no file system can be mounted";
  struct Unmount {
    std::filesystem::path path;
    ~Unmount() { umount2(path.c_str(), MNT_DETACH); }
  } const unmount{bench.dir};
  bench.make(
      "avail=$(df -k --output=avail . | tail -n 1); head -c $(((avail - 600) * 1024)) /dev/zero >artifacts/filler; "
      "exit 4");
  ASSERT_EQ(bench.run(), 0);
  EXPECT_EQ(bench.result().exit_code, 4);
  EXPECT_TRUE(bench.result().disk_full);
}

}  // namespace
}  // namespace orbit::runner
