#include "orbit/platform/files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

namespace orbit::platform {
namespace {

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDirectory::make(fs::temp_directory_path(), "orbit-files-");
    ASSERT_TRUE(made) << made.error().text();
    temp_.emplace(std::move(*made));
  }
  void TearDown() override { set_fault_hook({}); }
  fs::path at(const std::string& name) const { return temp_->path() / name; }
  void put(const std::string& name, std::string_view bytes) const {
    fs::create_directories(at(name).parent_path());
    std::ofstream(at(name), std::ios::binary) << bytes;
  }
  std::string get(const std::string& name) const { return read_file(at(name), 1 << 30).value_or("<unreadable>"); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(temp_->path()), fs::directory_iterator()));
  }
  static mode_t mode_of(const fs::path& path) {
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
  }

  std::optional<TempDirectory> temp_;
};

std::string big_text(std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; out.size() < bytes; ++i) out += std::to_string(i * 2654435761U);
  out.resize(bytes);
  return out;
}

TEST_F(Files, WriteReplacesWholeAndSetsTheModeWhateverTheUmask) {
  const mode_t old = ::umask(0077);
  ASSERT_TRUE(write_file_durably(at("a"), "one", 0644));
  ASSERT_TRUE(write_file_durably(at("a"), "two", 0755));
  ASSERT_TRUE(write_file(at("b"), "", 0666));
  ::umask(old);
  EXPECT_EQ(get("a"), "two");
  EXPECT_EQ(get("b"), "");
  EXPECT_EQ(mode_of(at("a")), 0755U);
  EXPECT_EQ(mode_of(at("b")), 0666U);
  EXPECT_EQ(entries(), 2U);
}

TEST_F(Files, WriteNamesTheFileThatCannotBeWritten) {
  const auto done = write_file_durably(at("missing/a"), "x", 0644);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::not_found);
  EXPECT_NE(done.error().text().find("missing"), std::string::npos);
}

// X5: whichever operation fails, the old content or the new stands there, and nothing else lies about.
TEST_F(Files, X5EveryFailingOperationLeavesOldOrNew) {
  ASSERT_TRUE(write_file_durably(at("a"), "old", 0644));
  int failed = 0;
  for (int nth = 1;; ++nth) {
    int count = 0;
    set_fault_hook([&](std::string_view, const std::string&) { return ++count == nth ? ENOSPC : 0; });
    const auto done = write_file_durably(at("a"), "new", 0644);
    set_fault_hook({});
    EXPECT_EQ(entries(), 1U);
    if (done) break;
    ++failed;
    EXPECT_EQ(done.error().code, ErrorCode::exhausted);
    EXPECT_TRUE(get("a") == "old" || get("a") == "new") << get("a");
    ASSERT_LT(nth, 20);
  }
  EXPECT_EQ(failed, 5);  // open, write, fsync, rename, fsync of the directory
  EXPECT_EQ(get("a"), "new");
}

// X5: a real limit of the system in the middle of a write.
TEST_F(Files, X5FileSizeLimitIsAnErrorAndLeavesTheOldFile) {
  ASSERT_TRUE(write_file_durably(at("a"), "old", 0644));
  put("big", big_text(300'000));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto wrote = write_file_durably(at("a"), std::string(200'000, 'x'), 0644);
    const auto copied = copy_file(at("big"), at("copy"), 0644);
    ::_exit(!wrote && !copied && wrote.error().code == ErrorCode::io && copied.error().code == ErrorCode::io ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(get("a"), "old");
  EXPECT_EQ(entries(), 2U);  // a and big: no temp file, no half copy
}

TEST_F(Files, ReadFileKeepsToItsLimit) {
  put("a", "12345");
  EXPECT_EQ(read_file(at("a"), 5).value(), "12345");
  const auto over = read_file(at("a"), 4);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::too_large);
  EXPECT_EQ(read_file(at("none"), 5).error().code, ErrorCode::not_found);
  EXPECT_FALSE(read_file(temp_->path(), 5));
  // Files whose size is said to be 0.
  EXPECT_FALSE(read_file("/proc/self/stat", 100'000).value().empty());
}

TEST_F(Files, ReadAtGivesARangeAndNothingPastTheEnd) {
  put("log", "0123456789");
  EXPECT_EQ(read_at(at("log"), 0, 4).value(), "0123");
  EXPECT_EQ(read_at(at("log"), 8, 100).value(), "89");
  EXPECT_EQ(read_at(at("log"), 10, 100).value(), "");
  EXPECT_EQ(read_at(at("log"), 1'000'000, 100).value(), "");
  EXPECT_EQ(read_at(at("log"), 3, 0).value(), "");
  EXPECT_EQ(read_at(at("log"), -1, 4).error().code, ErrorCode::invalid_argument);
}

// A FIFO without a writer must not hang anybody; sockets and devices are no files either.
TEST_F(Files, X4OnlyRegularFilesAreOpened) {
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0644), 0);
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  at("socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  fs::create_directory(at("directory"));
  for (const std::string name : {"fifo", "socket", "directory"}) {
    EXPECT_EQ(open_beneath(temp_->path(), name).error().code, ErrorCode::refused) << name;
    EXPECT_EQ(digest_of_file(at(name)).error().code, ErrorCode::refused) << name;
    EXPECT_EQ(read_at(at(name), 0, 10).error().code, ErrorCode::refused) << name;
    EXPECT_FALSE(copy_file(at(name), at("copy"), 0644)) << name;
  }
  EXPECT_EQ(open_beneath("/dev", "null").error().code, ErrorCode::refused);
}

class Beneath : public Files, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    Files::SetUp();
    // Second round: as on a kernel that does not know openat2.
    if (!GetParam())
      set_fault_hook(
          [](std::string_view operation, const std::string&) { return operation == "openat2" ? ENOSYS : 0; });
    put("root/dir/file", "inside");
    put("secret", "outside");
    fs::create_symlink("../secret", at("root/out"));
    fs::create_symlink(at("secret"), at("root/absolute"));
    fs::create_symlink("dir", at("root/linked_dir"));
    fs::create_symlink("file", at("root/dir/link"));
    fs::create_symlink("loop", at("root/loop"));
    fs::create_directory_symlink("..", at("root/dir/up"));
  }
};
INSTANTIATE_TEST_SUITE_P(OpenAt2AndWalk, Beneath, ::testing::Bool());

TEST_P(Beneath, X4ReadsInsideAndNeverOutside) {
  const fs::path root = at("root");
  EXPECT_EQ(read_beneath(root, "dir/file", 0, 100).value(), "inside");
  EXPECT_EQ(read_beneath(root, "dir/file", 2, 2).value(), "si");
  for (const std::string path :
       {"out", "absolute", "linked_dir/file", "dir/link", "loop", "dir/up/secret", "dir/up/dir/file"})
    EXPECT_EQ(read_beneath(root, path, 0, 100).error().code, ErrorCode::refused) << path;
  for (const std::string path : {"", "/", "/etc/passwd", "..", "../secret", "dir/../../secret", "dir/../dir/file",
                                 "./dir/file", "dir//file", "dir/file/", "dir/."})
    EXPECT_EQ(read_beneath(root, path, 0, 100).error().code, ErrorCode::invalid_argument) << path;
  EXPECT_EQ(read_beneath(root, std::string("dir/file\0x", 10), 0, 100).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(read_beneath(root, "dir/none", 0, 100).error().code, ErrorCode::not_found);
  EXPECT_EQ(read_beneath(root, "dir/file/below", 0, 100).error().code, ErrorCode::not_found);
  EXPECT_FALSE(read_beneath(root, "dir", 0, 100));
  EXPECT_EQ(read_beneath(at("no_root"), "dir/file", 0, 100).error().code, ErrorCode::not_found);
}

// X4: a workload that swaps a file for a link while we look gains nothing.
TEST_P(Beneath, X4SwappingAFileForALinkNeverShowsTheOutside) {
  std::atomic<bool> stop{false};
  std::thread swapper([&] {
    put("root/other", "inside");
    while (!stop) {
      fs::create_symlink("../secret", at("root/swap_link"));
      fs::rename(at("root/swap_link"), at("root/swapped"));
      fs::copy_file(at("root/other"), at("root/swap_file"));
      fs::rename(at("root/swap_file"), at("root/swapped"));
    }
  });
  // Until both have been met often: how the two threads interleave is the machine's affair.
  int read = 0;
  int refused = 0;
  for (int i = 0; i < 5'000'000 && (i < 3000 || read < 100 || refused < 100); ++i) {
    const auto bytes = read_beneath(at("root"), "swapped", 0, 100);
    if (!bytes) {
      refused += bytes.error().code == ErrorCode::refused ? 1 : 0;
      continue;
    }
    ++read;
    EXPECT_EQ(*bytes, "inside");
  }
  stop = true;
  swapper.join();
  EXPECT_GE(read, 100);
  EXPECT_GE(refused, 100);
}

TEST_F(Files, DigestIsOfTheWholeFileFromItsBeginning) {
  const std::string text = big_text(1'000'001);
  put("a", text);
  EXPECT_EQ(digest_of_file(at("a")).value(), Sha256::of(text));
  const Fd fd(::open(at("a").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::lseek(fd.get(), 500, SEEK_SET), 500);
  EXPECT_EQ(digest_of_fd(fd.get()).value(), Sha256::of(text));
  put("empty", "");
  EXPECT_EQ(digest_of_file(at("empty")).value(), Sha256::of(""));
  fs::create_symlink("a", at("link"));
  EXPECT_EQ(digest_of_file(at("link")).error().code, ErrorCode::refused);
  EXPECT_EQ(digest_of_file(at("none")).error().code, ErrorCode::not_found);
}

TEST_F(Files, CopyIsIndependentAndNeverReplaces) {
  const std::string text = big_text(700'000);
  put("a", text);
  const mode_t old = ::umask(0077);
  ASSERT_TRUE(copy_file(at("a"), at("b"), 0755));
  ::umask(old);
  EXPECT_EQ(get("b"), text);
  EXPECT_EQ(mode_of(at("b")), 0755U);
  EXPECT_EQ(fs::hard_link_count(at("a")), 1U);
  put("a", "changed");
  EXPECT_EQ(get("b"), text);
  EXPECT_EQ(copy_file(at("a"), at("b"), 0644).error().code, ErrorCode::conflict);
  EXPECT_EQ(get("b"), text);
  fs::create_symlink("a", at("link"));
  EXPECT_EQ(copy_file(at("link"), at("c"), 0644).error().code, ErrorCode::refused);
  fs::create_symlink("nowhere", at("dangling"));
  EXPECT_FALSE(copy_file(at("a"), at("dangling"), 0644));
  EXPECT_FALSE(fs::exists(at("nowhere")));
  // A file that is said to be empty and is not.
  ASSERT_TRUE(copy_file("/proc/self/status", at("status"), 0644));
  EXPECT_FALSE(get("status").empty());
}

TEST_F(Files, DirectoriesGetTheirModeWhateverTheUmask) {
  const mode_t old = ::umask(0077);
  ASSERT_TRUE(make_directories(at("x/y/z"), 0755));
  ::umask(old);
  EXPECT_EQ(mode_of(at("x")), 0755U);
  EXPECT_EQ(mode_of(at("x/y/z")), 0755U);
  ASSERT_TRUE(make_directories(at("x/y/private"), 0700));
  EXPECT_EQ(mode_of(at("x/y")), 0755U);  // what was there stays as it was
  EXPECT_EQ(mode_of(at("x/y/private")), 0700U);
  ASSERT_TRUE(make_directories(at("x/y/z")));
  put("file", "");
  EXPECT_EQ(make_directories(at("file/below")).error().code, ErrorCode::conflict);
  EXPECT_FALSE(make_directories(""));
}

TEST_F(Files, RemoveTreeFollowsNoLinkAndSaysNothingOfWhatIsMissing) {
  put("outside/kept", "kept");
  put("tree/a/b/c", "x");
  fs::create_symlink("../outside", at("tree/out"));
  fs::create_symlink("nowhere", at("tree/a/dangling"));
  ASSERT_EQ(::mkfifo(at("tree/fifo").c_str(), 0644), 0);
  fs::permissions(at("tree/a/b"), fs::perms::none);
  ASSERT_TRUE(remove_tree(at("tree")));
  EXPECT_FALSE(fs::exists(at("tree")));
  EXPECT_EQ(get("outside/kept"), "kept");
  ASSERT_TRUE(remove_tree(at("tree")));
  fs::create_symlink("outside", at("link"));
  ASSERT_TRUE(remove_tree(at("link")));
  EXPECT_FALSE(fs::is_symlink(at("link")));
  EXPECT_EQ(get("outside/kept"), "kept");
  ASSERT_TRUE(remove_tree(at("outside/kept")));
  EXPECT_FALSE(fs::exists(at("outside/kept")));
}

// Deeper than PATH_MAX and than the limit of open descriptors.
TEST_F(Files, X4RemoveTreeHasNoDepthLimit) {
  fs::create_directory(at("tree"));
  Fd directory(::open(at("tree").c_str(), O_PATH | O_DIRECTORY));
  for (int depth = 0; depth < 3000; ++depth) {
    ASSERT_EQ(::mkdirat(directory.get(), "deep", 0755), 0);
    directory = Fd(::openat(directory.get(), "deep", O_PATH | O_DIRECTORY));
    ASSERT_TRUE(directory);
  }
  directory.reset();
  const auto done = remove_tree(at("tree"));
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_FALSE(fs::exists(at("tree")));
}

TEST_F(Files, RemoveTreeReportsWhatItCannotRemove) {
  put("tree/a", "x");
  set_fault_hook([](std::string_view operation, const std::string&) { return operation == "unlink" ? EBUSY : 0; });
  const auto done = remove_tree(at("tree"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::io);
}

TEST_F(Files, LockHasOneOwner) {
  EXPECT_FALSE(FileLock::is_held(at("lock")).value());
  {
    const auto lock = FileLock::acquire(at("lock"));
    ASSERT_TRUE(lock) << lock.error().text();
    EXPECT_TRUE(FileLock::is_held(at("lock")).value());
    EXPECT_EQ(FileLock::acquire(at("lock")).error().code, ErrorCode::conflict);
  }
  EXPECT_FALSE(FileLock::is_held(at("lock")).value());
  EXPECT_TRUE(FileLock::acquire(at("lock")));
  EXPECT_EQ(FileLock::acquire(at("none/lock")).error().code, ErrorCode::not_found);
}

TEST_F(Files, LockDiesWithItsProcess) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto lock = FileLock::acquire(at("lock"));
    (void)!::write(ready[1], lock ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char answer = '?';
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_TRUE(FileLock::is_held(at("lock")).value());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(FileLock::is_held(at("lock")).value());
  ::close(ready[0]);
  ::close(ready[1]);
}

// Asking who holds the lock must never keep the rightful owner out.
TEST_F(Files, AskingDoesNotDisturbTheOwner) {
  put("lock", "");
  std::atomic<bool> stop{false};
  std::vector<std::thread> askers;
  for (int i = 0; i < 2; ++i)
    askers.emplace_back([&] {
      while (!stop) (void)FileLock::is_held(at("lock"));
    });
  for (int i = 0; i < 200; ++i) {
    const auto lock = FileLock::acquire(at("lock"));
    EXPECT_TRUE(lock) << lock.error().text();
  }
  stop = true;
  for (std::thread& asker : askers) asker.join();
}

TEST_F(Files, TempDirectoryGoesWithItsOwner) {
  fs::path path;
  {
    auto made = TempDirectory::make(temp_->path(), "part-");
    ASSERT_TRUE(made);
    path = made->path();
    EXPECT_EQ(mode_of(path), 0700U);
    EXPECT_EQ(path.filename().string().rfind("part-", 0), 0U);
    std::ofstream(path / "x") << "y";
    const TempDirectory moved(std::move(*made));
    EXPECT_TRUE(fs::exists(path / "x"));
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(TempDirectory::make(at("none"), "x").error().code, ErrorCode::not_found);
}

TEST_F(Files, FreeBytesAndSyncs) {
  EXPECT_GT(free_bytes(temp_->path()).value(), 0);
  EXPECT_FALSE(free_bytes(at("none")));
  put("a", "x");
  EXPECT_TRUE(sync_file(at("a")));
  EXPECT_TRUE(sync_directory(temp_->path()));
  EXPECT_TRUE(sync_file_system(temp_->path()));
  EXPECT_FALSE(sync_file_system(at("none")));
  EXPECT_FALSE(sync_file(at("none")));
  EXPECT_FALSE(sync_directory(at("a")));
}

TEST_F(Files, WriteAllSurvivesASlowReader) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  const std::string text = big_text(500'000);
  std::string got;
  std::thread reader([&] {
    char buffer[4096];
    while (got.size() < text.size()) {
      const ssize_t n = ::read(ends[0], buffer, sizeof buffer);
      if (n > 0) got.append(buffer, static_cast<std::size_t>(n));
    }
  });
  EXPECT_TRUE(write_all(ends[1], text));
  reader.join();
  EXPECT_EQ(got, text);
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_FALSE(write_all(-1, "x"));
}

}  // namespace
}  // namespace orbit::platform
