#include "orbit/store/sql_store.hpp"

#include <fmt/format.h>

#include <mutex>

#include "orbit/store/changes.hpp"
#include "orbit/store/explain.hpp"
#include "orbit/store/reads.hpp"
#include "orbit/store/schema.hpp"
#include "orbit/store/sql.hpp"

namespace orbit::store {
namespace {

// How many commits can still be asked for with committed(): far more than are in flight at any time.
constexpr std::int64_t batches_kept = 10'000;
constexpr std::int64_t batches_between_prunes = 1'000;

// Counting the batch in the leader's row makes the check of the epoch a write: of two servers that commit at once one
// waits for the other, on every database.
constexpr Statement count_batch{"UPDATE leader SET batches = batches + 1 WHERE id = 1 AND epoch = :epoch", "i"};
constexpr Statement batches_now{"SELECT batches FROM leader WHERE id = 1", "", "i"};
constexpr Statement epoch_now{"SELECT epoch FROM leader WHERE id = 1", "", "i"};
constexpr Statement raise_epoch{"UPDATE leader SET epoch = epoch + :by WHERE id = 1", "i"};
constexpr Statement insert_batch{"INSERT INTO batch (id, number) VALUES (:id, :number) ON CONFLICT DO NOTHING", "ti"};
constexpr Statement prune_batches{"DELETE FROM batch WHERE number <= :number", "i"};
constexpr Statement find_batch{"SELECT number FROM batch WHERE id = :id", "t", "i"};

class SqlStore final : public Store {
 public:
  explicit SqlStore(std::shared_ptr<const Dialect> dialect)
      : dialect_(dialect), sql_(std::move(dialect), Access::write) {
    migrate(sql_);
  }

  Result<std::int64_t> take_leadership(WallTime now) override {
    const std::lock_guard lock(mutex_);
    return guard_again(sql_, [&] {
      Sql::Transaction transaction(sql_, Sql::Transaction::Kind::write);
      run(raise_epoch, {1});  // first, so that the row is ours when it is read
      std::int64_t epoch = stored_epoch();
      // At least the time, so that a server on a restored, older database still outranks whoever led before.
      const std::int64_t unix_s = now.ms / 1000;
      if (unix_s > epoch) {
        run(raise_epoch, {unix_s - epoch});
        epoch = unix_s;
      }
      transaction.commit();
      return epoch;
    });
  }

  Result<LiveState> load_live() override {
    const std::lock_guard lock(mutex_);
    return guard_again(sql_, [&] { return read_live(sql_); });
  }

  Result<void> commit(const Batch& batch) override {
    const std::lock_guard lock(mutex_);
    bool committing = false;
    const auto record = [&] {
      if (batch.id.empty()) throw SqlError(ErrorCode::invalid_argument, "a batch has no id", "batch.id");
      BatchRules::check(batch.changes, batch.events);
      Sql::Transaction transaction(sql_, Sql::Transaction::Kind::write);
      admit(batch);
      BatchWriter writer(sql_);
      writer.apply(batch.changes);
      writer.append(batch.events);
      committing = true;
      transaction.commit();
    };
    auto done = guard(record);
    // Before the commit was sent a lost connection has recorded nothing.
    if (!done && !committing && sql_.lost()) done = guard(record);
    if (done) return done;
    sql_.discard_pending();
    Error error = std::move(done).error();
    if (committing && error.code != ErrorCode::exhausted && error.code != ErrorCode::conflict)
      return fail(ErrorCode::unavailable, "whether the batch was recorded is not known yet: " + error.text());
    if (error.code == ErrorCode::conflict && error.field.empty()) {
      auto named = guard([&] { return explain(sql_, batch.changes); });
      if (named && *named) return fail(std::move(**named));
    }
    return fail(std::move(error));
  }

  Result<bool> committed(const BatchId& id) override {
    const std::lock_guard lock(mutex_);
    return guard_again(sql_, [&] {
      // Behind whoever writes: a COMMIT whose connection was cut may still be under way, and its row not to be seen
      // yet.
      Sql::Transaction transaction(sql_, Sql::Transaction::Kind::write);
      return sql_.query(find_batch).integer({id}).has_value();
    });
  }

  Result<std::unique_ptr<StoreReader>> reader() override {
    return guard([&] { return make_reader(dialect_); });
  }

 private:
  std::int64_t run(const Statement& statement, std::initializer_list<Arg> row) {
    Bulk& bulk = sql_.bulk(statement);
    bulk.add(row);
    return bulk.run();
  }
  std::int64_t stored_epoch() {
    const auto epoch = sql_.query(epoch_now).integer({});
    if (!epoch) throw SqlError(ErrorCode::corrupt, "the database has lost its leader row");
    return *epoch;
  }

  // Refuses outdated leaders and repeated batches; records the batch.
  void admit(const Batch& batch) {
    if (run(count_batch, {batch.leader_epoch}) == 0)
      throw SqlError(ErrorCode::conflict,
                     fmt::format("outdated leader: the commit carries epoch {}, the database is led by epoch {}",
                                 batch.leader_epoch, stored_epoch()),
                     "leader", "another server took over; this one must stop");
    const std::int64_t number = sql_.query(batches_now).integer({}).value_or(0);
    if (run(insert_batch, {batch.id, number}) == 0)
      throw SqlError(ErrorCode::conflict, fmt::format("batch {} is recorded already", batch.id.str()), "batch.id");
    if (number % batches_between_prunes == 0) run(prune_batches, {number - batches_kept});
  }

  std::shared_ptr<const Dialect> dialect_;
  std::mutex mutex_;
  Sql sql_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_sql_store(std::shared_ptr<const Dialect> dialect) {
  return guard([&]() -> std::unique_ptr<Store> { return std::make_unique<SqlStore>(std::move(dialect)); });
}

}  // namespace orbit::store
