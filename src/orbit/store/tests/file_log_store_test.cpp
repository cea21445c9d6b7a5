#include "orbit/store/file_log_store.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <vector>

#include "orbit/platform/files.hpp"
#include "orbit/store/tests/records.hpp"

namespace orbit::store {
namespace {

namespace fs = std::filesystem;
using testing::next_id;

constexpr std::size_t mib = 1U << 20U;

class FileLogStore : public ::testing::Test {
 protected:
  void SetUp() override { logs_ = open(); }
  void TearDown() override { platform::set_fault_hook({}); }
  std::unique_ptr<LogStore> open(std::size_t max_open_files = 64) const {
    return std::move(*open_file_log_store(root(), {.max_open_files = max_open_files}));
  }
  fs::path root() const { return directory_.path() / "logs"; }
  static std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++count;
    return count;
  }

  platform::TempDirectory directory_ =
      std::move(*platform::TempDirectory::make(fs::temp_directory_path(), "orbit-log-"));
  std::unique_ptr<LogStore> logs_;
  AttemptId attempt_ = next_id<AttemptId>();
};

TEST_F(FileLogStore, R12_any_bytes_come_back_by_offset) {
  std::string bytes;
  for (int i = 0; i < 1024; ++i) bytes += static_cast<char>(i);
  bytes += std::string(mib, 'l') + "\r\n";
  EXPECT_EQ(logs_->size(attempt_, Stream::stdout_).value(), 0);
  EXPECT_EQ(logs_->read(attempt_, Stream::stdout_, 0, 10).value(), "") << "a stream that has not begun";
  ASSERT_TRUE(logs_->append(attempt_, Stream::stdout_, 0, bytes));
  EXPECT_EQ(logs_->size(attempt_, Stream::stdout_).value(), static_cast<std::int64_t>(bytes.size()));
  EXPECT_EQ(logs_->read(attempt_, Stream::stdout_, 0, 2 * mib).value(), bytes);
  EXPECT_EQ(logs_->read(attempt_, Stream::stdout_, 255, 3).value(), bytes.substr(255, 3));
  EXPECT_EQ(logs_->read(attempt_, Stream::stdout_, static_cast<std::int64_t>(bytes.size()), 3).value(), "");
  EXPECT_EQ(logs_->read(attempt_, Stream::stdout_, 1 << 30, 3).value(), "");
  EXPECT_EQ(logs_->size(attempt_, Stream::stderr_).value(), 0) << "streams are apart";

  ASSERT_TRUE(logs_->sync(attempt_));
  logs_ = open();
  EXPECT_EQ(logs_->read(attempt_, Stream::stdout_, 0, 2 * mib).value(), bytes);
  ASSERT_TRUE(logs_->append(attempt_, Stream::stdout_, static_cast<std::int64_t>(bytes.size()), "more"));
}

TEST_F(FileLogStore, R12_a_repeated_delivery_changes_nothing) {
  ASSERT_TRUE(logs_->append(attempt_, Stream::stdout_, 0, "hello"));
  ASSERT_TRUE(logs_->append(attempt_, Stream::stdout_, 0, "hello"));
  ASSERT_TRUE(logs_->append(attempt_, Stream::stdout_, 2, "ll"));
  ASSERT_TRUE(logs_->append(attempt_, Stream::stdout_, 3, "lo world"));
  ASSERT_TRUE(logs_->append(attempt_, Stream::stdout_, 11, ""));
  EXPECT_EQ(logs_->read(attempt_, Stream::stdout_, 0, 100).value(), "hello world");
}

TEST_F(FileLogStore, R12_gaps_and_other_bytes_are_conflicts) {
  ASSERT_TRUE(logs_->append(attempt_, Stream::stdout_, 0, "hello"));
  const auto gap = logs_->append(attempt_, Stream::stdout_, 6, "x");
  ASSERT_FALSE(gap);
  EXPECT_EQ(gap.error().code, ErrorCode::conflict);
  EXPECT_NE(gap.error().message.find("5 bytes"), std::string::npos);
  for (const auto& [offset, bytes] : std::map<std::int64_t, std::string>{{0, "hullo and more"}, {4, "O"}}) {
    const auto other = logs_->append(attempt_, Stream::stdout_, offset, bytes);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::conflict);
  }
  EXPECT_EQ(logs_->append(attempt_, Stream::stdout_, -1, "x").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(logs_->read(attempt_, Stream::stdout_, -1, 1).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(logs_->append({}, Stream::stdout_, 0, "x").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(logs_->read(attempt_, Stream::stdout_, 0, 100).value(), "hello");
}

TEST_F(FileLogStore, X1_only_the_owner_sees_them) {
  const mode_t before = ::umask(0);
  ASSERT_TRUE(logs_->append(attempt_, Stream::execution, 0, "x"));
  ::umask(before);
  struct stat status{};
  ASSERT_EQ(::stat((root() / attempt_.str() / "execution.log").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  ASSERT_EQ(::stat((root() / attempt_.str()).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
}

TEST_F(FileLogStore, X4_a_link_in_place_of_a_log_is_not_followed) {
  fs::create_directories(root() / attempt_.str());
  fs::create_symlink(directory_.path() / "victim", root() / attempt_.str() / "stdout.log");
  EXPECT_FALSE(logs_->append(attempt_, Stream::stdout_, 0, "x"));
  EXPECT_FALSE(fs::exists(directory_.path() / "victim"));
}

TEST_F(FileLogStore, few_descriptors_serve_many_attempts) {
  logs_ = open(4);
  const std::size_t before = open_descriptors();
  std::vector<AttemptId> attempts;
  for (int i = 0; i < 50; ++i) attempts.push_back(next_id<AttemptId>());
  for (int round = 0; round < 3; ++round)
    for (const AttemptId& attempt : attempts) {
      ASSERT_TRUE(logs_->append(attempt, Stream::stdout_, round * 4, "line"));
      EXPECT_LE(open_descriptors(), before + 4);
    }
  for (const AttemptId& attempt : attempts) {
    ASSERT_TRUE(logs_->sync(attempt));
    EXPECT_EQ(logs_->read(attempt, Stream::stdout_, 0, 100).value(), "linelineline");
  }
}

TEST_F(FileLogStore, X5_a_full_disk_in_the_middle_of_an_append_leaves_the_stream_where_it_was) {
  ASSERT_TRUE(logs_->append(attempt_, Stream::stdout_, 0, std::string(1000, 'a')));
  // A size limit stands for a full disk: the first part fits, the rest does not (EFBIG instead of SIGXFSZ).
  struct rlimit unlimited{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit small = unlimited;
  small.rlim_cur = 1500;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto full = logs_->append(attempt_, Stream::stdout_, 1000, std::string(1000, 'b'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  ::signal(SIGXFSZ, handler);
  ASSERT_FALSE(full);
  EXPECT_EQ(logs_->size(attempt_, Stream::stdout_).value(), 1000);
  EXPECT_EQ(logs_->read(attempt_, Stream::stdout_, 0, 5000).value(), std::string(1000, 'a'));
  ASSERT_TRUE(logs_->append(attempt_, Stream::stdout_, 1000, "b")) << "and it goes on when there is space";
  EXPECT_EQ(logs_->size(attempt_, Stream::stdout_).value(), 1001);
}

TEST_F(FileLogStore, X5_bytes_whose_sync_failed_are_asked_for_again) {
  ASSERT_TRUE(logs_->append(attempt_, Stream::stdout_, 0, "safe"));
  ASSERT_TRUE(logs_->sync(attempt_));
  ASSERT_TRUE(logs_->append(attempt_, Stream::stdout_, 4, "lost"));
  platform::set_fault_hook(
      [](std::string_view operation, const std::string&) { return operation == "fsync" ? EIO : 0; });
  const auto failed = logs_->sync(attempt_);
  platform::set_fault_hook({});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::io);
  // A second sync of the same pages would succeed without writing them: they must not count as there.
  EXPECT_EQ(logs_->size(attempt_, Stream::stdout_).value(), 4);
  ASSERT_TRUE(logs_->append(attempt_, Stream::stdout_, 4, "lost"));
  ASSERT_TRUE(logs_->sync(attempt_));
  EXPECT_EQ(logs_->read(attempt_, Stream::stdout_, 0, 100).value(), "safelost");
}

TEST_F(FileLogStore, streams_of_many_threads_do_not_mix) {
  logs_ = open(3);
  constexpr int threads = 6;
  std::atomic<int> failures{0};
  std::vector<AttemptId> attempts;
  for (int i = 0; i < threads; ++i) attempts.push_back(next_id<AttemptId>());
  std::vector<std::thread> writers;
  for (int t = 0; t < threads; ++t)
    writers.emplace_back([&, t] {
      const std::string line(10, static_cast<char>('a' + t));
      for (int i = 0; i < 100; ++i) {
        if (!logs_->append(attempts[static_cast<std::size_t>(t)], Stream::stdout_, i * 10, line)) ++failures;
        if (i % 25 == 0 && !logs_->sync(attempts[static_cast<std::size_t>(t)])) ++failures;
        // Somebody else's stream, repeated: the same bytes or none.
        const AttemptId& other = attempts[static_cast<std::size_t>((t + 1) % threads)];
        const auto seen = logs_->read(other, Stream::stdout_, 0, mib);
        if (!seen || seen->find_first_not_of(static_cast<char>('a' + (t + 1) % threads)) != std::string::npos)
          ++failures;
      }
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(failures, 0);
  for (int t = 0; t < threads; ++t)
    EXPECT_EQ(logs_->read(attempts[static_cast<std::size_t>(t)], Stream::stdout_, 0, mib).value(),
              std::string(1000, static_cast<char>('a' + t)));
}

RC_GTEST_PROP(FileLogStoreProperty, R12_any_order_of_deliveries_gives_the_stream_or_a_conflict, ()) {
  const auto parent = ::access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path();
  const auto directory = std::move(*platform::TempDirectory::make(parent, "orbit-log-"));
  auto logs = std::move(*open_file_log_store(directory.path(), {.max_open_files = 1}));
  const auto attempt = next_id<AttemptId>();
  const auto stream = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  std::size_t known = 0;
  for (int i = 0; i < 20; ++i) {
    const auto offset = *rc::gen::inRange<std::size_t>(0, stream.size() + 1);
    const auto length = *rc::gen::inRange<std::size_t>(0, stream.size() - offset + 1);
    const auto done =
        logs->append(attempt, Stream::stdout_, static_cast<std::int64_t>(offset), stream.substr(offset, length));
    RC_ASSERT(done.has_value() == (offset <= known));
    if (done) known = std::max(known, offset + length);
    if (i % 7 == 0) logs = std::move(*open_file_log_store(directory.path(), {.max_open_files = 1}));
    RC_ASSERT(logs->size(attempt, Stream::stdout_).value() == static_cast<std::int64_t>(known));
    RC_ASSERT(logs->read(attempt, Stream::stdout_, 0, mib).value() == stream.substr(0, known));
  }
}

}  // namespace
}  // namespace orbit::store
