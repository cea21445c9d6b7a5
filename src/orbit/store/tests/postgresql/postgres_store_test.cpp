// PostgreSQL under the contract, and what is special to it: it can be away.
#include "orbit/store/postgres_store.hpp"

#include <soci/soci.h>

#include <algorithm>
#include <limits>

#include "orbit/store/copy.hpp"
#include "orbit/store/tests/postgresql/proxy.hpp"
#include "orbit/store/tests/postgresql/server.hpp"
#include "orbit/store/tests/sqlite_backend.hpp"
#include "orbit/store/tests/store_contract.hpp"

namespace orbit::store::testing {
namespace {

PostgresServer& server() {
  static PostgresServer one;
  return one;
}

class PostgresBackend final : public Backend {
 public:
  Result<std::unique_ptr<Store>> open() override { return open_postgres(server().url(database_)); }
  Result<void> raw(const std::string& sql) override {
    try {
      execute(server().url(database_), sql);
      return {};
    } catch (const soci::soci_error& error) {
      return fail(ErrorCode::conflict, error.get_error_message());
    }
  }

 private:
  std::string database_ = server().new_database();
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(PostgreSQL, StoreContract,
                         ::testing::Values(MakeBackend([] { return std::make_unique<PostgresBackend>(); })),
                         [](const auto&) { return std::string("15"); });

namespace {

class Postgres : public ::testing::Test {
 protected:
  using Run = orbit::Run;  // not gtest's

  std::unique_ptr<Store> open(const std::string& url) {
    auto store = open_postgres(url);
    EXPECT_TRUE(store) << store.error().text();
    if (!store) return nullptr;
    epoch_ = (*store)->take_leadership(WallTime{1'700'000'000'000}).value();
    return std::move(*store);
  }
  Batch batch(std::vector<Change> changes) const { return Batch{next_id<BatchId>(), epoch_, std::move(changes), {}}; }

  const std::string database_ = server().new_database();
  const std::string url_ = server().url(database_);
  std::int64_t epoch_ = 0;
};

TEST_F(Postgres, R9_a_restart_of_the_database_costs_nobody_anything) {
  const auto store = open(url_);
  const auto reader = store->reader().value();
  ASSERT_TRUE(store->commit(batch({AddProject{project("p")}})));
  ASSERT_TRUE(reader->project("p").value());
  server().stop();
  server().start();
  const auto after = store->commit(batch({AddProject{project("q")}}));
  EXPECT_TRUE(after) << after.error().text();
  EXPECT_EQ(reader->projects().value().size(), 2U);
}

TEST_F(Postgres, R9_while_it_is_away_everything_is_unavailable_and_afterwards_it_goes_on) {
  const auto store = open(url_);
  const auto reader = store->reader().value();
  ASSERT_TRUE(store->commit(batch({AddProject{project("p")}})));
  server().stop();
  const Batch away = batch({AddProject{project("q")}});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(store->commit(away).error().code, ErrorCode::unavailable);
    EXPECT_EQ(store->committed(away.id).error().code, ErrorCode::unavailable);
    EXPECT_EQ(reader->projects().error().code, ErrorCode::unavailable);
    EXPECT_EQ(open_postgres(url_).error().code, ErrorCode::unavailable);
  }
  server().start();
  EXPECT_FALSE(store->committed(away.id).value());
  EXPECT_TRUE(store->commit(away));
  EXPECT_TRUE(store->committed(away.id).value());
  EXPECT_EQ(reader->projects().value().size(), 2U);
}

TEST_F(Postgres, R9_a_commit_whose_answer_was_lost_can_be_asked_for) {
  Proxy proxy(server().sockets());
  const auto store = open(server().url(database_, proxy.sockets()));
  proxy.lose_answer_of_next_commit();
  const Batch lost = batch({AddProject{project("p")}});
  const auto answer = store->commit(lost);
  ASSERT_TRUE(proxy.lost_one());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::unavailable) << answer.error().text();
  EXPECT_TRUE(store->committed(lost.id).value());
  EXPECT_TRUE(store->commit(batch({AddProject{project("q")}})));
  EXPECT_EQ(store->reader().value()->projects().value().size(), 2U);
}

TEST_F(Postgres, R9_a_connection_that_is_lost_within_a_batch_records_it_once) {
  const auto store = open(url_);
  ASSERT_TRUE(store->commit(batch({AddProject{project("p")}})));
  for (int i = 0; i < 3; ++i) {
    execute(server().url("postgres"),
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + database_ + "'");
    const auto done = store->commit(batch({AddProject{project("p" + std::to_string(i))}}));
    EXPECT_TRUE(done) << done.error().text();
  }
  EXPECT_EQ(store->reader().value()->projects().value().size(), 4U);
}

TEST_F(Postgres, R9_of_two_leaders_the_older_one_records_nothing_more) {
  const auto old = open(url_);
  const Batch late = batch({AddProject{project("late")}});
  const auto young = open(url_);
  EXPECT_TRUE(young->commit(batch({AddProject{project("p")}})));
  const auto refused = old->commit(late);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "leader") << refused.error().text();
}

TEST_F(Postgres, names_are_sorted_by_their_bytes_in_any_locale) {
  const auto store = open(url_);
  std::vector<std::string> names = {"a-b", "a.b", "a_b", "ab", "a0", "b"};
  std::vector<Change> changes;
  for (const std::string& name : names) changes.emplace_back(AddProject{project(name)});
  ASSERT_TRUE(store->commit(batch(std::move(changes))));
  std::sort(names.begin(), names.end());
  std::vector<std::string> found;
  const auto projects = store->reader().value()->projects().value();
  for (const Project& each : projects) found.push_back(each.name);
  EXPECT_EQ(found, names);
}

TEST_F(Postgres, what_cannot_be_used_is_named_without_its_password) {
  for (const char* url : {"", "sqlite:x", "postgresql://a b@/x", "host=x"})
    EXPECT_EQ(open_postgres(url).error().code, ErrorCode::invalid_argument) << url;
  const auto nobody = open_postgres("postgresql://orbit:s3cret@127.0.0.1:1/x");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::unavailable);
  EXPECT_EQ(nobody.error().text().find("s3cret"), std::string::npos) << nobody.error().text();
  const auto missing = open_postgres(server().url("nowhere"));
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find("nowhere"), std::string::npos) << missing.error().text();
}

TEST_F(Postgres, X6_a_copy_to_the_other_kind_and_back_is_the_same_in_every_row) {
  const SqliteBackend first{SqliteBackend::fast_directory()};
  const SqliteBackend last{SqliteBackend::fast_directory()};
  {
    auto store = open_sqlite(first.file()).value();
    epoch_ = store->take_leadership(WallTime{1'700'000'000'000}).value();
    const Run r = run(1, "p", "größe-💡");
    const Attempt a = attempt(1, r);
    std::vector<MetricPoint> points;
    for (const double value : {0.1, -0.0, 1e-320, std::numeric_limits<double>::max(),
                               std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
      points.push_back({"loss", static_cast<std::int64_t>(points.size()), value, WallTime{1}});
    ASSERT_TRUE(store->commit(batch(
        {AddProject{project("p")}, AddRun{r}, AddAttempt{a, r.request, r.bundle}, AddMetrics{a.id, 0, 9, points}})));
  }
  const auto there = copy_database(sqlite_dialect(first.file()).value(), postgres_dialect(url_).value());
  ASSERT_TRUE(there) << there.error().text();
  EXPECT_EQ(there->at("metric").rows, 6);
  const auto back = copy_database(postgres_dialect(url_).value(), sqlite_dialect(last.file()).value());
  ASSERT_TRUE(back) << back.error().text();
  for (const auto& [table, copied] : *there) {
    EXPECT_EQ(back->at(table).rows, copied.rows) << table;
    EXPECT_EQ(back->at(table).digest, copied.digest) << table;
  }
  const auto used = copy_database(sqlite_dialect(first.file()).value(), postgres_dialect(url_).value());
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code, ErrorCode::conflict);

  auto copied = open_sqlite(last.file()).value();
  EXPECT_GT(copied->take_leadership(WallTime{0}).value(), epoch_) << "whoever led the old one leads this one no more";
  EXPECT_EQ(copied->load_live().value().attempts.size(), 1U);
}

TEST_F(Postgres, X6_a_database_of_a_newer_orbit_is_refused) {
  open(url_);
  execute(url_, "INSERT INTO schema_version (version) VALUES (1000)");
  const auto newer = open_postgres(url_);
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, ErrorCode::unsupported) << newer.error().text();
}

}  // namespace
}  // namespace orbit::store::testing
