#include "orbit/cli/doctor.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "orbit/base/text.hpp"
#include "orbit/cli/api.hpp"
#include "orbit/cli/version.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::cli {

namespace fs = std::filesystem;

namespace {

Diagnosis check_config(const Environment& environment) {
  const auto path = config_path(environment);
  if (!path) return {"configuration", Health::warn, path.error().text(), "set HOME"};
  const auto config = load_config(*path);
  if (!config) return {"configuration", Health::fail, config.error().text(), "orbit login URL writes it again"};
  if (!*config) return {"configuration", Health::ok, "none at " + path->string() + ", defaults are used", {}};
  if (is_exposed(*path))
    return {"configuration", Health::fail, path->string() + " can be read by others", "chmod 600 " + path->string()};
  return {"configuration", Health::ok, path->string(), {}};
}

Diagnosis check_program(const Environment& environment, const std::string& name, const std::string& needed_for) {
  for (const std::string& folder : split(environment("PATH").value_or("/usr/local/bin:/usr/bin:/bin"), ':')) {
    const fs::path candidate = fs::path(folder) / name;
    struct stat status{};
    if (!folder.empty() && ::stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        ::access(candidate.c_str(), X_OK) == 0)
      return {name, Health::ok, candidate.string(), {}};
  }
  return {name, Health::warn, "not found in PATH", "install it: " + needed_for};
}

void check_server(Context& context, std::vector<Diagnosis>& out) {
  const auto connection = context.connection();
  if (!connection) {
    out.push_back({"server", Health::fail, connection.error().text(), "orbit login URL"});
    return;
  }
  const std::string named = fmt::format("{} (from {})", connection->server, connection->server_from);
  const auto api = Api::open(*connection);
  const Result<net::ClientResponse> health =
      api ? (*api)->request(net::Method::get, "/healthz") : Result<net::ClientResponse>(fail(api.error()));
  if (!health) {
    out.push_back({"server", Health::fail, named + ": " + health.error().message,
                   health.error().hint.empty() ? "orbit server --data DIR starts one" : health.error().hint});
    return;
  }
  out.push_back({"server", Health::ok, named, {}});
  const auto who = (*api)->get_as<wire::WhoAmI>(api_path({"whoami"}));
  if (!who) {
    out.push_back({"token", Health::fail, who.error().message,
                   who.error().hint.empty() ? "orbit login " + connection->server : who.error().hint});
    return;
  }
  out.push_back(
      {"token", Health::ok, fmt::format("{}, role {} (from {})", who->name, who->role, connection->token_from), {}});
  const WallTime asked = context.now();
  const auto info = (*api)->get_as<wire::ServerInfo>(api_path({"server"}));
  if (info) out.push_back(judge_clock(asked, WallTime{info->started_at.ms + info->uptime_s * 1000}, context.now()));
  if (!info)
    out.push_back({"version", Health::warn, info.error().message, "do the versions here and there fit?"});
  else if (info->version != version())
    out.push_back({"version", Health::warn, fmt::format("server {}, this program {}", info->version, version()),
                   "install the same version on both sides"});
  else
    out.push_back({"version", Health::ok, info->version, {}});
}

// Where `orbit server` keeps its data unless told otherwise, when the server in question is one of this machine and did
// so.
std::optional<std::string> data_of_local_server(const Context& context) {
  const auto connection = context.connection();
  if (!connection ||
      (!connection->server.starts_with("http://127.") && !connection->server.starts_with("http://localhost") &&
       !connection->server.starts_with("http://[::1]")))
    return std::nullopt;
  fs::path data = "/var/lib/orbit";
  if (const auto base = context.environment("XDG_DATA_HOME"); base && fs::path(*base).is_absolute())
    data = fs::path(*base) / "orbit";
  else if (const auto home = context.environment("HOME"); home && fs::path(*home).is_absolute())
    data = fs::path(*home) / ".local/share/orbit";
  std::error_code failure;
  if (!fs::is_directory(data, failure)) return std::nullopt;
  return data.string();
}

Cell health_cell(Health health) {
  switch (health) {
    case Health::ok:
      return {"ok", Colour::green};
    case Health::warn:
      return {"warn", Colour::yellow};
    case Health::fail:
      return {"fail", Colour::red};
  }
  return {};
}

}  // namespace

Diagnosis judge_clock(WallTime asked, WallTime server, WallTime answered) {
  // Its uptime has whole seconds: the server's clock was in [server, server + 1 s) at some moment of the call.
  std::int64_t difference_ms = 0;
  if (server.ms > answered.ms) difference_ms = server.ms - answered.ms;
  if (server.ms + 1000 < asked.ms) difference_ms = asked.ms - (server.ms + 1000);
  if (difference_ms < clock_difference_warn_ms) return {"clock", Health::ok, "agrees with the server's", {}};
  return {"clock", Health::warn,
          fmt::format("{} {} the server's", human_duration(difference_ms / 1000),
                      server.ms > answered.ms ? "behind" : "ahead of"),
          "let both machines keep their time with NTP"};
}

Diagnosis judge_disk(std::int64_t free_bytes, const std::string& path) {
  const std::string found = fmt::format("{} free at {}", human_bytes(free_bytes), path);
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  if (free_bytes < gib) return {"disk", Health::fail, found, "make room: a full disk stops every run"};
  if (free_bytes < 10 * gib) return {"disk", Health::warn, found, "make room soon: checkpoints are kept there"};
  return {"disk", Health::ok, found, {}};
}

Result<int> doctor(Context& context, const DoctorOptions& options) {
  std::vector<Diagnosis> found;
  found.push_back(check_config(context.environment));
  check_server(context, found);
  found.push_back(check_program(context.environment, "git", "code that comes from a git repository needs it"));
  if (const auto data = options.data ? options.data : data_of_local_server(context)) {
    const auto free = platform::free_bytes(*data);
    found.push_back(
        free ? judge_disk(*free, *data)
             : Diagnosis{"disk", Health::fail, free.error().text(), "name the directory of orbit server --data"});
  }
  const bool failed =
      std::any_of(found.begin(), found.end(), [](const Diagnosis& item) { return item.health == Health::fail; });
  if (context.json()) {
    json::Array items;
    for (const Diagnosis& item : found)
      items.push_back(json::Object{{"check", item.check},
                                   {"health", health_cell(item.health).text},
                                   {"found", to_valid_utf8(item.found)},
                                   {"advice", to_valid_utf8(item.advice)}});
    context.print_json(json::dump(json::Object{{"ok", !failed}, {"items", std::move(items)}}));
    return failed ? 1 : 0;
  }
  for (const Diagnosis& item : found) {
    const Cell cell = health_cell(item.health);
    context.out << fmt::format("{}{}  {}: {}\n", paint(cell.text, cell.colour, context.terminal.colour_out),
                               std::string(4 - cell.text.size(), ' '), item.check, escape(item.found));
    if (!item.advice.empty()) context.out << "      " << escape(item.advice) << "\n";
  }
  return failed ? 1 : 0;
}

}  // namespace orbit::cli
