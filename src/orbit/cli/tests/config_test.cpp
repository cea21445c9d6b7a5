#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "orbit/cli/config.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::cli {
namespace {

namespace fs = std::filesystem;

struct ConfigTest : testing::Test {
  platform::TempDirectory home = *platform::TempDirectory::make(fs::temp_directory_path(), "orbit-cli-");
  std::map<std::string, std::string> variables{{"HOME", home.path().string()}};
  Environment environment = [this](const char* name) {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional(it->second);
  };
  fs::path file = *config_path(environment);

  static unsigned mode(const fs::path& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
  }
};

TEST_F(ConfigTest, X1OnlyTheOwnerMayReadIt) {
  const mode_t before = ::umask(0);
  const auto saved = save_config(file, {"http://a:1", "secret"});
  ::umask(before);
  ASSERT_TRUE(saved) << saved.error().text();
  EXPECT_EQ(file, home.path() / ".config/orbit/config.json");
  EXPECT_EQ(mode(file), 0600U);
  EXPECT_EQ(mode(file.parent_path()), 0700U);
  EXPECT_FALSE(is_exposed(file));
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  EXPECT_TRUE(is_exposed(file));
  ASSERT_TRUE(save_config(file, {"http://b:1", {}}));  // writing again closes it again
  EXPECT_EQ(mode(file), 0600U);
  EXPECT_EQ((*load_config(file))->server, "http://b:1");
}

TEST_F(ConfigTest, FlagOverEnvironmentOverFileOverDefault) {
  EXPECT_EQ(find_connection({}, {}, environment)->server, default_server);
  EXPECT_FALSE(find_connection({}, {}, environment)->token);
  ASSERT_TRUE(save_config(file, {"http://file:1/", "file-token"}));
  auto found = *find_connection({}, {}, environment);
  EXPECT_EQ(found.server, "http://file:1");
  EXPECT_EQ(found.token, "file-token");
  variables["ORBIT_SERVER"] = "http://env:1";
  variables["ORBIT_TOKEN"] = "env-token";
  found = *find_connection({}, {}, environment);
  EXPECT_EQ(found.server, "http://env:1");
  EXPECT_EQ(found.token, "env-token");
  found = *find_connection("flag:1", "flag-token", environment);
  EXPECT_EQ(found.server, "http://flag:1");
  EXPECT_EQ(found.token, "flag-token");
}

TEST_F(ConfigTest, X1TheTokenOfOneServerIsNotSentToAnother) {
  ASSERT_TRUE(save_config(file, {"http://file:1", "file-token"}));
  EXPECT_FALSE(find_connection("http://other:1", {}, environment)->token);
  EXPECT_EQ(find_connection("http://file:1/", {}, environment)->token, "file-token");
}

TEST_F(ConfigTest, ABrokenFileIsAnErrorNamingIt) {
  ASSERT_TRUE(save_config(file, {"http://file:1", {}}));
  std::ofstream(file) << "{\"server\": 5}";
  const auto found = find_connection({}, {}, environment);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().field, testing::HasSubstr(file.string()));
  EXPECT_THAT(found.error().hint, testing::HasSubstr("orbit login"));
  EXPECT_TRUE(find_connection("http://a:1", "t", environment));  // nothing of it is needed
}

TEST_F(ConfigTest, XdgMovesIt) {
  variables["XDG_CONFIG_HOME"] = "/elsewhere";
  EXPECT_EQ(*config_path(environment), "/elsewhere/orbit/config.json");
  variables["XDG_CONFIG_HOME"] = "relative";
  EXPECT_EQ(*config_path(environment), file);
  variables.clear();
  EXPECT_FALSE(config_path(environment));
}

}  // namespace
}  // namespace orbit::cli
