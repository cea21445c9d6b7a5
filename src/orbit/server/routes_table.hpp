// The table of routes: what each takes, answers, needs and costs. The server, the OpenAPI document and the tests read
// it; a route without a declared access does not compile.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orbit/control/writer.hpp"
#include "orbit/net/http.hpp"
#include "orbit/ports/backend_registry.hpp"
#include "orbit/ports/blob_store.hpp"
#include "orbit/ports/clock.hpp"
#include "orbit/ports/log_store.hpp"
#include "orbit/ports/rng.hpp"
#include "orbit/server/attempts.hpp"
#include "orbit/server/auth.hpp"
#include "orbit/server/event_hub.hpp"
#include "orbit/server/routes_frozen.hpp"
#include "orbit/server/store_pool.hpp"
#include "orbit/server/submission.hpp"
#include "orbit/wire/openapi.hpp"

namespace orbit::server {

// What the routes work on. Everything outlives the server that serves them.
struct ApiContext {
  control::Writer& writer;
  StorePool& readers;
  BlobStore& blobs;
  LogStore& logs;
  const BackendRegistry& backends;
  Clock& clock;
  Rng& rng;
  EventHub& events;
  Authenticator& authenticator;
  SubmissionService& submissions;
  AttemptService& attempts;
  std::string version;
  std::string database;  // "sqlite"
  std::int64_t leader_epoch = 0;
  WallTime started_at;
};

// Counts answers for /metrics.
struct RequestCounters {
  static constexpr int classes = 6;  // index: status / 100
  std::atomic<std::int64_t> by_class[classes] = {};
  void count(int status) {
    by_class[status >= 100 && status < 600 ? status / 100 : 5].fetch_add(1, std::memory_order_relaxed);
  }
};

// One request under way.
struct RouteContext {
  ApiContext& api;
  const net::Request& request;
  Identity caller;  // empty where anybody may
  Now now;
  const RequestCounters& counters;
  FrozenParams& frozen;
  ArtifactManifests& manifests;
  const std::string& openapi;  // the document as text
};

using RouteHandler = std::function<Result<net::Response>(RouteContext&)>;
using SchemaOf = std::function<json::Value(wire::Schemas&)>;

template <class T>
SchemaOf schema_of() {
  return [](wire::Schemas& schemas) { return schemas.of<T>(); };
}

enum class QueryKind { text, integer };

struct QueryRule {
  std::string name;
  QueryKind kind = QueryKind::text;
  std::string description;
};

struct Answer {
  int status = 200;
  std::string content_type;  // empty: no body
  SchemaOf schema;           // none: bytes
  std::string description;
};

class Endpoint {
 public:
  Endpoint(net::Method method_, std::string pattern_, Access access_, std::string operation_id_, std::string summary_,
           RouteHandler handler_)
      : method(method_),
        pattern(std::move(pattern_)),
        access(access_),
        operation_id(std::move(operation_id_)),
        summary(std::move(summary_)),
        handler(std::move(handler_)) {}

  net::Method method;
  std::string pattern;
  Access access;
  std::string operation_id;
  std::string summary;
  std::string about;
  RouteHandler handler;
  net::RouteOptions options;
  std::vector<QueryRule> query;  // any other key is refused
  std::vector<std::string> headers;
  std::string request_type;  // content type of the body
  SchemaOf request;
  std::vector<Answer> answers;
  std::vector<int> errors;  // beyond those every route has

  Endpoint& describe(std::string text) {
    about = std::move(text);
    return *this;
  }
  Endpoint& param(std::string name, std::string description, QueryKind kind = QueryKind::text) {
    query.push_back({std::move(name), kind, std::move(description)});
    return *this;
  }
  Endpoint& header(std::string name) {
    headers.push_back(std::move(name));
    return *this;
  }
  Endpoint& paged() {
    return param("limit", "How many items at most", QueryKind::integer)
        .param("cursor", "next_cursor of the page before");
  }
  Endpoint& run_in_path() { return param("project", "Project of a run that is named by its name").fails({404, 409}); }
  template <class T>
  Endpoint& takes(std::int64_t max_bytes = 1 << 20) {
    options.body = net::BodyKind::memory;
    options.max_body_bytes = max_bytes;
    request_type = "application/json";
    request = schema_of<T>();
    return *this;
  }
  Endpoint& takes_file(std::int64_t max_bytes) {
    options.body = net::BodyKind::file;
    options.max_body_bytes = max_bytes;
    request_type = "application/octet-stream";
    return *this;
  }
  template <class T>
  Endpoint& returns(int status = 200, std::string description = "OK") {
    answers.push_back({status, "application/json", schema_of<T>(), std::move(description)});
    return *this;
  }
  Endpoint& returns_bytes(std::string content_type, int status = 200, std::string description = "The bytes") {
    answers.push_back({status, std::move(content_type), {}, std::move(description)});
    return *this;
  }
  Endpoint& fails(std::initializer_list<int> statuses) {
    errors.insert(errors.end(), statuses);
    return *this;
  }
};

class RouteTable {
 public:
  // The reference is for describing the route at once; a later add() may end it.
  Endpoint& add(net::Method method, std::string pattern, Access access, std::string operation_id, std::string summary,
                RouteHandler handler) {
    return endpoints_.emplace_back(method, std::move(pattern), access, std::move(operation_id), std::move(summary),
                                   std::move(handler));
  }
  const std::vector<Endpoint>& endpoints() const { return endpoints_; }

 private:
  std::vector<Endpoint> endpoints_;
};

void add_system_routes(RouteTable& table);
void add_project_routes(RouteTable& table);
void add_catalog_routes(RouteTable& table);
void add_blob_routes(RouteTable& table);
void add_run_routes(RouteTable& table);
void add_run_report_routes(RouteTable& table);
void add_attempt_routes(RouteTable& table);
void add_log_routes(RouteTable& table);
void add_artifact_routes(RouteTable& table);
void add_event_routes(RouteTable& table);
void add_token_routes(RouteTable& table);

// All of them.
RouteTable api_routes();
// The document of that table.
json::Value openapi_of(const RouteTable& table, const std::string& version);

}  // namespace orbit::server
