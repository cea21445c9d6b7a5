#include <fcntl.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "orbit/bundle/digests.hpp"
#include "support.hpp"

namespace orbit::bundle {
namespace {

class Scan : public TempTest {
 protected:
  Result<std::vector<SourceFile>> scanned(const Limits& limits = {},
                                          const std::vector<std::string>& ignore = {}) const {
    return scan(at("src"), "inputs/code", limits, ignore);
  }
  static std::vector<std::string> paths(const std::vector<SourceFile>& files) {
    std::vector<std::string> out;
    for (const SourceFile& file : files) out.push_back(file.entry.path);
    return out;
  }
  // The error names the file and says what is wrong.
  static void expect_refused(const Result<std::vector<SourceFile>>& result, const std::string& field,
                             const std::string& words) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().field, field);
    EXPECT_NE(result.error().message.find(words), std::string::npos) << error_of(result);
  }
};

TEST_F(Scan, ListsFilesSortedWithDigestsAndRunBits) {
  put("src/b/z.txt", "zz");
  put("src/a.py", "print()", 0755);
  put("src/b-c", "", 0600);
  put("src/group", "g", 0674);
  put("src/.git/config", "secret");
  put("src/b/.git", "gitdir: x");
  put("src/node_modules/x.js", "x");
  const auto files = scanned({}, {"node_modules"});
  ASSERT_TRUE(files) << error_of(files);
  EXPECT_EQ(paths(*files), (std::vector<std::string>{"inputs/code/a.py", "inputs/code/b-c", "inputs/code/b/z.txt",
                                                     "inputs/code/group"}));
  EXPECT_TRUE((*files)[0].entry.executable);
  EXPECT_FALSE((*files)[1].entry.executable);
  EXPECT_FALSE((*files)[3].entry.executable);  // the owner's bit counts, as with git
  EXPECT_EQ((*files)[2].entry.sha256, Sha256::of("zz"));
  EXPECT_EQ((*files)[2].entry.size_bytes, 2);
  EXPECT_EQ(get((*files)[2].from), "zz");
  EXPECT_EQ(scan(at("src"), "", {}, {"node_modules"})->at(0).entry.path, "a.py");
}

TEST_F(Scan, LinksInsideBecomeWhatTheyPointTo) {
  put("src/real/data.txt", "data", 0755);
  fs::create_symlink("real/data.txt", at("src/link"));
  fs::create_directory_symlink("real", at("src/folder"));
  fs::create_symlink(at("src/real/data.txt"), at("src/absolute"));
  fs::create_symlink("link", at("src/chain"));
  const auto files = scanned();
  ASSERT_TRUE(files) << error_of(files);
  EXPECT_EQ(paths(*files),
            (std::vector<std::string>{"inputs/code/absolute", "inputs/code/chain", "inputs/code/folder/data.txt",
                                      "inputs/code/link", "inputs/code/real/data.txt"}));
  for (const SourceFile& file : *files) {
    EXPECT_EQ(file.entry.sha256, Sha256::of("data"));
    EXPECT_TRUE(file.entry.executable);
    EXPECT_FALSE(fs::is_symlink(file.from));
  }
}

TEST_F(Scan, X4LinksOutAreRefused) {
  put("outside/secret", "s");
  put("src2/x", "prefix of the name, not the folder");
  for (const std::string target : {"../outside/secret", "../outside", "/etc/passwd", "../src2/x", "..", "../../.."}) {
    fs::remove_all(at("src"));
    put("src/a.py", "x");
    fs::create_symlink(target, at("src/link"));
    expect_refused(scanned(), "link", "leaves the folder");
  }
}

TEST_F(Scan, X4LinksThatLeadNowhereOrBackAreRefused) {
  put("src/a.py", "x");
  fs::create_directory(at("src/dir"));
  fs::create_symlink("nothing", at("src/dir/link"));
  expect_refused(scanned(), "dir/link", "does not exist");
  fs::remove(at("src/dir/link"));
  fs::create_symlink("link", at("src/dir/link"));
  expect_refused(scanned(), "dir/link", "back to itself");
  fs::remove(at("src/dir/link"));
  fs::create_directory_symlink("..", at("src/dir/link"));
  expect_refused(scanned(), "dir/link", "contains it");
  fs::remove(at("src/dir/link"));
  put("src/.git/config", "password");
  fs::create_symlink("../.git/config", at("src/dir/link"));
  expect_refused(scanned(), "dir/link", "left out");
}

TEST_F(Scan, X4LinksThatMultiplyAreStopped) {
  for (int i = 0; i < 20; ++i) {
    fs::create_directories(at("src/d" + std::to_string(i)));
    fs::create_directory_symlink("../d" + std::to_string(i + 1), at("src/d" + std::to_string(i) + "/a"));
    fs::create_directory_symlink("../d" + std::to_string(i + 1), at("src/d" + std::to_string(i) + "/b"));
  }
  fs::create_directories(at("src/d20"));
  Limits limits;
  limits.max_files = 1000;
  const auto result = scanned(limits);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::too_large);
}

TEST_F(Scan, X4SpecialFilesAreRefused) {
  put("src/a.py", "x");
  ASSERT_EQ(::mkfifo(at("src/special").c_str(), 0644), 0);
  expect_refused(scanned(), "special", "FIFO");
  fs::remove(at("src/special"));
  const platform::Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  at("src/special").string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  expect_refused(scanned(), "special", "socket");
  fs::remove(at("src/special"));
  if (::mknod(at("src/special").c_str(), S_IFCHR | 0644, makedev(1, 3)) == 0) {  // needs root
    expect_refused(scanned(), "special", "device");
    fs::remove(at("src/special"));
  }
  fs::create_symlink("/dev/zero", at("src/special"));
  expect_refused(scanned(), "special", "leaves");
}

TEST_F(Scan, X4HostileNamesAreRefusedAndShownHarmlessly) {
  put("src/a.py", "x");
  put("src/new\nline", "x");
  expect_refused(scanned(), "new\\x0aline", "control character");
  fs::remove(at("src/new\nline"));
  put("src/bad\xff", "x");
  expect_refused(scanned(), "bad\\xff", "UTF-8");
  fs::remove(at("src/bad\xff"));
  put("src/back\\slash", "x");
  expect_refused(scanned(), "back\\slash", "backslash");
  fs::remove(at("src/back\\slash"));
  fs::create_directory(at("src/\x1b[31m"));  // an empty directory is looked at too
  expect_refused(scanned(), "\\x1b[31m", "control character");
}

TEST_F(Scan, LimitsNameTheFileAndTheLimit) {
  for (int i = 0; i < 4; ++i) put("src/f" + std::to_string(i), "1234");
  Limits limits;
  limits.max_files = 4;
  limits.max_total_bytes = 16;
  EXPECT_TRUE(scanned(limits));
  limits.max_files = 3;
  expect_refused(scanned(limits), "f3", "more than 3 files");
  limits.max_files = 4;
  limits.max_total_bytes = 15;
  expect_refused(scanned(limits), "f3", "15 B");
  EXPECT_EQ(scanned(limits).error().code, ErrorCode::too_large);
  // Refused by its size, before a byte is read.
  ASSERT_EQ(::truncate(at("src/f0").c_str(), 9LL << 30), 0);
  expect_refused(scanned(), "f0", "8.0 GiB");
  std::string deep = "src";
  for (int i = 0; i < 70; ++i) deep += "/d";
  fs::remove(at("src/f0"));
  put(deep + "/x", "x");
  ASSERT_FALSE(scanned());
  EXPECT_NE(scanned().error().message.find("levels deep"), std::string::npos);
}

TEST_F(Scan, FolderThatIsNone) {
  EXPECT_EQ(scanned().error().code, ErrorCode::not_found);
  put("src", "a file");
  EXPECT_EQ(scanned().error().code, ErrorCode::invalid_argument);
  fs::remove(at("src"));
  fs::create_directory(at("src"));
  EXPECT_TRUE(scanned()->empty());
}

TEST_F(Scan, AFileThatChangesWhileItIsReadIsAnError) {
  put("src/growing", std::string(8 << 20, 'x'));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    const platform::Fd fd(::open(at("src/growing").c_str(), O_WRONLY));
    for (int i = 0; !stop; ++i) {
      (void)!::pwrite(fd.get(), i % 2 == 0 ? "a" : "b", 1, 100);
      std::this_thread::yield();
    }
  });
  bool noticed = false;
  for (int tries = 0; tries < 20'000 && !noticed; ++tries) {
    const auto result = scanned();
    noticed = !result && result.error().code == ErrorCode::conflict && result.error().field == "growing";
    EXPECT_TRUE(result || noticed) << error_of(result);
  }
  stop = true;
  writer.join();
  EXPECT_TRUE(noticed);
}

TEST_F(Scan, AFileThatOnlyGrowsIsReadNoFurtherThanItsFirstSize) {
  put("src/endless", std::string(1 << 20, 'x'));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    const platform::Fd fd(::open(at("src/endless").c_str(), O_WRONLY | O_APPEND));
    const std::string block(256 * 1024, 'y');
    for (int i = 0; !stop && i < 2000; ++i) (void)!::write(fd.get(), block.data(), block.size());
  });
  for (int i = 0; i < 5; ++i) (void)scanned();  // must come back
  stop = true;
  writer.join();
  EXPECT_TRUE(scanned());
}

TEST_F(Scan, ManyFilesGiveTheSameListOnTwoThreads) {
  for (int i = 0; i < 500; ++i) put("src/d" + std::to_string(i % 7) + "/f" + std::to_string(i), std::to_string(i));
  const auto files = scanned();
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 500U);
  for (const SourceFile& file : *files) EXPECT_EQ(file.entry.sha256, Sha256::of(get(file.from)));
}

TEST(ForEachOf, ReportsTheFirstErrorAndStops) {
  std::atomic<std::size_t> calls{0};
  const auto done = for_each_of(1'000'000, [&](std::size_t index) -> Result<void> {
    ++calls;
    if (index >= 10) return fail(ErrorCode::io, std::to_string(index));
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "10");
  EXPECT_LT(calls, 1'000U);
  EXPECT_TRUE(for_each_of(0, [](std::size_t) -> Result<void> { return fail(ErrorCode::io, "never"); }));
}

class Fingerprint : public Scan {};

TEST_F(Fingerprint, R5FileAndFolder) {
  put("data/x", "1");
  put("data/sub/y", "22");
  const auto folder = fingerprint("train", at("data"));
  ASSERT_TRUE(folder) << error_of(folder);
  EXPECT_EQ(folder->input, "train");
  EXPECT_EQ(folder->path, at("data").string());
  EXPECT_EQ(folder->files, 2);
  EXPECT_EQ(folder->size_bytes, 3);
  EXPECT_EQ(folder->sha256, digest_of_list({entry_of("sub/y", "22"), entry_of("x", "1")}));
  const auto file = fingerprint("train", at("data/x"));
  ASSERT_TRUE(file) << error_of(file);
  EXPECT_EQ(file->files, 1);
  EXPECT_EQ(file->size_bytes, 1);
  EXPECT_EQ(file->sha256, Sha256::of("1"));
  fs::create_symlink("data", at("link"));
  EXPECT_EQ(fingerprint("train", at("link"))->sha256, folder->sha256);
  put("data/sub/y", "23");
  EXPECT_NE(fingerprint("train", at("data"))->sha256, folder->sha256);
}

TEST_F(Fingerprint, ErrorsNameTheInput) {
  const auto missing = fingerprint("train", at("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().field, "inputs.train");
  EXPECT_NE(missing.error().message.find("none"), std::string::npos);
  EXPECT_EQ(fingerprint("train", "relative").error().field, "inputs.train");
  EXPECT_EQ(fingerprint("train", "/dev/null").error().field, "inputs.train");
  put("data/x", "1");
  fs::create_symlink("/etc/passwd", at("data/link"));
  const auto link = fingerprint("train", at("data"));
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().field, "inputs.train");
  EXPECT_NE(link.error().message.find("data/link"), std::string::npos);
}

}  // namespace
}  // namespace orbit::bundle
