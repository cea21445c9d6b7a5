#include "orbit/server/routes_table.hpp"

#include "orbit/server/routes_common.hpp"

namespace orbit::server {
namespace {

std::string lower(net::Method method) {
  std::string out(net::to_string(method));
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return out;
}

// "/api/v1/runs/{run}/stop" -> "runs"; everything outside the API -> "server".
std::string tag_of(const std::string& pattern) {
  constexpr std::string_view prefix = "/api/v1/";
  if (!pattern.starts_with(prefix)) return "server";
  const std::string rest = pattern.substr(prefix.size());
  if (rest == "openapi.json" || rest == "whoami" || rest == "server") return "server";
  if (rest.starts_with("projects/") && rest.find("/experiments") != std::string::npos) return "experiments";
  return rest.substr(0, rest.find('/'));
}

json::Value query_schema(QueryKind kind) {
  if (kind == QueryKind::integer) return json::Object{{"type", "integer"}, {"format", "int64"}};
  return json::Object{{"type", "string"}};
}

wire::OperationDoc operation_doc(const Endpoint& endpoint, wire::Schemas& schemas) {
  wire::OperationDoc doc;
  doc.method = lower(endpoint.method);
  doc.pattern = endpoint.pattern;
  doc.operation_id = endpoint.operation_id;
  doc.tag = tag_of(endpoint.pattern);
  doc.summary = endpoint.summary;
  doc.description = endpoint.about;
  if (const auto role = endpoint.access.role()) doc.role = std::string(role_name(*role));
  if (endpoint.access.own_only())
    doc.description += std::string(doc.description.empty() ? "" : " ") +
                       "A member does this to what is his own, an operator to everybody's.";
  for (const QueryRule& rule : endpoint.query)
    doc.query.push_back({rule.name, rule.description, query_schema(rule.kind)});
  for (const std::string& name : endpoint.headers) doc.headers.push_back({name, "", query_schema(QueryKind::text)});
  if (!endpoint.request_type.empty())
    doc.request = wire::ContentDoc{endpoint.request_type, endpoint.request ? endpoint.request(schemas) : json::Value()};
  for (const Answer& answer : endpoint.answers) {
    const json::Value schema = answer.schema ? answer.schema(schemas) : json::Value();
    // Answers of one status: other content types, or one of several types.
    const auto same = std::find_if(doc.answers.begin(), doc.answers.end(),
                                   [&](const wire::AnswerDoc& other) { return other.status == answer.status; });
    if (same == doc.answers.end()) {
      doc.answers.push_back({answer.status, answer.description, {{answer.content_type, schema}}});
      continue;
    }
    const auto content = std::find_if(same->contents.begin(), same->contents.end(), [&](const wire::ContentDoc& other) {
      return other.content_type == answer.content_type;
    });
    if (content == same->contents.end()) {
      same->contents.push_back({answer.content_type, schema});
    } else {
      json::Array choices;
      choices.push_back(content->schema);
      choices.push_back(schema);
      content->schema = json::Object{{"anyOf", std::move(choices)}};
    }
  }
  doc.errors = endpoint.errors;
  return doc;
}

}  // namespace

RouteTable api_routes() {
  RouteTable table;
  add_system_routes(table);
  add_project_routes(table);
  add_catalog_routes(table);
  add_blob_routes(table);
  add_run_routes(table);
  add_run_report_routes(table);
  add_attempt_routes(table);
  add_log_routes(table);
  add_artifact_routes(table);
  add_event_routes(table);
  add_token_routes(table);
  return table;
}

json::Value openapi_of(const RouteTable& table, const std::string& version) {
  wire::Schemas schemas;
  std::vector<wire::OperationDoc> operations;
  for (const Endpoint& endpoint : table.endpoints()) operations.push_back(operation_doc(endpoint, schemas));
  json::Array roles;
  for (const Role role : {Role::viewer, Role::member, Role::operator_, Role::admin})
    roles.emplace_back(role_name(role));
  for (const char* component : {"TokenRequest", "TokenObject", "WhoAmI"})
    schemas.refine(component, "role", json::Object{{"enum", roles}});
  return wire::openapi_document(schemas, operations, version);
}

}  // namespace orbit::server
