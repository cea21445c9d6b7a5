// Which server, and with which token: flags over environment over ~/.config/orbit/config.json.
#pragma once

#include <boost/describe.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "orbit/base/result.hpp"

namespace orbit::cli {

constexpr const char* default_server = "http://127.0.0.1:7070";

struct ConfigFile {
  std::string server;
  std::optional<std::string> token;
};
BOOST_DESCRIBE_STRUCT(ConfigFile, (), (server, token))

using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> process_environment(const char* name);  // an empty variable counts as unset

Result<std::filesystem::path> config_path(
    const Environment& environment);  // $XDG_CONFIG_HOME or ~/.config, then orbit/config.json
Result<std::optional<ConfigFile>> load_config(const std::filesystem::path& path);  // nothing where there is no file
Result<void> save_config(const std::filesystem::path& path, const ConfigFile& config);  // 0600 in a directory of 0700
// True when somebody other than the owner may read it.
bool is_exposed(const std::filesystem::path& path);

struct Connection {
  std::string server = default_server;
  std::optional<std::string> token;
  std::string server_from = "default";  // "--server", "ORBIT_SERVER", the file's path: for doctor and for errors
  std::string token_from = "none";
};
// The file's token goes to the file's server only: naming another server does not hand it a credential.
Result<Connection> find_connection(const std::optional<std::string>& server_flag,
                                   const std::optional<std::string>& token_flag, const Environment& environment);

}  // namespace orbit::cli
