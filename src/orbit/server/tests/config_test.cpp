#include "orbit/server/config.hpp"

#include <gtest/gtest.h>

#include "orbit/base/json.hpp"

namespace orbit::server {
namespace {

using Texts = std::map<std::string, std::string>;

std::string error_of(const std::string& file, const Texts& environment = {}, const Texts& flags = {}) {
  const auto config = load_config(file, "config.yaml", environment, flags);
  EXPECT_FALSE(config) << "was accepted";
  return config ? "" : config.error().text();
}

TEST(Config, EveryMemberIsAKeyForPeople) {
  std::vector<std::string> members;
  const json::Value defaults = json::from(ServerConfig{});
  for (const auto& item : defaults.get_object()) members.emplace_back(item.key());
  std::vector<std::string> keys;
  for (const ConfigKey& key : config_keys()) {
    keys.emplace_back(key.key);
    EXPECT_NE(std::string(key.help), "");
  }
  EXPECT_EQ(keys, members);
}

TEST(Config, TheDefaultFileShowsTheDefaultsAndChangesNothing) {
  const std::string text = default_config_text();
  EXPECT_EQ(json::encode(load_config(text, "config.yaml", {}, {}).value()), json::encode(ServerConfig{}));
  std::string uncommented;
  for (const ConfigKey& key : config_keys()) {
    const std::string line = std::string(key.key) + ": " + default_text(key) + "\n";
    EXPECT_NE(text.find("# " + line), std::string::npos) << line;
    uncommented += line;
  }
  EXPECT_EQ(json::encode(load_config(uncommented, "config.yaml", {}, {}).value()), json::encode(ServerConfig{}));
}

TEST(Config, FlagsWinOverTheEnvironmentOverTheFile) {
  const std::string file = "local_slots: 3\nhttp_threads: 7\nlog_level: debug\n";
  const auto config =
      load_config(file, "config.yaml", {{"local_slots", "4"}, {"http_threads", "8"}}, {{"local_slots", "5"}}).value();
  EXPECT_EQ(config.local_slots, 5);
  EXPECT_EQ(config.http_threads, 8);
  EXPECT_EQ(config.log_level, "debug");
  EXPECT_EQ(config.listen, "127.0.0.1:7070");
}

TEST(Config, WhatIsWrongIsNamedWhereItStands) {
  EXPECT_NE(error_of("\nlocal_slot: 3\n").find("config.yaml:2: local_slot: unknown key (did you mean 'local_slots'?)"),
            std::string::npos);
  EXPECT_NE(error_of("local_slots: many\n").find("config.yaml:1: local_slots"), std::string::npos);
  EXPECT_NE(error_of("local_slots: [1]\n").find("config.yaml:1: local_slots"), std::string::npos);
  EXPECT_NE(error_of("", {{"allow_command_tasks", "yes"}}).find("ORBIT_ALLOW_COMMAND_TASKS"), std::string::npos);
  EXPECT_NE(error_of("", {}, {{"local_slots", "-1"}}).find("local_slots: is -1, allowed is 0 to 10000"),
            std::string::npos);
  EXPECT_NE(error_of("", {}, {{"start_deadline_s", "soon"}}).find("--start-deadline-s"), std::string::npos);
  EXPECT_NE(error_of("", {}, {{"log_level", "loud"}}).find("log_level"), std::string::npos);
  for (const char* listen : {"7070", "127.0.0.1", ":7070", "127.0.0.1:99999", "::1", "[]:1", "127.0.0.1:"})
    EXPECT_NE(error_of("", {}, {{"listen", listen}}).find("listen"), std::string::npos) << listen;
}

TEST(Config, AddressesOfBothFamilies) {
  const ListenAddress six = parse_listen("[::1]:0").value();
  EXPECT_EQ(six.address, "::1");
  EXPECT_EQ(six.port, 0);
  EXPECT_EQ(parse_listen("0.0.0.0:80").value().port, 80);
}

}  // namespace
}  // namespace orbit::server
