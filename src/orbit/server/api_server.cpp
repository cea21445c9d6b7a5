#include "orbit/server/api_server.hpp"

#include "orbit/base/log.hpp"
#include "orbit/server/routes_common.hpp"

namespace orbit::server {
namespace {

// Names no client can send: not valid in HTTP.
constexpr const char* token_key = ":token";
constexpr const char* name_key = ":name";
constexpr const char* role_key = ":role";

void add_security_headers(net::Response& response) {
  for (const auto& [name, value] :
       {std::pair("X-Content-Type-Options", "nosniff"), std::pair("Cache-Control", "no-store"),
        std::pair("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox"),
        std::pair("X-Frame-Options", "DENY"), std::pair("Referrer-Policy", "no-referrer"),
        std::pair("Cross-Origin-Resource-Policy", "same-origin")})
    response.headers.emplace_back(name, value);
}

net::Response finished(net::Response response, RequestCounters& counters) {
  add_security_headers(response);
  counters.count(response.status);
  return response;
}

// What a route needs of the caller, before its body is read. Credentials end here: nothing behind this sees them.
std::optional<net::Response> admit(const Endpoint& endpoint, ApiContext& context, net::Request& request) {
  if (const auto needed = endpoint.access.role()) {
    const auto identity = context.authenticator.authenticate(request);
    if (!identity) {
      const Authenticator::Refusal& refusal = identity.error();
      net::Response response = problem_response(refusal.error, refusal.status);
      if (refusal.retry_after_s > 0)
        response.headers.emplace_back("Retry-After", std::to_string(refusal.retry_after_s));
      return response;
    }
    if (identity->role < *needed)
      return problem_response(Error{ErrorCode::refused,
                                    fmt::format("this needs the role {}; the token '{}' has {}", role_name(*needed),
                                                identity->name, role_name(identity->role)),
                                    "Authorization", "ask an admin for a token with that role"});
    request.headers[token_key] = identity->token.str();
    request.headers[name_key] = identity->name;
    request.headers[role_key] = role_name(identity->role);
  }
  for (const char* header : {"authorization", "cookie", "proxy-authorization"}) request.headers.erase(header);
  return std::nullopt;
}

Identity caller_of(const net::Request& request) {
  Identity caller;
  const auto name = request.headers.find(name_key);
  if (name == request.headers.end()) return caller;
  caller.name = name->second;
  if (const auto token = TokenId::parse(request.headers.at(token_key))) caller.token = *token;
  if (const auto role = parse_role(request.headers.at(role_key))) caller.role = *role;
  return caller;
}

// Keys of the query that the endpoint does not know, or that come twice, are refused: never ignored. Values are not
// repeated in the answer: somebody may have put a credential there.
Result<void> check_query(const Endpoint& endpoint, const net::Request& request) {
  std::vector<std::string> allowed;
  for (const QueryRule& rule : endpoint.query) allowed.push_back(rule.name);
  for (const auto& [key, value] : request.query) {
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
      const std::string near = nearest(key, allowed);
      return fail(ErrorCode::invalid_argument, "unknown query parameter", to_valid_utf8(key.substr(0, 64)),
                  !near.empty()     ? "did you mean '" + near + "'?"
                  : allowed.empty() ? "none is allowed here"
                                    : "allowed: " + join(allowed, ", "));
    }
    if (request.query.count(key) > 1) return fail(ErrorCode::invalid_argument, "is given more than once", key);
  }
  return {};
}

net::Response answer(const Endpoint& endpoint, RouteContext& context) {
  if (const auto checked = check_query(endpoint, context.request); !checked) return problem_response(checked.error());
  auto response = endpoint.handler(context);
  if (response) return std::move(*response);
  const Error& error = response.error();
  // The server's own troubles go into its log; the caller's do not.
  if (wire::http_status(error.code) >= 500 && error.code != ErrorCode::unsupported)
    log::warning("{} failed: {} ({})", endpoint.operation_id, to_valid_utf8(error.text()), to_string(error.code));
  return problem_response(error);
}

}  // namespace

std::vector<net::Route> guarded_routes(const RouteTable& table, ApiContext& context, RequestCounters& counters,
                                       FrozenParams& frozen, ArtifactManifests& manifests, const std::string& openapi) {
  std::vector<net::Route> routes;
  for (const Endpoint& endpoint : table.endpoints()) {
    net::Route route;
    route.method = endpoint.method;
    route.pattern = endpoint.pattern;
    route.options = endpoint.options;
    route.guard = [&endpoint, &context, &counters](net::Request& request) -> std::optional<net::Response> {
      auto refusal = admit(endpoint, context, request);
      if (refusal) return finished(std::move(*refusal), counters);
      return std::nullopt;
    };
    route.handler = [&endpoint, &context, &counters, &frozen, &manifests, &openapi](const net::Request& request) {
      RouteContext one{context, request, caller_of(request), context.clock.now(), counters, frozen, manifests, openapi};
      return finished(answer(endpoint, one), counters);
    };
    routes.push_back(std::move(route));
  }
  return routes;
}

struct ApiServer::State {
  State(ApiContext api)
      : context(std::move(api)), table(api_routes()), openapi(json::dump(openapi_of(table, context.version))) {}

  ApiContext context;
  RouteTable table;
  RequestCounters counters;
  FrozenParams frozen;
  ArtifactManifests manifests;
  std::string openapi;
  std::unique_ptr<net::HttpServer> http;  // last: ends first
};

ApiServer::ApiServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
ApiServer::~ApiServer() = default;

Result<std::unique_ptr<ApiServer>> ApiServer::listen(ApiContext context, net::ServerOptions options) {
  auto state = std::make_unique<State>(std::move(context));
  options.error_response = [counters = &state->counters](int status, const Error& error) {
    return finished(problem_response(error, status), *counters);
  };
  ORBIT_TRY_ASSIGN(
      state->http,
      net::HttpServer::listen(std::move(options), guarded_routes(state->table, state->context, state->counters,
                                                                 state->frozen, state->manifests, state->openapi)));
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(state)));
}

std::uint16_t ApiServer::port() const {
  return state_->http->port();
}
void ApiServer::stop(std::int64_t grace_ms) {
  state_->http->stop(grace_ms);
}

}  // namespace orbit::server
