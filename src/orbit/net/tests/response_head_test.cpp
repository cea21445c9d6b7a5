#include "orbit/net/response_head.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "net_test_support.hpp"
#include "orbit/net/spool_file.hpp"

namespace orbit::net {
namespace {

TEST(ResponseHead, FramingIsTheServers) {
  Response response;
  response.headers = {{"content-length", "9"}, {"Transfer-Encoding", "gzip"}, {"Connection", "upgrade"}, {"X-A", "b"}};
  Framing framing;
  framing.content_length = 3;
  EXPECT_EQ(response_head(response, framing).value(),
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-A: b\r\nContent-Length: 3\r\n\r\n");
  response.status = 204;
  framing.keep_alive = false;
  EXPECT_EQ(response_head(response, framing).value(), "HTTP/1.1 204 No Content\r\nX-A: b\r\nConnection: close\r\n\r\n");
}

// X4: a value taken from a request cannot write headers of its own.
TEST(ResponseHeadX4, RefusesSplitting) {
  for (const char* value : {"a\r\nSet-Cookie: x=1", "a\nb", "a\rb", "\x01"}) {
    Response response;
    response.headers = {{"Location", value}};
    const auto head = response_head(response, {});
    ASSERT_FALSE(head);
    EXPECT_EQ(head.error().field, "Location");
    Response typed;
    typed.content_type = value;
    EXPECT_FALSE(response_head(typed, {}));
  }
  Response named;
  named.headers = {{"X: y\r\nZ", "a"}};
  EXPECT_FALSE(response_head(named, {}));
  named.headers = {{"", "a"}};
  EXPECT_FALSE(response_head(named, {}));
  Response numbered;
  for (const int status : {0, 100, 199, 600, -1}) {
    numbered.status = status;
    EXPECT_FALSE(response_head(numbered, {})) << status;
  }
}

TEST(SpoolFile, IsPrivateAndGoesWithTheObjectUnlessMoved) {
  const test::TempDir dir;
  std::filesystem::path path;
  {
    SpoolFile file = std::move(*SpoolFile::create(dir.path()));
    ASSERT_TRUE(file.write("abc"));
    path = file.path();
    struct stat info{};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600u);
    EXPECT_EQ(info.st_size, 3);
    SpoolFile moved = std::move(file);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_TRUE(dir.names().empty());
  {
    SpoolFile file = std::move(*SpoolFile::create(dir.path()));
    std::filesystem::rename(file.path(), dir.path() / "kept");
    std::ofstream(file.path()) << "somebody else's";
    path = file.path();
  }
  EXPECT_TRUE(std::filesystem::exists(dir.path() / "kept"));
  EXPECT_TRUE(std::filesystem::exists(path));  // not the file that was written
}

TEST(SpoolFile, CleaningTakesOnlyWhatNobodyHolds) {
  const test::TempDir dir;
  std::ofstream(dir.path() / ".orbit-body-dead01") << "x";
  std::ofstream(dir.path() / "other") << "x";
  SpoolFile held = std::move(*SpoolFile::create(dir.path()));
  ASSERT_TRUE(SpoolFile::clean(dir.path()));
  EXPECT_FALSE(std::filesystem::exists(dir.path() / ".orbit-body-dead01"));
  EXPECT_TRUE(std::filesystem::exists(dir.path() / "other"));
  EXPECT_TRUE(std::filesystem::exists(held.path()));
  EXPECT_FALSE(SpoolFile::clean(dir.path() / "missing"));
  EXPECT_FALSE(SpoolFile::create(dir.path() / "missing"));
}

TEST(SpoolFile, AFullDiskIsSaid) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) GTEST_SKIP() << "no /dev/full";
  ::close(full);
  const test::TempDir dir;
  SpoolFile file = std::move(*SpoolFile::create(dir.path()));
  // The same descriptor number now writes to a full device.
  const std::string link = "/proc/self/fd/";
  for (const auto& entry : std::filesystem::directory_iterator(link)) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry.path(), ignored) != file.path()) continue;
    const int fd = std::stoi(entry.path().filename().string());
    const int device = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
    ASSERT_EQ(::dup3(device, fd, O_CLOEXEC), fd);
    ::close(device);
    break;
  }
  const auto written = file.write("abc");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::exhausted);
}

}  // namespace
}  // namespace orbit::net
