// The server's configuration: flags over environment (ORBIT_<KEY>) over DATA/config.yaml over these defaults.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <string>

#include "orbit/base/result.hpp"

namespace orbit::server {

struct ServerConfig {
  std::string listen = "127.0.0.1:7070";   // address:port; port 0 takes any free one
  std::int32_t local_slots = 2;            // attempts that run at a time on this machine
  bool allow_command_tasks = false;        // ad-hoc command lines (task type `command`)
  std::string log_level = "info";          // debug, info, warning, error
  std::int32_t observe_interval_ms = 200;  // how often a living attempt is looked at
  std::int32_t start_deadline_s = 120;     // from the start of a runner until its first word
  std::int32_t worker_threads = 4;         // for starting, observing and collecting attempts
  std::int32_t http_threads = 4;           // for requests
};
BOOST_DESCRIBE_STRUCT(ServerConfig, (),
                      (listen, local_slots, allow_command_tasks, log_level, observe_interval_ms, start_deadline_s,
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

// The documented default config.yaml, every key with unit and default, written at first start.
std::string default_config_text();

}  // namespace orbit::server
