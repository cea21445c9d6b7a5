// What is special to SQLite, and SQLite under the contract.
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "orbit/store/reads.hpp"
#include "orbit/store/rows.hpp"
#include "orbit/store/tests/sqlite_backend.hpp"

namespace orbit::store::testing {

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, ::testing::Values(MakeBackend([] {
                           return std::make_unique<SqliteBackend>(SqliteBackend::fast_directory());
                         })),
                         [](const auto&) { return std::string("file"); });

namespace {

namespace fs = std::filesystem;

class Sqlite : public ::testing::Test {
 protected:
  using Run = orbit::Run;  // not gtest's

  std::unique_ptr<Store> open(const OpenOptions& options = {}) {
    auto store = open_sqlite(backend_.file(), options);
    EXPECT_TRUE(store) << store.error().text();
    if (!store) return nullptr;
    epoch_ = (*store)->take_leadership(WallTime{1'700'000'000'000}).value();
    return std::move(*store);
  }
  Batch batch(std::vector<Change> changes) const { return Batch{next_id<BatchId>(), epoch_, std::move(changes), {}}; }

  SqliteBackend backend_{SqliteBackend::fast_directory()};
  std::int64_t epoch_ = 0;
};

TEST_F(Sqlite, the_database_is_its_owners_alone) {
  const auto store = open();
  ASSERT_TRUE(store->commit(batch({AddProject{project("p")}})));
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat status{};
    ASSERT_EQ(::stat((backend_.file().string() + suffix).c_str(), &status), 0) << suffix;
    EXPECT_EQ(status.st_mode & 07777U, 0600U) << suffix;
  }
}

TEST_F(Sqlite, X5_a_full_disk_is_exhausted_and_loses_nothing) {
  auto store = open({.max_pages = 120});
  ASSERT_TRUE(store->commit(batch({AddProject{project("p")}})));
  std::int64_t seq = 0;
  Result<void> done;
  Batch last;
  while (seq < 5'000) {
    ++seq;
    last = batch({AddRun{run(seq, "p", "run-" + std::to_string(seq))}});
    done = store->commit(last);
    if (!done) break;
  }
  ASSERT_FALSE(done) << "the database never became full";
  EXPECT_EQ(done.error().code, ErrorCode::exhausted) << done.error().text();
  EXPECT_NE(done.error().hint.find("free space"), std::string::npos);
  EXPECT_FALSE(store->committed(last.id).value());
  const auto live = store->load_live();
  ASSERT_TRUE(live) << live.error().text();
  EXPECT_EQ(live->last_run_seq, seq - 1) << "what was recorded is readable while the disk is full";
  EXPECT_FALSE(store->commit(last)) << "and it stays full";

  store = open();  // space was freed
  last.leader_epoch = epoch_;
  const auto after = store->commit(last);
  EXPECT_TRUE(after) << after.error().text();
}

TEST_F(Sqlite, a_file_that_is_no_database_is_called_corrupt) {
  std::ofstream(backend_.file()) << std::string(8192, 'x');
  const auto store = open_sqlite(backend_.file());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::corrupt) << store.error().text();
  EXPECT_NE(store.error().text().find(backend_.file().string()), std::string::npos);
  EXPECT_NE(store.error().hint.find("backup"), std::string::npos);
}

TEST_F(Sqlite, a_damaged_database_is_called_corrupt) {
  {
    const auto store = open();
    std::vector<Change> changes = {AddProject{project("p")}};
    for (std::int64_t seq = 1; seq <= 200; ++seq)
      changes.emplace_back(AddRun{run(seq, "p", "run-" + std::to_string(seq))});
    ASSERT_TRUE(store->commit(batch(std::move(changes))));
  }
  {
    // Everything behind the schema's pages is overwritten, as by a bad disk.
    std::fstream file(backend_.file(), std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<std::int64_t>(fs::file_size(backend_.file()));
    file.seekp(16 * 4096);
    file << std::string(static_cast<std::size_t>(size - 16 * 4096), '\x5a');
  }
  const auto store = open_sqlite(backend_.file());
  Result<std::vector<RunView>> runs = std::vector<RunView>{};
  if (store) {
    auto reader = (*store)->reader();
    ASSERT_TRUE(reader);
    runs = (*reader)->runs({}, {});
    ASSERT_FALSE(runs);
    EXPECT_EQ(runs.error().code, ErrorCode::corrupt) << runs.error().text();
  } else {
    EXPECT_EQ(store.error().code, ErrorCode::corrupt) << store.error().text();
  }
}

TEST_F(Sqlite, places_that_cannot_be_are_named) {
  const auto missing = open_sqlite(backend_.file().parent_path() / "nowhere" / "orbit.db");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  const auto folder = open_sqlite(backend_.file().parent_path());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::invalid_argument);
  fs::create_symlink("elsewhere.db", backend_.file());
  const auto link = open_sqlite(backend_.file());
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().code, ErrorCode::invalid_argument);
  const auto quoted = open_sqlite(backend_.file().parent_path() / "a\"b.db");
  ASSERT_FALSE(quoted);
  EXPECT_EQ(quoted.error().code, ErrorCode::unsupported);
}

TEST_F(Sqlite, paths_with_spaces_equal_signs_and_other_scripts_work) {
  const fs::path folder = backend_.file().parent_path() / "my data = 数据 ' ; %";
  fs::create_directory(folder);
  const auto store = open_sqlite(folder / "orbit.db");
  ASSERT_TRUE(store) << store.error().text();
  EXPECT_TRUE(fs::exists(folder / "orbit.db-wal"));
}

TEST_F(Sqlite, a_lock_held_by_another_process_is_unavailable) {
  const auto store = open({.max_pages = {}, .busy_timeout_ms = 10});
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(backend_.file().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const Batch waiting = batch({AddProject{project("p")}});
  const auto done = store->commit(waiting);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::unavailable) << done.error().text();
  EXPECT_EQ(store->committed(waiting.id).error().code, ErrorCode::unavailable) << "whoever writes may be writing this";
  ASSERT_EQ(sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  EXPECT_FALSE(store->committed(waiting.id).value());
  EXPECT_TRUE(store->commit(waiting));
}

TEST_F(Sqlite, reads_leave_no_statement_open_that_would_pin_the_log) {
  const auto store = open();
  const Run r = run(1, "p", "one");
  const Attempt a = attempt(1, r);
  ASSERT_TRUE(store->commit(batch({AddProject{project("p")}, AddRun{r}, AddAttempt{a, {}, {}}, AddToken{token("t")}})));
  const auto reader = std::move(*store->reader());
  ASSERT_TRUE(reader->project("p").value());
  ASSERT_TRUE(reader->run(r.id).value());
  ASSERT_EQ(reader->runs({}, {.before_seq = 0, .limit = 1}).value().size(), 1U);
  ASSERT_TRUE(reader->attempt(a.id).value());
  ASSERT_EQ(reader->metrics_offset(a.id).value(), 0);
  ASSERT_EQ(reader->tokens().value().size(), 1U);
  ASSERT_TRUE(store->load_live());
  ASSERT_FALSE(store->committed(next_id<BatchId>()).value());

  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(backend_.file().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "SELECT COUNT(*) FROM project", nullptr, nullptr, nullptr), SQLITE_OK);
  int in_log = -1;
  int moved_pages = -1;
  // TRUNCATE succeeds only if nobody reads from the log.
  EXPECT_EQ(sqlite3_wal_checkpoint_v2(other, nullptr, SQLITE_CHECKPOINT_TRUNCATE, &in_log, &moved_pages), SQLITE_OK);
  EXPECT_EQ(in_log, 0);
  sqlite3_close(other);
}

TEST_F(Sqlite, readers_cannot_write_and_do_not_checkpoint_when_they_go) {
  auto store = open();
  ASSERT_TRUE(store->commit(batch({AddProject{project("p")}})));
  auto reader = std::move(*store->reader());
  ASSERT_TRUE(reader->project("p").value());
  const auto log = fs::path(backend_.file().string() + "-wal");
  const auto size = fs::file_size(log);
  ASSERT_GT(size, 0U);
  reader.reset();
  EXPECT_EQ(fs::file_size(log), size);
  store.reset();
  EXPECT_FALSE(fs::exists(log)) << "the writer's end moves everything into the database";
}

TEST_F(Sqlite, pages_of_runs_are_found_along_an_index_whatever_the_filter) {
  const auto store = open();
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(backend_.file().c_str(), &connection), SQLITE_OK);
  for (unsigned bits = 0; bits < 64; ++bits) {
    RunFilter filter;
    if ((bits & 1U) != 0) filter.project = "p";
    if ((bits & 2U) != 0) filter.experiment = "e";
    if ((bits & 4U) != 0) filter.tag = "t";
    if ((bits & 8U) != 0) filter.state = (bits & 32U) != 0 ? AttemptState::failed : AttemptState::running;
    if ((bits & 16U) != 0) filter.created_by = "ann";
    const std::string sql = "EXPLAIN QUERY PLAN " + runs_page_sql(filter, run_columns);
    sqlite3_stmt* statement = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(connection, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(connection);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      const std::string step = reinterpret_cast<const char*>(sqlite3_column_text(statement, 3));
      EXPECT_EQ(step.find("SCAN"), std::string::npos) << sql << "\n" << step;
      EXPECT_EQ(step.find("TEMP B-TREE"), std::string::npos) << sql << "\n" << step;
    }
    sqlite3_finalize(statement);
  }
  sqlite3_close(connection);
}

TEST_F(Sqlite, one_writer_and_readers_of_their_own_threads) {
  const auto store = open();
  ASSERT_TRUE(store->commit(batch({AddProject{project("p")}})));
  std::atomic<bool> stop{false};
  std::atomic<int> torn{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      auto reader = store->reader();
      if (!reader) {
        ++torn;
        return;
      }
      while (!stop) {
        const auto runs = (*reader)->runs({}, {.before_seq = 0, .limit = 5});
        if (!runs) ++torn;
        if (runs)
          for (const RunView& view : *runs)
            if (view.attempts.size() != 1) ++torn;  // run and attempt come in one batch
      }
    });
  for (std::int64_t seq = 1; seq <= 60; ++seq) {
    const Run r = run(seq, "p", "run-" + std::to_string(seq));
    const Attempt a = attempt(seq, r);
    EXPECT_TRUE(store->commit(batch({AddRun{r}, AddAttempt{a, {}, {}}})));
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace orbit::store::testing
