#include "orbit/store/file_blob_store.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "orbit/platform/files.hpp"

namespace orbit::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t mib = 1U << 20U;

class FileBlobStore : public ::testing::Test {
 protected:
  void SetUp() override { blobs_ = open(); }
  void TearDown() override { platform::set_fault_hook({}); }
  std::unique_ptr<BlobStore> open() {
    auto opened = open_file_blob_store(root());
    EXPECT_TRUE(opened) << opened.error().text();
    return std::move(*opened);
  }
  fs::path root() const { return directory_.path() / "blobs"; }
  fs::path file(const std::string& name, const std::string& content) const {
    std::ofstream(directory_.path() / name, std::ios::binary) << content;
    return directory_.path() / name;
  }
  std::size_t scratch_files() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(root() / "tmp"))
      if (entry.is_regular_file() && entry.path().filename() != "lock") ++count;
    return count;
  }

  platform::TempDirectory directory_ =
      std::move(*platform::TempDirectory::make(fs::temp_directory_path(), "orbit-blob-"));
  std::unique_ptr<BlobStore> blobs_;
};

TEST_F(FileBlobStore, keeps_bytes_under_their_digest) {
  const std::string bytes = std::string("a\0b\xff", 4);
  const Digest digest = Sha256::of(bytes);
  EXPECT_FALSE(blobs_->has(digest));
  const auto missing = blobs_->get(digest, mib);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(blobs_->path(digest).error().code, ErrorCode::not_found);

  ASSERT_TRUE(blobs_->put(digest, bytes));
  ASSERT_TRUE(blobs_->put(digest, bytes)) << "idempotent";
  EXPECT_TRUE(blobs_->has(digest));
  EXPECT_EQ(blobs_->get(digest, mib).value(), bytes);
  EXPECT_EQ(blobs_->path(digest).value(), root() / "sha256" / digest.hex().substr(0, 2) / digest.hex());
  EXPECT_TRUE(open()->has(digest)) << "also for another process";

  ASSERT_TRUE(blobs_->put(Sha256::of(""), ""));
  EXPECT_EQ(blobs_->get(Sha256::of(""), 0).value(), "");
}

TEST_F(FileBlobStore, X1_only_the_owner_sees_them) {
  const mode_t before = ::umask(0);
  const Digest digest = Sha256::of("x");
  ASSERT_TRUE(blobs_->put(digest, "x"));
  const fs::path taken = file("taken", "y");
  fs::permissions(taken, fs::perms::all);
  ASSERT_TRUE(blobs_->put_file(Sha256::of("y"), taken));
  ::umask(before);
  struct stat status{};
  for (const Digest& one : {digest, Sha256::of("y")}) {
    ASSERT_EQ(::stat(blobs_->path(one)->c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0600U);
    ASSERT_EQ(::stat(blobs_->path(one)->parent_path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0700U);
  }
  ASSERT_EQ(::stat(root().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
}

TEST_F(FileBlobStore, R16_bytes_of_another_digest_are_corrupt) {
  const auto wrong = blobs_->put(Sha256::of("x"), "y");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::corrupt);
  const fs::path source = file("source", "y");
  const auto wrong_file = blobs_->put_file(Sha256::of("x"), source);
  ASSERT_FALSE(wrong_file);
  EXPECT_EQ(wrong_file.error().code, ErrorCode::corrupt);
  EXPECT_TRUE(fs::exists(source)) << "not ours, so it stays";
  EXPECT_FALSE(blobs_->has(Sha256::of("x")));
  EXPECT_EQ(scratch_files(), 0U);
  EXPECT_EQ(blobs_->put(Digest{}, "").error().code, ErrorCode::invalid_argument);
}

TEST_F(FileBlobStore, R16_a_byte_changed_on_disk_is_noticed_and_healed_by_the_next_put) {
  const std::string bytes(100'000, 'a');
  const Digest digest = Sha256::of(bytes);
  ASSERT_TRUE(blobs_->put(digest, bytes));
  const fs::path path = *blobs_->path(digest);
  {
    std::fstream stored(path, std::ios::in | std::ios::out | std::ios::binary);
    stored.seekp(50'000);
    stored << 'b';
  }
  const auto read = blobs_->get(digest, mib);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::corrupt);
  EXPECT_EQ(read.error().field, path.string());
  ASSERT_TRUE(blobs_->put(digest, bytes));
  EXPECT_EQ(blobs_->get(digest, mib).value(), bytes);
}

TEST_F(FileBlobStore, a_limit_is_kept) {
  const std::string bytes(1000, 'a');
  ASSERT_TRUE(blobs_->put(Sha256::of(bytes), bytes));
  EXPECT_EQ(blobs_->get(Sha256::of(bytes), 999).error().code, ErrorCode::too_large);
  EXPECT_TRUE(blobs_->get(Sha256::of(bytes), 1000));
}

TEST_F(FileBlobStore, takes_a_file_over_or_copies_it) {
  const fs::path taken = file("taken", "content");
  ASSERT_TRUE(blobs_->put_file(Sha256::of("content"), taken));
  EXPECT_FALSE(fs::exists(taken));
  EXPECT_EQ(blobs_->get(Sha256::of("content"), mib).value(), "content");

  // Through another link somebody could write into the blob later.
  const fs::path linked = file("linked", "shared");
  fs::create_hard_link(linked, directory_.path() / "other");
  ASSERT_TRUE(blobs_->put_file(Sha256::of("shared"), linked));
  EXPECT_TRUE(fs::exists(linked));
  std::ofstream(directory_.path() / "other") << "hacked";
  EXPECT_EQ(blobs_->get(Sha256::of("shared"), mib).value(), "shared");

  const fs::path again = file("again", "shared");
  ASSERT_TRUE(blobs_->put_file(Sha256::of("shared"), again)) << "already there";
}

TEST_F(FileBlobStore, X4_links_and_special_files_are_refused) {
  const fs::path real = file("real", "content");
  fs::create_symlink(real, directory_.path() / "link");
  EXPECT_FALSE(blobs_->put_file(Sha256::of("content"), directory_.path() / "link"));
  ASSERT_EQ(::mkfifo((directory_.path() / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(blobs_->put_file(Sha256::of(""), directory_.path() / "fifo"));
  EXPECT_FALSE(blobs_->put_file(Sha256::of(""), directory_.path()));
  const auto missing = blobs_->put_file(Sha256::of(""), directory_.path() / "missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
}

TEST_F(FileBlobStore, puts_of_one_digest_at_once_are_fine) {
  const std::string bytes(200'000, 'q');
  const Digest digest = Sha256::of(bytes);
  const auto second = open();
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      BlobStore& mine = i % 2 == 0 ? *blobs_ : *second;
      for (int n = 0; n < 5; ++n)
        if (!mine.put(digest, bytes) || mine.get(digest, mib).value_or("") != bytes) ++failures;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(scratch_files(), 0U);
}

TEST_F(FileBlobStore, X5_every_failing_operation_leaves_either_the_blob_or_nothing) {
  for (const bool from_file : {false, true}) {
    int failing = 1;
    for (;; ++failing) {
      ASSERT_LT(failing, 100);
      const std::string bytes = "bytes " + std::to_string(failing) + (from_file ? "f" : "b");
      const Digest digest = Sha256::of(bytes);
      const fs::path source = file("source", bytes);
      int count = 0;
      platform::set_fault_hook([&](std::string_view, const std::string&) { return ++count == failing ? ENOSPC : 0; });
      const auto done = from_file ? blobs_->put_file(digest, source) : blobs_->put(digest, bytes);
      platform::set_fault_hook({});
      EXPECT_EQ(scratch_files(), 0U) << failing;
      EXPECT_EQ(blobs_->get(digest, mib).value_or(bytes), bytes);
      if (count < failing) {
        ASSERT_TRUE(done) << done.error().text();
        break;  // nothing was left to fail
      }
      ASSERT_FALSE(done) << "operation " << failing << " failed unnoticed";
      EXPECT_EQ(done.error().code, ErrorCode::exhausted) << done.error().text();
    }
    EXPECT_GT(failing, 3);
  }
}

TEST_F(FileBlobStore, what_a_dead_process_was_writing_is_removed_and_a_living_ones_is_not) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto mine = open_file_blob_store(root());
    for (const auto& entry : fs::directory_iterator(root() / "tmp")) std::ofstream(entry.path() / "7") << "half";
    ::_exit(mine ? 0 : 1);  // without cleaning up, like a kill
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(scratch_files(), 2U) << "the child's and, as it wrote into all, ours";
  const auto next = open();
  EXPECT_EQ(scratch_files(), 1U);
  EXPECT_TRUE(blobs_->put(Sha256::of("x"), "x")) << "ours still works";
}

}  // namespace
}  // namespace orbit::store
