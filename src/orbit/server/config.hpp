// The server's configuration: flags over environment (ORBIT_<KEY>) over DATA/config.yaml over these defaults.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "orbit/base/result.hpp"

namespace orbit::server {

struct ServerConfig {  // what each is: config_keys()
  std::string listen = "127.0.0.1:7070";
  std::string db;
  std::int32_t local_slots = 2;
  bool allow_command_tasks = false;
  std::string log_level = "info";
  std::int32_t observe_interval_ms = 200;
  std::int32_t start_deadline_s = 120;
  std::int32_t worker_threads = 4;
  std::int32_t http_threads = 4;
};
BOOST_DESCRIBE_STRUCT(ServerConfig, (),
                      (listen, db, local_slots, allow_command_tasks, log_level, observe_interval_ms, start_deadline_s,
                       worker_threads, http_threads))

// `text`: of config.yaml, empty when there is none. `flags` and `environment`: key -> text. Unknown keys and values out
// of range are errors naming where they stand.
Result<ServerConfig> load_config(const std::string& text, const std::string& file_name,
                                 const std::map<std::string, std::string>& environment,
                                 const std::map<std::string, std::string>& flags);

struct ListenAddress {
  std::string address;
  std::uint16_t port = 0;
};
Result<ListenAddress> parse_listen(const std::string& text);

// One key for people: flag (--local-slots), environment variable (ORBIT_LOCAL_SLOTS) and line of config.yaml are one.
struct ConfigKey {
  const char* key;
  const char* value;  // what stands for the value in help
  const char* help;   // with the unit; not the default
};
std::span<const ConfigKey> config_keys();  // every member of ServerConfig, in its order
std::string default_text(const ConfigKey& key);
std::string flag(const std::string& key);                  // "--local-slots"
std::string environment_variable(const std::string& key);  // "ORBIT_LOCAL_SLOTS"

// The documented default config.yaml, every key with unit and default, written at first start.
std::string default_config_text();

}  // namespace orbit::server
