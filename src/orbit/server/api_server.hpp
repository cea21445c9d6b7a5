// The table of routes, served: authentication before the body is read, one form of errors, security headers on
// everything.
#pragma once

#include <memory>

#include "orbit/net/http.hpp"
#include "orbit/server/routes_table.hpp"

namespace orbit::server {

class ApiServer {
 public:
  // `options`: address, port, spool directory, threads and limits; error_response is set here. Listens from here on.
  static Result<std::unique_ptr<ApiServer>> listen(ApiContext context, net::ServerOptions options);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  std::uint16_t port() const;
  // Ends streams, lets running requests finish for at most grace_ms. Idempotent.
  void stop(std::int64_t grace_ms);

 private:
  struct State;
  explicit ApiServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The routes as net serves them: each guarded by what its endpoint declares.
std::vector<net::Route> guarded_routes(const RouteTable& table, ApiContext& context, RequestCounters& counters,
                                       FrozenParams& frozen, ArtifactManifests& manifests, const std::string& openapi);

}  // namespace orbit::server
