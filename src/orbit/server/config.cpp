#include "orbit/server/config.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "orbit/base/json.hpp"
#include "orbit/spec/yaml.hpp"

namespace orbit::server {
namespace {

// The value of one key from text, typed as the member is.
Result<void> set(ServerConfig& config, const std::string& key, const std::string& text, const std::string& where) {
  json::Object object = json::from(config).get_object();
  json::Value* member = object.if_contains(key);
  if (member == nullptr) {
    std::vector<std::string> known;
    for (const auto& item : object) known.emplace_back(item.key());
    const std::string near = nearest(key, known);
    return fail(ErrorCode::invalid_argument, "unknown key", where,
                near.empty() ? "known: " + join(known, ", ") : "did you mean '" + near + "'?");
  }
  if (member->is_bool()) {
    if (text != "true" && text != "false")
      return fail(ErrorCode::invalid_argument, "is true or false, not '" + text + "'", where);
    *member = text == "true";
  } else if (member->is_int64()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
      return fail(ErrorCode::invalid_argument, "is a whole number, not '" + text + "'", where);
    *member = number;
  } else {
    *member = text;
  }
  auto next = json::to<ServerConfig>(json::Value(std::move(object)), json::From::user);
  if (!next) {
    next.error().field = where;
    return fail(std::move(next).error());
  }
  config = std::move(*next);
  return {};
}

// The default file: everything in it is commented out.
bool only_comments(const std::string& text) {
  for (const std::string& line : split(text, '\n')) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string::npos && line[first] != '#') return false;
  }
  return true;
}

Result<void> check(const ServerConfig& config) {
  const auto range = [](std::int64_t value, std::int64_t low, std::int64_t high, const char* key) -> Result<void> {
    if (value >= low && value <= high) return {};
    return fail(ErrorCode::invalid_argument, fmt::format("is {}, allowed is {} to {}", value, low, high), key);
  };
  ORBIT_TRY(range(config.local_slots, 0, 10'000, "local_slots"));
  ORBIT_TRY(range(config.observe_interval_ms, 10, 60'000, "observe_interval_ms"));
  ORBIT_TRY(range(config.start_deadline_s, 1, 86'400, "start_deadline_s"));
  ORBIT_TRY(range(config.worker_threads, 1, 64, "worker_threads"));
  ORBIT_TRY(range(config.http_threads, 1, 64, "http_threads"));
  if (config.log_level != "debug" && config.log_level != "info" && config.log_level != "warning" &&
      config.log_level != "error")
    return fail(ErrorCode::invalid_argument, "is '" + config.log_level + "'", "log_level",
                "debug, info, warning or error");
  ORBIT_TRY(parse_listen(config.listen));
  return {};
}

}  // namespace

std::string flag(const std::string& key) {
  std::string out = "--" + key;
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

std::string environment_variable(const std::string& key) {
  std::string out = "ORBIT_" + key;
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

Result<ListenAddress> parse_listen(const std::string& text) {
  const auto bad = [&] {
    return fail(ErrorCode::invalid_argument, "'" + text + "' is not an address and port", "listen",
                "write 127.0.0.1:7070, or [::1]:7070");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return bad();
  ListenAddress out;
  out.address = text.substr(0, colon);
  if (out.address.front() == '[') {
    if (out.address.size() < 3 || out.address.back() != ']') return bad();
    out.address = out.address.substr(1, out.address.size() - 2);
  } else if (out.address.find(':') != std::string::npos) {
    return bad();  // an IPv6 address without brackets: where does its port begin?
  }
  const auto* begin = text.data() + colon + 1;
  const auto* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(begin, end, out.port);
  if (error != std::errc{} || last != end || begin == end) return bad();
  return out;
}

Result<ServerConfig> load_config(const std::string& text, const std::string& file_name,
                                 const std::map<std::string, std::string>& environment,
                                 const std::map<std::string, std::string>& flags) {
  ServerConfig config;
  if (!text.empty() && !only_comments(text)) {
    ORBIT_TRY_ASSIGN(const spec::YamlDocument document, spec::YamlDocument::parse(text, file_name));
    const json::Value value = document.to_json(true);
    if (!value.is_object()) return fail(ErrorCode::invalid_argument, "is not a list of 'key: value' lines", file_name);
    for (const auto& item : value.get_object()) {
      const std::string key(item.key());
      const std::string where = fmt::format("{}:{}: {}", file_name, document.line_of(key), key);
      if (!item.value().is_string()) return fail(ErrorCode::invalid_argument, "is one value, not a list or map", where);
      ORBIT_TRY(set(config, key, std::string(item.value().get_string()), where));
    }
  }
  for (const auto& [key, value] : environment) ORBIT_TRY(set(config, key, value, environment_variable(key)));
  for (const auto& [key, value] : flags) ORBIT_TRY(set(config, key, value, flag(key)));
  ORBIT_TRY(check(config));
  return config;
}

std::span<const ConfigKey> config_keys() {
  static constexpr ConfigKey keys[] = {
      {"listen", "ADDRESS:PORT",
       "where to listen; anything but loopback is reachable by others; port 0 takes a free one"},
      {"db", "URL",
       "where the record is kept: postgresql://user@host/name, or empty: DATA/orbit.db; a password belongs into "
       "config.yaml, ORBIT_DB or ~/.pgpass and not on a command line"},
      {"local_slots", "N", "attempts that run at a time on this machine"},
      {"allow_command_tasks", "true|false", "ad-hoc command lines (task type `command`)"},
      {"log_level", "LEVEL", "least that is logged: debug, info, warning or error"},
      {"observe_interval_ms", "MS", "milliseconds between two looks at a living attempt"},
      {"start_deadline_s", "SECONDS", "seconds a started runner has for its first word"},
      {"worker_threads", "N", "threads for starting, observing and collecting attempts"},
      {"http_threads", "N", "threads for requests"},
  };
  return keys;
}

std::string default_text(const ConfigKey& key) {
  const json::Value defaults = json::from(ServerConfig{});
  const json::Value& value = defaults.get_object().at(key.key);
  return value.is_string() && !value.get_string().empty() ? std::string(value.get_string()) : json::dump(value);
}

std::string default_config_text() {
  std::string out =
      "# Orbit server. Flags (--local-slots) and environment variables (ORBIT_LOCAL_SLOTS) win over this file.\n"
      "# Unknown keys are refused. Every key is shown with its default.\n";
  for (const ConfigKey& key : config_keys())
    out += fmt::format("\n# {}\n# {}: {}\n", key.help, key.key, default_text(key));
  return out;
}

}  // namespace orbit::server
