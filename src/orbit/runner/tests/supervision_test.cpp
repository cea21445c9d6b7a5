#include <sys/mount.h>

#include "bench.hpp"

namespace orbit::runner {
namespace {

using test::Bench;
using test::eventually;
using test::put;
using test::slurp;

TEST(Supervision, R10_StopEndsAnEntryThatIgnoresSigterm) {
  Bench bench;
  bench.order.stop_grace_s = 1;
  bench.make("trap '' TERM; touch artifacts/ready; while :; do sleep 0.05; done");
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.has("artifacts/ready"); }));
  bench.stop("ada");
  ASSERT_EQ(bench.wait(runner), 0);
  const auto result = bench.result();
  EXPECT_TRUE(result.stop_requested);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_EQ(bench.find(JournalKind::stop_requested)->detail, "ada");
  std::vector<std::int32_t> signals;
  for (const auto& record : bench.journal())
    if (record.kind == JournalKind::signalled) signals.push_back(*record.signal);
  EXPECT_EQ(signals, (std::vector<std::int32_t>{SIGTERM, SIGKILL}));
  EXPECT_EQ(bench.living(), 0U);
}

TEST(Supervision, R10_StopLetsAnEntryFinishWithinItsGrace) {
  Bench bench;
  bench.make("trap 'echo saved; exit 3' TERM; touch artifacts/ready; while :; do sleep 0.05; done");
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.has("artifacts/ready"); }));
  bench.stop("ada");
  ASSERT_EQ(bench.wait(runner), 0);
  EXPECT_EQ(bench.result().exit_code, 3);
  EXPECT_TRUE(bench.result().stop_requested);
  EXPECT_EQ(slurp(bench.dir / "artifacts/stdout"), "saved\n");
}

TEST(Supervision, R10_StopBeforeTheStartStartsNothing) {
  Bench bench;
  bench.make("touch artifacts/ran");
  bench.stop("ada");
  ASSERT_EQ(bench.run(), 0);
  EXPECT_TRUE(bench.result().stop_requested);
  EXPECT_FALSE(bench.result().workload_started);
  EXPECT_FALSE(bench.has("artifacts/ran"));
}

TEST(Supervision, R7_TimeLimit) {
  Bench bench;
  bench.order.resources.time_limit_s = 1;
  bench.make("exec sleep 1000");
  ASSERT_EQ(bench.run(), 0);
  const auto result = bench.result();
  EXPECT_TRUE(result.timed_out);
  EXPECT_FALSE(result.stop_requested);
  EXPECT_EQ(result.signal, SIGTERM);
  EXPECT_EQ(bench.find(JournalKind::stop_requested)->reason, Reason::timeout);
}

// Double fork, a session of its own, all descriptors closed, SIGTERM ignored.
constexpr const char* daemonising =
    "import os, signal, sys, time\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() == 0:\n"
    "        os.closerange(0, 1024)\n"
    "        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "        open('artifacts/daemon', 'w').write(str(os.getpid()))\n"
    "        os.rename('artifacts/daemon', 'artifacts/daemon.pid')\n"
    "        if len(sys.argv) > 1: os.execve('/bin/sleep', ['sleep', '1000'], {})\n"
    "        time.sleep(1000)\n"
    "    os._exit(0)\n"
    "while not os.path.exists('artifacts/daemon.pid'): time.sleep(0.01)\n";

class Daemonising : public testing::TestWithParam<bool> {};

TEST_P(Daemonising, R10_LeavesNoOrphan) {
  Bench bench;
  bench.order.stop_grace_s = 1;
  bench.code = {{"inputs/daemon.py", daemonising}};
  // With an argument it also throws its environment away, and with it the mark.
  bench.make(std::string("exec /usr/bin/python3 inputs/daemon.py") + (GetParam() ? " bare" : ""));
  ASSERT_EQ(bench.run(), 0);
  EXPECT_EQ(bench.result().exit_code, 0);
  const pid_t daemon = std::stoi(slurp(bench.dir / "artifacts/daemon.pid"));
  EXPECT_TRUE(kill(daemon, 0) != 0) << "the daemon lives on";
  const auto leftovers = bench.find(JournalKind::leftovers_ended);
  ASSERT_TRUE(leftovers);
  EXPECT_EQ(leftovers->detail, "1 process outlived the entry");
  EXPECT_EQ(bench.living(), 0U);
}
INSTANTIATE_TEST_SUITE_P(WithAndWithoutMark, Daemonising, testing::Bool());

TEST(Supervision, R12_HelperThatFinishesInAMomentLosesNothing) {
  Bench bench;
  bench.make(
      "mkfifo artifacts/pipe; (sleep 0.05; cat) <artifacts/pipe & exec >artifacts/pipe; echo last words; rm "
      "artifacts/pipe");
  ASSERT_EQ(bench.run(), 0);
  EXPECT_EQ(slurp(bench.dir / "artifacts/stdout"), "last words\n");
  EXPECT_EQ(bench.count(JournalKind::signalled), 0);
  EXPECT_EQ(bench.count(JournalKind::leftovers_ended), 0);
}

TEST(Supervision, R10_SecondRunnerExitsAtOnce) {
  Bench bench;
  bench.make("echo x >>artifacts/count; while [ ! -e artifacts/end ]; do sleep 0.02; done");
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.workload_started(); }));
  EXPECT_EQ(bench.run(), 0);
  EXPECT_FALSE(bench.has("runtime/result.json"));
  put(bench.dir / "artifacts/end", "");
  EXPECT_EQ(bench.wait(runner), 0);
  EXPECT_EQ(slurp(bench.dir / "artifacts/count"), "x\n");
  EXPECT_EQ(bench.count(JournalKind::workload_started), 1);
}

TEST(Supervision, R9_ManyStartsAtOnceStartOneWorkload) {
  Bench bench;
  bench.make("echo x >>artifacts/count");
  std::vector<pid_t> runners;
  for (int i = 0; i < 8; ++i) runners.push_back(bench.start());
  for (const pid_t runner : runners) EXPECT_EQ(bench.wait(runner), 0);
  EXPECT_EQ(bench.result().exit_code, 0);
  EXPECT_EQ(slurp(bench.dir / "artifacts/count"), "x\n");
}

TEST(Supervision, R10_KilledRunnerIsAdoptedWhileTheWorkloadLives) {
  Bench bench;
  bench.make("echo x >>artifacts/count; while [ ! -e artifacts/end ]; do sleep 0.02; done; exit 5");
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.workload_started(); }));
  bench.kill_runner(runner);
  const auto workload = bench.workload();
  EXPECT_TRUE(platform::is_alive(workload.entry));

  const pid_t second = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.count(JournalKind::runner_started) == 2; }));
  put(bench.dir / "artifacts/end", "");
  ASSERT_EQ(bench.wait(second), 0);
  EXPECT_EQ(bench.result().exit_code, 5);
  EXPECT_EQ(slurp(bench.dir / "artifacts/count"), "x\n");
  EXPECT_EQ(bench.count(JournalKind::workload_started), 1);
}

TEST(Supervision, R10_ExitIsProvenThoughNoRunnerLived) {
  for (const auto& [script, exit_code, signal] :
       std::vector<std::tuple<std::string, std::optional<std::int32_t>, std::optional<std::int32_t>>>{
           {"exit 0", 0, {}}, {"exit 9", 9, {}}, {"kill -ABRT $$", {}, SIGABRT}}) {
    Bench bench;
    bench.make("while [ ! -e artifacts/end ]; do sleep 0.02; done; " + script);
    const pid_t runner = bench.start();
    ASSERT_TRUE(eventually([&] { return bench.workload_started(); }));
    bench.kill_runner(runner);
    put(bench.dir / "artifacts/end", "");
    ASSERT_TRUE(eventually([&] { return bench.has("runtime/exit.json"); }));
    ASSERT_EQ(bench.run(), 0);
    EXPECT_TRUE(bench.result().workload_started);
    EXPECT_EQ(bench.result().exit_code, exit_code) << script;
    EXPECT_EQ(bench.result().signal, signal) << script;
  }
}

TEST(Supervision, R10_RunnerAndKeeperKilledIsNeverAGuess) {
  Bench bench;
  bench.make("while [ ! -e artifacts/end ]; do sleep 0.02; done");
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.workload_started(); }));
  const auto workload = bench.workload();
  bench.kill_runner(runner);
  ASSERT_EQ(kill(workload.keeper.pid, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return !platform::is_alive(workload.keeper); }));
  EXPECT_TRUE(platform::is_alive(workload.entry));  // the workload lives on

  const pid_t second = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.count(JournalKind::runner_started) == 2; }));
  EXPECT_FALSE(bench.has("runtime/result.json"));
  put(bench.dir / "artifacts/end", "");
  ASSERT_EQ(bench.wait(second), 0);
  const auto result = bench.result();
  EXPECT_TRUE(result.workload_started);
  EXPECT_FALSE(result.exit_code);
  EXPECT_FALSE(result.signal);
  EXPECT_NE(result.detail.find("cannot be known"), std::string::npos);
}

TEST(Supervision, R10_KeeperKilledAloneStillProvesTheExit) {
  Bench bench;
  bench.make("while [ ! -e artifacts/end ]; do sleep 0.02; done; exit 4");
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.workload_started(); }));
  const auto workload = bench.workload();
  ASSERT_EQ(kill(workload.keeper.pid, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return !platform::is_alive(workload.keeper); }));
  put(bench.dir / "artifacts/end", "");
  ASSERT_EQ(bench.wait(runner), 0);
  EXPECT_EQ(bench.result().exit_code, 4);
}

TEST(Supervision, R10_AdopterCarriesOutAStopAskedForBeforeTheRunnerDied) {
  Bench bench;
  bench.order.stop_grace_s = 60;
  bench.make(
      "trap '' TERM; touch artifacts/ready; while [ ! -e artifacts/untrap ]; do sleep 0.02; done; trap - TERM; while "
      ":; do sleep 0.02; done");
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.has("artifacts/ready"); }));
  bench.stop("ada");
  ASSERT_TRUE(eventually([&] { return bench.count(JournalKind::signalled) == 1; }));
  bench.kill_runner(runner);
  std::filesystem::remove(bench.dir / "runtime/stop.json");  // the journal alone must do
  put(bench.dir / "artifacts/untrap", "");
  ASSERT_TRUE(platform::is_alive(bench.workload().entry));
  const pid_t second = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.count(JournalKind::signalled) >= 2; }));
  // It may have had its trap still when the second SIGTERM came.
  ASSERT_TRUE(eventually([&] {
    const auto entry = bench.workload().entry;
    if (platform::is_alive(entry)) kill(entry.pid, SIGTERM);
    return !platform::is_alive(entry);
  }));
  ASSERT_EQ(bench.wait(second), 0);
  EXPECT_TRUE(bench.result().stop_requested);
  EXPECT_EQ(bench.result().signal, SIGTERM);
}

TEST(Supervision, R10_ForeignProcessWithTheWorkloadsPidIsNotTouched) {
  Bench bench;
  bench.make("true");
  // The journal of a runner whose workload had the pid that this test has now, with another start time.
  const auto self = *platform::identify(getpid());
  auto before = self;
  before.start_ticks -= 1;
  std::string journal;
  std::int64_t seq = 0;
  for (const auto kind : {JournalKind::runner_started, JournalKind::precheck_passed, JournalKind::workload_launching,
                          JournalKind::workload_started}) {
    JournalRecord record;
    record.seq = ++seq;
    record.kind = kind;
    if (kind == JournalKind::runner_started || kind == JournalKind::workload_started) record.process = before;
    journal += json::encode(record) + "\n";
  }
  put(bench.dir / "runtime/journal.jsonl", journal);
  bench.stop("ada");
  ASSERT_EQ(bench.run(), 0);
  EXPECT_FALSE(bench.result().exit_code);
  EXPECT_FALSE(bench.result().signal);
  EXPECT_TRUE(bench.result().workload_started);
}

JournalRecord past(std::int64_t seq, JournalKind kind) {
  JournalRecord record;
  record.seq = seq;
  record.kind = kind;
  return record;
}

TEST(Supervision, R9_IntentWithoutStartIsLaunchedOnceWhenProvenNeverStarted) {
  Bench bench;
  bench.make("echo x >>artifacts/count");
  auto started = past(1, JournalKind::runner_started);
  started.process = ProcessIdentity{1, 1, *platform::boot_id()};
  put(bench.dir / "runtime/journal.jsonl", json::encode(started) + "\n" +
                                               json::encode(past(2, JournalKind::precheck_passed)) + "\n" +
                                               json::encode(past(3, JournalKind::workload_launching)) + "\n");
  ASSERT_EQ(bench.run(), 0);
  EXPECT_EQ(bench.result().exit_code, 0);
  EXPECT_EQ(slurp(bench.dir / "artifacts/count"), "x\n");
}

TEST(Supervision, R9_IntentBeforeARebootIsNeverStartedAgain) {
  Bench bench;
  bench.make("echo x >>artifacts/count");
  auto started = past(1, JournalKind::runner_started);
  started.process = ProcessIdentity{1, 1, "00000000-0000-0000-0000-000000000000"};
  put(bench.dir / "runtime/journal.jsonl", json::encode(started) + "\n" +
                                               json::encode(past(2, JournalKind::precheck_passed)) + "\n" +
                                               json::encode(past(3, JournalKind::workload_launching)) + "\n");
  ASSERT_EQ(bench.run(), 0);
  EXPECT_TRUE(bench.result().workload_started);
  EXPECT_FALSE(bench.result().exit_code);
  EXPECT_FALSE(bench.result().signal);
  EXPECT_FALSE(bench.has("artifacts/count"));
}

TEST(Supervision, R10_RunnerKilledAnywhereStartsTheWorkloadOnce) {
  // Killed after a different number of journal records each time, then carried to the end.
  for (std::size_t records = 0; records <= 6; ++records) {
    Bench bench;
    bench.make("echo x >>artifacts/count; exit 6");
    const pid_t runner = bench.start();
    ASSERT_TRUE(eventually([&] { return bench.journal().size() >= records || bench.has("runtime/result.json"); }));
    kill(runner, SIGKILL);
    bench.wait(runner);
    ASSERT_EQ(bench.run(), 0);
    EXPECT_EQ(slurp(bench.dir / "artifacts/count"), "x\n") << records << "\n" << bench.log();
    const auto result = bench.result();
    EXPECT_TRUE(result.workload_started);
    EXPECT_EQ(result.exit_code, 6) << records << "\n" << bench.log();
  }
}

TEST(Supervision, R10_SigtermLeavesAndTheWorkloadLivesOn) {
  Bench bench;
  bench.make("while [ ! -e artifacts/end ]; do sleep 0.02; done; exit 8");
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.workload_started(); }));
  kill(runner, SIGTERM);
  EXPECT_EQ(bench.wait(runner), 1);
  EXPECT_TRUE(platform::is_alive(bench.workload().entry));
  put(bench.dir / "artifacts/end", "");
  EXPECT_EQ(bench.run(), 0);
  EXPECT_EQ(bench.result().exit_code, 8);
}

TEST(Supervision, R10_KillingTheRunnersGroupSparesKeeperAndWorkload) {
  Bench bench;
  bench.make("while [ ! -e artifacts/end ]; do sleep 0.02; done");
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.workload_started(); }));
  ASSERT_EQ(kill(-runner, SIGKILL), 0);
  bench.wait(runner);
  const auto workload = bench.workload();
  EXPECT_TRUE(platform::is_alive(workload.keeper));
  EXPECT_TRUE(platform::is_alive(workload.entry));
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGUSR1}) kill(workload.keeper.pid, signal);
  EXPECT_TRUE(platform::is_alive(workload.keeper));
  put(bench.dir / "artifacts/end", "");
  EXPECT_EQ(bench.run(), 0);
  EXPECT_EQ(bench.result().exit_code, 0);
}

TEST(Supervision, X5_ResultIsRetriedUntilItCanBeWritten) {
  Bench bench;
  bench.make("while [ ! -e artifacts/end ]; do sleep 0.02; done; exit 2");
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.workload_started(); }));
  // A mount in its place: it can neither be replaced nor removed, as on a broken file system.
  const auto in_the_way = bench.dir / "runtime/result.json";
  std::filesystem::create_directory(in_the_way);
  if (mount("tmpfs", in_the_way.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "nothing can be mounted";
  put(bench.dir / "artifacts/end", "");
  ASSERT_TRUE(eventually([&] { return bench.count(JournalKind::collected) == 1; }));
  EXPECT_EQ(waitpid(runner, nullptr, WNOHANG), 0);
  ASSERT_EQ(umount2(in_the_way.c_str(), MNT_DETACH), 0);
  ASSERT_EQ(bench.wait(runner), 0);
  EXPECT_EQ(bench.result().exit_code, 2);
}

constexpr uid_t nobody = 65534;

class Unprivileged : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  }
};

TEST_F(Unprivileged, R10_DaemonIsEndedWithoutACgroup) {
  for (const std::string argument : {"", " bare"}) {
    Bench bench;
    bench.order.stop_grace_s = 1;
    bench.code = {{"inputs/daemon.py", daemonising}};
    bench.make("exec /usr/bin/python3 inputs/daemon.py" + argument);
    bench.give_to(nobody);
    ASSERT_EQ(bench.run(), 0);
    EXPECT_EQ(bench.result().exit_code, 0) << bench.log();
    EXPECT_EQ(bench.workload().cgroup, "");
    EXPECT_NE(kill(std::stoi(slurp(bench.dir / "artifacts/daemon.pid")), 0), 0) << "the daemon lives on" << argument;
    EXPECT_EQ(bench.find(JournalKind::leftovers_ended)->detail, "1 process outlived the entry");
  }
}

TEST_F(Unprivileged, R10_AdopterEndsADaemonThatThrewItsMarkAwayAsLongAsTheKeeperLives) {
  Bench bench;
  bench.order.stop_grace_s = 1;
  bench.code = {{"inputs/daemon.py", daemonising}};
  bench.make("/usr/bin/python3 inputs/daemon.py bare; while [ ! -e artifacts/end ]; do sleep 0.02; done; exit 3");
  bench.give_to(nobody);
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.has("artifacts/daemon.pid") && bench.workload_started(); }));
  bench.kill_runner(runner);
  put(bench.dir / "artifacts/end", "");
  ASSERT_EQ(bench.run(), 0);
  EXPECT_EQ(bench.result().exit_code, 3);
  EXPECT_NE(kill(std::stoi(slurp(bench.dir / "artifacts/daemon.pid")), 0), 0) << "the daemon lives on";
}

TEST(Supervision, X5_FullDiskLosesNoEnd) {
  Bench bench;
  std::filesystem::create_directories(bench.dir);
  if (mount("tmpfs", bench.dir.c_str(), "tmpfs", 0, "size=96m") != 0) GTEST_SKIP() << "no file system can be mounted";
  struct Unmount {
    std::filesystem::path path;
    ~Unmount() { umount2(path.c_str(), MNT_DETACH); }
  } const unmount{bench.dir};
  bench.make("cat /dev/zero >artifacts/big; exit 4");
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.workload_started(); }));
  const auto workload = bench.workload();
  ASSERT_TRUE(eventually([&] { return !platform::is_alive(workload.entry); }));
  EXPECT_EQ(*platform::free_bytes(bench.dir), 0);
  EXPECT_EQ(waitpid(runner, nullptr, WNOHANG), 0);
  std::filesystem::remove(bench.dir / "artifacts/big");
  ASSERT_EQ(bench.wait(runner), 0);
  EXPECT_EQ(bench.result().exit_code, 4);
  EXPECT_EQ(bench.count(JournalKind::workload_ended), 1);
}

}  // namespace
}  // namespace orbit::runner
