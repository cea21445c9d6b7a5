// What every store must do, whatever database it stands on. A database is put under the contract by
//   INSTANTIATE_TEST_SUITE_P(Name, StoreContract, ::testing::Values(make_backend_of_that_database));
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orbit/ports/store.hpp"
#include "orbit/store/tests/records.hpp"

namespace orbit::store::testing {

// One fresh, empty database.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual Result<std::unique_ptr<Store>> open() = 0;
  // A statement past the store, as a person with a database tool would give it.
  virtual Result<void> raw(const std::string& sql) = 0;
};
using MakeBackend = std::function<std::unique_ptr<Backend>()>;

class StoreContract : public ::testing::TestWithParam<MakeBackend> {
 protected:
  using Run = orbit::Run;  // not gtest's
  void SetUp() override {
    backend_ = GetParam()();
    open();
  }
  void open() {
    store_.reset();
    reader_.reset();
    auto store = backend_->open();
    ASSERT_TRUE(store) << store.error().text();
    store_ = std::move(*store);
    auto epoch = store_->take_leadership(WallTime{1'700'000'000'000});
    ASSERT_TRUE(epoch) << epoch.error().text();
    epoch_ = *epoch;
    auto reader = store_->reader();
    ASSERT_TRUE(reader) << reader.error().text();
    reader_ = std::move(*reader);
  }

  Batch batch(std::vector<Change> changes, std::vector<Event> events = {}) const {
    return Batch{next_id<BatchId>(), epoch_, std::move(changes), std::move(events)};
  }
  Result<void> commit(std::vector<Change> changes, std::vector<Event> events = {}) {
    return store_->commit(batch(std::move(changes), std::move(events)));
  }
  void must_commit(std::vector<Change> changes, std::vector<Event> events = {}) {
    const auto done = commit(std::move(changes), std::move(events));
    ASSERT_TRUE(done) << done.error().text();
  }
  // The batch is refused as a conflict whose message holds `words`.
  void refused(std::vector<Change> changes, const std::string& words) {
    const auto done = commit(std::move(changes));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::conflict) << done.error().text();
    EXPECT_NE(done.error().message.find(words), std::string::npos) << done.error().text();
  }
  // Project p with one run and its first attempt.
  std::pair<Run, Attempt> begin_run(const std::string& name = "one") {
    const std::int64_t seq = ++seq_;
    Run r = run(seq, "p", name);
    Attempt a = attempt(seq, r);
    std::vector<Change> changes;
    if (seq == 1) changes.emplace_back(AddProject{project("p")});
    changes.emplace_back(AddRun{r});
    changes.emplace_back(AddAttempt{a, r.request, r.bundle});
    must_commit(std::move(changes));
    return {std::move(r), std::move(a)};
  }

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreReader> reader_;
  std::int64_t epoch_ = 0;
  std::int64_t seq_ = 0;
};

// Records have no operator==: their JSON has every member.
template <class T>
std::string json_of(const T& value) {
  return json::encode(value);
}

}  // namespace orbit::store::testing
