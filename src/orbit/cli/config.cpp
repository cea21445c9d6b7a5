#include "orbit/cli/config.hpp"

#include <sys/stat.h>

#include <cstdlib>

#include "orbit/base/json.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::cli {

namespace fs = std::filesystem;

namespace {

std::string without_trailing_slash(std::string url) {
  while (!url.empty() && url.back() == '/') url.pop_back();
  return url;
}

}  // namespace

std::optional<std::string> process_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == 0) return std::nullopt;
  return std::string(value);
}

Result<fs::path> config_path(const Environment& environment) {
  if (const auto base = environment("XDG_CONFIG_HOME"); base && fs::path(*base).is_absolute())
    return fs::path(*base) / "orbit" / "config.json";
  const auto home = environment("HOME");
  if (!home)
    return fail(ErrorCode::invalid_argument, "is not set", "HOME", "set HOME, or ORBIT_SERVER and ORBIT_TOKEN");
  return fs::path(*home) / ".config" / "orbit" / "config.json";
}

Result<std::optional<ConfigFile>> load_config(const fs::path& path) {
  auto text = platform::read_file(path, 64 * 1024);
  if (!text && text.error().code == ErrorCode::not_found) return std::optional<ConfigFile>();
  if (!text) return fail(std::move(text).error());
  auto config = json::decode<ConfigFile>(*text, json::From::user);
  if (!config) {
    Error error = std::move(config).error();
    error.field = error.field.empty() ? path.string() : path.string() + ": " + error.field;
    error.hint = "write it again with: orbit login URL";
    return fail(std::move(error));
  }
  return std::optional<ConfigFile>(std::move(*config));
}

Result<void> save_config(const fs::path& path, const ConfigFile& config) {
  ORBIT_TRY(platform::make_directories(path.parent_path().parent_path()));
  std::error_code error;
  if (!fs::exists(path.parent_path(), error)) ORBIT_TRY(platform::make_directories(path.parent_path(), 0700));
  return platform::write_file_durably(path, json::encode(config) + "\n", 0600);
}

bool is_exposed(const fs::path& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && (status.st_mode & 077U) != 0;
}

Result<Connection> find_connection(const std::optional<std::string>& server_flag,
                                   const std::optional<std::string>& token_flag, const Environment& environment) {
  Connection out;
  if (server_flag) {
    out.server = *server_flag;
    out.server_from = "--server";
  } else if (const auto server = environment("ORBIT_SERVER")) {
    out.server = *server;
    out.server_from = "ORBIT_SERVER";
  }
  if (token_flag) {
    out.token = *token_flag;
    out.token_from = "--token";
  } else if (const auto token = environment("ORBIT_TOKEN")) {
    out.token = *token;
    out.token_from = "ORBIT_TOKEN";
  }
  const bool named = out.server_from != "default";
  if (!named || !out.token) {
    const auto path = config_path(environment);
    if (path) {
      ORBIT_TRY_ASSIGN(const auto config, load_config(*path));
      if (config) {
        if (!named) {
          out.server = config->server;
          out.server_from = path->string();
        }
        if (!out.token && config->token &&
            without_trailing_slash(out.server) == without_trailing_slash(config->server)) {
          out.token = config->token;
          out.token_from = path->string();
        }
      }
    }
  }
  out.server = without_trailing_slash(std::move(out.server));
  if (out.server.find("://") == std::string::npos) out.server = "http://" + out.server;
  return out;
}

}  // namespace orbit::cli
