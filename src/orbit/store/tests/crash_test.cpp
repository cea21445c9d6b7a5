// X5: what was acknowledged survives kill -9 at any moment.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <random>

#include "orbit/store/tests/sqlite_backend.hpp"

namespace orbit::store::testing {
namespace {

// Commits one run after the other, each with an attempt that is then moved, and writes the number of each acknowledged
// one to the pipe.
[[noreturn]] void commit_for_ever(SqliteBackend& backend, int acknowledgements, std::int64_t seq) {
  auto store = backend.open();
  if (!store) ::_exit(2);
  const auto epoch = (*store)->take_leadership(WallTime{1'700'000'000'000});
  if (!epoch) ::_exit(3);
  for (;; ++seq) {
    const Run r = run(seq, "p", "run-" + std::to_string(seq));
    const Attempt a = attempt(seq, r);
    Batch batch{next_id<BatchId>(),
                *epoch,
                {AddRun{r}, AddAttempt{a, {}, {}}, moved(a, AttemptState::queued),
                 AddIntent{intent(a.id, IntentKind::provision)}},
                {event(seq, r.id)}};
    if (const auto done = (*store)->commit(batch); !done) {
      std::cerr << "the child could not commit: " << done.error().text() << "\n";
      ::_exit(4);
    }
    if (::write(acknowledgements, &seq, sizeof seq) != sizeof seq) ::_exit(5);
  }
}

TEST(SqliteCrash, X5_every_acknowledged_batch_survives_kill_9_at_any_moment) {
  SqliteBackend backend;
  {
    auto store = backend.open();
    ASSERT_TRUE(store) << store.error().text();
    const std::int64_t epoch = (*store)->take_leadership(WallTime{1}).value();
    ASSERT_TRUE((*store)->commit(Batch{next_id<BatchId>(), epoch, {AddProject{project("p")}}, {}}));
  }
  std::mt19937 random(20261130);
  std::int64_t acknowledged = 0;
  for (int round = 0; round < 20; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    // The next number the database has not seen: a batch may have taken place although nobody was told.
    const std::int64_t first = [&] {
      auto store = backend.open();
      return (*store)->load_live().value().last_run_seq + 1;
    }();
    // So that ids of this round differ from those that the children before made.
    id_count() += 1'000'000;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(pipe_ends[0]);
      commit_for_ever(backend, pipe_ends[1], first);
    }
    ::close(pipe_ends[1]);
    // Lets it get to work, then kills it at a random point after.
    const auto after = static_cast<std::int64_t>(random() % 12);
    std::int64_t seq = 0;
    for (std::int64_t i = 0; i <= after; ++i) {
      ASSERT_EQ(::read(pipe_ends[0], &seq, sizeof seq), static_cast<ssize_t>(sizeof seq))
          << "the child ended by itself";
      acknowledged = seq;
    }
    ::usleep(static_cast<useconds_t>(random() % 8'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    while (::read(pipe_ends[0], &seq, sizeof seq) == static_cast<ssize_t>(sizeof seq)) acknowledged = seq;
    ::close(pipe_ends[0]);

    auto store = backend.open();
    ASSERT_TRUE(store) << store.error().text();
    const auto live = (*store)->load_live();
    ASSERT_TRUE(live) << live.error().text();
    const std::int64_t last = live->last_run_seq;
    ASSERT_GE(last, acknowledged) << "an acknowledged batch is lost";
    ASSERT_LE(last, acknowledged + 1) << "at most the one in flight took place unheard";
    // Every batch whole: run, attempt moved, intent and event.
    EXPECT_EQ(live->last_attempt_seq, last);
    EXPECT_EQ(live->last_event_seq, last);
    ASSERT_EQ(live->attempts.size(), static_cast<std::size_t>(last));
    ASSERT_EQ(live->intents.size(), static_cast<std::size_t>(last));
    for (std::size_t i = 0; i < live->attempts.size(); ++i) {
      EXPECT_EQ(live->attempts[i].seq, static_cast<std::int64_t>(i + 1));
      EXPECT_EQ(live->attempts[i].state, AttemptState::queued);
    }
  }
  EXPECT_GT(acknowledged, 20);
}

}  // namespace
}  // namespace orbit::store::testing
