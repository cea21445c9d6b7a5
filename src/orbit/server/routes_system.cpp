// What the server says of itself.
#include "orbit/server/routes_common.hpp"

namespace orbit::server {
namespace {

Result<net::Response> health(RouteContext&) {
  return json_response(wire::Health{});
}

Result<net::Response> who_am_i(RouteContext& context) {
  return json_response(wire::WhoAmI{context.caller.name, std::string(role_name(context.caller.role))});
}

std::vector<std::string> backend_names(const BackendRegistry& backends) {
  std::vector<std::string> names;
  for (const PlacementKind placement :
       {PlacementKind::local, PlacementKind::node, PlacementKind::ssh, PlacementKind::targon_rental})
    for (const LaunchMode mode : {LaunchMode::host_process, LaunchMode::docker_image})
      if (backends.find(placement, mode)) names.push_back(backend_key(placement, mode));
  return names;
}

struct Living {
  std::int64_t attempts = 0;
  std::int64_t intents = 0;
  std::int64_t queued = 0;
};

Result<Living> living(control::Writer& writer) {
  Living out;
  ORBIT_TRY(writer.inspect([&](const World& world) {
    out.attempts = static_cast<std::int64_t>(world.attempts.size());
    out.intents = static_cast<std::int64_t>(world.intents.size());
    out.queued = static_cast<std::int64_t>(world.queue.size());
  }));
  return out;
}

Result<net::Response> server_info(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const Living now, living(context.api.writer));
  wire::ServerInfo info;
  info.version = context.api.version;
  info.database = context.api.database;
  info.started_at = context.api.started_at;
  info.uptime_s = std::max<std::int64_t>(0, context.now.wall.ms - context.api.started_at.ms) / 1000;
  info.live_attempts = now.attempts;
  info.leader_epoch = context.api.leader_epoch;
  info.backends = backend_names(context.api.backends);
  return json_response(info);
}

// A label value of the Prometheus text format.
std::string label(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

Result<net::Response> metrics(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const auto by_state, reader->attempt_counts_by_state());
  ORBIT_TRY_ASSIGN(const Living now, living(context.api.writer));
  std::string out;
  const auto family = [&](std::string_view name, std::string_view type, std::string_view help) {
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  };
  family("orbit_build_info", "gauge", "Always 1; the version is in the label.");
  out += fmt::format("orbit_build_info{{version=\"{}\",database=\"{}\"}} 1\n", label(context.api.version),
                     label(context.api.database));
  family("orbit_start_time_seconds", "gauge", "When this server started, in seconds since 1970.");
  out += fmt::format("orbit_start_time_seconds {:.3f}\n", static_cast<double>(context.api.started_at.ms) / 1000.0);
  family("orbit_attempts", "gauge", "Recorded attempts by state.");
  for (const std::string& state : json::names_of<AttemptState>()) {
    const auto it = by_state.find(state);
    out += fmt::format("orbit_attempts{{state=\"{}\"}} {}\n", state, it == by_state.end() ? 0 : it->second);
  }
  family("orbit_live_attempts", "gauge", "Attempts held in memory: not ended, or with something still to do.");
  out += fmt::format("orbit_live_attempts {}\n", now.attempts);
  family("orbit_queued_attempts", "gauge", "Attempts that wait for a place.");
  out += fmt::format("orbit_queued_attempts {}\n", now.queued);
  family("orbit_open_intents", "gauge", "Side effects decided and not yet confirmed.");
  out += fmt::format("orbit_open_intents {}\n", now.intents);
  family("orbit_http_requests_total", "counter", "Answered requests by class of status.");
  for (int i = 1; i < RequestCounters::classes; ++i)
    out += fmt::format("orbit_http_requests_total{{class=\"{}xx\"}} {}\n", i, context.counters.by_class[i].load());
  family("orbit_event_followers", "gauge", "Open streams of events and logs.");
  out += fmt::format("orbit_event_followers {}\n", context.api.events.followers());
  net::Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = std::move(out);
  return response;
}

Result<net::Response> openapi(RouteContext& context) {
  net::Response response;
  response.body = context.openapi;
  return response;
}

}  // namespace

void add_system_routes(RouteTable& table) {
  using net::Method;
  const Access viewer = Access::at_least(Role::viewer);
  table.add(Method::get, "/healthz", Access::anybody(), "getHealth", "Whether the server serves", health)
      .returns<wire::Health>();
  table.add(Method::get, "/metrics", viewer, "getPrometheusMetrics", "Figures in the Prometheus text format", metrics)
      .returns_bytes("text/plain; version=0.0.4; charset=utf-8", 200, "The figures");
  table.add(Method::get, "/api/v1/openapi.json", viewer, "getOpenApi", "This document", openapi).returns<json::Value>();
  table.add(Method::get, "/api/v1/whoami", viewer, "getWhoAmI", "Name and role of the credential", who_am_i)
      .returns<wire::WhoAmI>();
  table.add(Method::get, "/api/v1/server", viewer, "getServer", "Version, database and load of the server", server_info)
      .returns<wire::ServerInfo>();
}

}  // namespace orbit::server
