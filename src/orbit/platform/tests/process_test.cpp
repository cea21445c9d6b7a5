#include "orbit/platform/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <functional>
#include <sstream>

#include "orbit/platform/system.hpp"

namespace orbit::platform {
namespace {

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

bool eventually(const std::function<bool()>& holds) {
  for (int i = 0; i < 4000; ++i) {
    if (holds()) return true;
    const timespec pause{0, 5'000'000};
    nanosleep(&pause, nullptr);
  }
  return false;
}

AttemptId an_attempt() {
  SystemRng rng;
  return make_id<AttemptId>(rng, SystemClock().now().wall);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

SpawnRequest shell(const std::string& script) {
  SpawnRequest request;
  request.argv = {"/bin/sh", "-c", script};
  request.directory = "/";
  request.environment = {{"PATH", "/usr/bin:/bin"}};
  return request;
}

class Spawn : public testing::Test {
 protected:
  TempDirectory temp_ = *TempDirectory::make("/tmp", "orbit-process-");
  const fs::path& dir = temp_.path();
};

TEST(Identity, R10_TellsAProcessFromALaterOneWithItsPid) {
  const auto self = identify(getpid());
  ASSERT_TRUE(self);
  EXPECT_TRUE(is_alive(*self));
  auto other = *self;
  ++other.start_ticks;
  EXPECT_FALSE(is_alive(other));
  other = *self;
  other.boot_id = "another";
  EXPECT_FALSE(is_alive(other));
  EXPECT_FALSE(open_pidfd(other));
  for (const pid_t pid : {0, -1, 4'194'305}) EXPECT_EQ(identify(pid).error().code, ErrorCode::not_found);
}

TEST(Identity, R10_ZombieCountsAsNone) {
  const pid_t child = fork();
  if (child == 0) pause();
  const auto identity = identify(child);
  ASSERT_TRUE(identity);
  kill(child, SIGKILL);
  ASSERT_TRUE(eventually([&] { return process_stat(child)->dead(); }));
  EXPECT_FALSE(is_alive(*identity));
  EXPECT_EQ(identify(child).error().code, ErrorCode::not_found);
  EXPECT_EQ(open_pidfd(*identity).error().code, ErrorCode::not_found);
  wait_for(child);
}

TEST(Identity, X4_NameOfAProcessCannotConfuseItsStat) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_NAME, ") Z 1 1 (");
    pause();
  }
  ASSERT_TRUE(eventually([&] { return slurp(fmt::format("/proc/{}/comm", child)) == ") Z 1 1 (\n"; }));
  const auto stat = process_stat(child);
  ASSERT_TRUE(stat);
  EXPECT_FALSE(stat->dead());
  EXPECT_EQ(stat->parent, getpid());
  EXPECT_GT(stat->rss_bytes, 0);
  kill(child, SIGKILL);
  wait_for(child);
}

TEST(Identity, StartTimeIsOnTheBootClock) {
  const auto started = started_at(*identify(getpid()));
  const auto now = SystemClock().now().mono;
  EXPECT_LE(started.ms, now.ms + 10);
  EXPECT_GT(started.ms, 0);
}

TEST(Identity, PidfdIsReadableWhenTheProcessEnds) {
  const pid_t child = fork();
  if (child == 0) pause();
  const auto fd = open_pidfd(*identify(child));
  ASSERT_TRUE(fd);
  pollfd poll_for{fd->get(), POLLIN, 0};
  EXPECT_EQ(poll(&poll_for, 1, 0), 0);
  kill(child, SIGKILL);
  EXPECT_EQ(poll(&poll_for, 1, 10'000), 1);
  wait_for(child);
}

TEST_F(Spawn, R15_InheritsNothing) {
  const Fd leak(open((dir / "leak").c_str(), O_RDWR | O_CREAT, 0600));  // not close-on-exec
  const Fd out(open((dir / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  signal(SIGPIPE, SIG_IGN);
  const mode_t mask = umask(077);
  SpawnRequest request = shell(
      "env; umask; grep -E 'SigBlk|SigIgn' /proc/self/status; ls -l /proc/self/fd; pwd; cut -d' ' -f6 /proc/$$/stat; "
      "echo $$; cat");
  request.environment["KEY"] = "value with\nnewline";
  request.directory = dir;
  request.stdout_fd = out.get();
  request.stderr_fd = out.get();
  const auto pid = spawn(request);
  umask(mask);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(pid) << pid.error().text();
  EXPECT_EQ(wait_for(*pid), 0);
  const std::string text = slurp(dir / "out");
  EXPECT_NE(text.find("KEY=value with\nnewline\n"), std::string::npos);
  EXPECT_EQ(text.find("HOME="), std::string::npos);
  EXPECT_NE(text.find("\n0022\n"), std::string::npos) << text;
  EXPECT_NE(text.find("SigBlk:\t0000000000000000"), std::string::npos) << text;
  EXPECT_NE(text.find("SigIgn:\t0000000000000000"), std::string::npos) << text;
  EXPECT_EQ(text.find("leak"), std::string::npos) << text;
  EXPECT_NE(text.find(fmt::format("\n{0}\n{0}\n", *pid)), std::string::npos) << "session of its own\n" << text;
}

TEST_F(Spawn, StandardDescriptorsInAnyOrder) {
  // The caller's 0, 1 and 2 exchanged: each must end where it was asked to.
  const Fd a(open((dir / "a").c_str(), O_RDWR | O_CREAT, 0600));
  const Fd b(open((dir / "b").c_str(), O_RDWR | O_CREAT, 0600));
  const pid_t child = fork();
  if (child == 0) {
    dup2(a.get(), 2);
    dup2(b.get(), 1);
    SpawnRequest request = shell("echo out; echo err >&2");
    request.stdout_fd = 2;
    request.stderr_fd = 1;
    const auto pid = spawn(request);
    _exit(pid ? WEXITSTATUS(wait_for(*pid)) : 9);
  }
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(slurp(dir / "a"), "out\n");
  EXPECT_EQ(slurp(dir / "b"), "err\n");
}

TEST_F(Spawn, FailedExecIsAnError) {
  SpawnRequest request;
  request.directory = "/";
  request.argv = {(dir / "none").string()};
  EXPECT_EQ(spawn(request).error().code, ErrorCode::not_found);
  EXPECT_EQ(spawn_detached(request).error().code, ErrorCode::not_found);
  std::ofstream(dir / "plain") << "#!/bin/sh\n";
  request.argv = {(dir / "plain").string()};
  const auto refused = spawn(request);
  EXPECT_EQ(refused.error().code, ErrorCode::refused);
  EXPECT_EQ(refused.error().field, (dir / "plain").string());
  request = shell("true");
  request.directory = dir / "no directory";
  EXPECT_EQ(spawn(request).error().code, ErrorCode::not_found);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no child is left behind";
}

TEST_F(Spawn, R10_DetachedIsNotOurChildAndOutlivesItsStarter) {
  const pid_t starter = fork();
  if (starter == 0) {
    setsid();
    SpawnRequest request = shell("while [ ! -e end ]; do sleep 0.02; done; echo done >ended");
    request.directory = dir;
    const auto identity = spawn_detached(request);
    if (identity) {
      std::ofstream(dir / "tmp") << identity->pid << " " << identity->start_ticks;
      fs::rename(dir / "tmp", dir / "identity");
    }
    pause();
  }
  ASSERT_TRUE(eventually([&] { return fs::exists(dir / "identity"); }));
  ProcessIdentity identity;
  std::istringstream(slurp(dir / "identity")) >> identity.pid >> identity.start_ticks;
  identity.boot_id = *boot_id();
  EXPECT_NE(process_stat(identity.pid)->parent, starter);
  kill(-starter, SIGKILL);
  wait_for(starter);
  EXPECT_TRUE(is_alive(identity));
  std::ofstream(dir / "end") << "";
  EXPECT_TRUE(eventually([&] { return fs::exists(dir / "ended"); }));
  EXPECT_TRUE(eventually([&] { return !is_alive(identity); }));
}

TEST_F(Spawn, R10_DetachedThatEndsAtOnceStillHasAnIdentity) {
  for (int i = 0; i < 20; ++i) {
    SpawnRequest request;
    request.argv = {"/bin/true"};
    request.directory = "/";
    const auto identity = spawn_detached(request);
    ASSERT_TRUE(identity) << identity.error().text();
    EXPECT_GT(identity->pid, 0);
    EXPECT_GT(identity->start_ticks, 0);
  }
}

// The same promises with and without a cgroup.
class Tree : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (GetParam() && !tree_.has_cgroup()) GTEST_SKIP() << "no cgroup may be made here";
  }
  void TearDown() override {
    [[maybe_unused]] const auto killed = tree_.kill_all({getpid()});
    tree_.remove();
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  pid_t start(const std::string& script, bool with_mark) {
    SpawnRequest request = shell(script);
    request.directory = temp_.path();
    if (with_mark) request.environment[attempt_mark] = attempt_.str();
    request.cgroup_procs_fd = tree_.cgroup_procs_fd();
    const auto pid = spawn(request);
    EXPECT_TRUE(pid);
    return pid ? *pid : -1;
  }
  bool ready(const std::string& name) {
    return eventually([&] { return fs::exists(temp_.path() / name); });
  }

  TempDirectory temp_ = *TempDirectory::make("/tmp", "orbit-tree-");
  AttemptId attempt_ = an_attempt();
  ProcessTree tree_ = GetParam() ? ProcessTree::for_attempt(attempt_) : ProcessTree::without_cgroup(attempt_);
};

TEST_P(Tree, R10_FindsAndEndsWhatDaemonised) {
  // setsid + double fork + SIGTERM ignored; the mark alone leads there without a cgroup.
  const pid_t pid = start("trap '' TERM; (setsid sh -c 'touch ready; while :; do sleep 1; done' &) ; exit 0", true);
  ASSERT_TRUE(ready("ready"));
  wait_for(pid);
  EXPECT_FALSE(tree_.members({}).empty());
  EXPECT_GE(tree_.signal_all(SIGTERM, {}), 1);
  const auto killed = tree_.kill_all({});
  ASSERT_TRUE(killed) << killed.error().text();
  EXPECT_GE(*killed, 1);
  EXPECT_TRUE(tree_.members({}).empty());
}

TEST_P(Tree, R10_FindsDescendantsWithoutTheMark) {
  tree_.set_roots({*identify(getpid())});
  const pid_t pid = start("(env -i setsid sh -c 'touch ready; exec sleep 1000' &) ; exit 0", false);
  ASSERT_TRUE(ready("ready"));
  wait_for(pid);
  EXPECT_EQ(tree_.members({}).size(), 1U);
  EXPECT_EQ(*tree_.kill_all({}), 1);
}

TEST_P(Tree, R10_SparesTheExceptedAndStrangers) {
  const pid_t kept = start("exec sleep 1000", true);
  ProcessTree other = ProcessTree::without_cgroup(an_attempt());
  EXPECT_TRUE(other.members({}).empty());
  EXPECT_TRUE(tree_.members({kept}).empty());
  EXPECT_EQ(tree_.signal_all(SIGKILL, {kept}), 0);
  EXPECT_TRUE(identify(kept));
  EXPECT_EQ(*tree_.kill_all({}), 1);
  wait_for(kept);
}

TEST_P(Tree, R10_EndsAForkBomb) {
  // Each member forks again as fast as it can, within a bound that cannot hurt the machine.
  start("bomb() { [ $1 -gt 0 ] && { bomb $(($1-1)) & bomb $(($1-1)) & }; touch ready; sleep 1000; }; bomb 4", true);
  ASSERT_TRUE(ready("ready"));
  const auto killed = tree_.kill_all({});
  ASSERT_TRUE(killed) << killed.error().text();
  EXPECT_TRUE(tree_.members({}).empty());
}

TEST_P(Tree, R10_AnAdopterFindsTheSameTree) {
  start("touch ready; exec sleep 1000", true);
  ASSERT_TRUE(ready("ready"));
  const ProcessTree again = ProcessTree::for_attempt(attempt_, tree_.cgroup());
  if (GetParam()) {
    EXPECT_EQ(again.cgroup(), tree_.cgroup());
  }
  EXPECT_EQ(again.members({}).size(), 1U);
  tree_ = ProcessTree::for_attempt(attempt_);  // so that a cgroup made just now is removed
}

INSTANTIATE_TEST_SUITE_P(Cgroup, Tree, testing::Bool(),
                         [](const auto& with) { return with.param ? "WithCgroup" : "WithoutCgroup"; });

TEST(System, ClocksAndRandomness) {
  const SystemClock clock;
  const Now first = clock.now();
  const Now second = clock.now();
  EXPECT_GE(second.mono, first.mono);
  EXPECT_GT(first.wall.ms, 1'700'000'000'000);
  SystemRng rng;
  std::array<std::uint8_t, 32> a{}, b{};
  rng.fill(a);
  rng.fill(b);
  EXPECT_NE(a, b);
  EXPECT_TRUE(fs::exists(own_program()));
}

}  // namespace
}  // namespace orbit::platform
