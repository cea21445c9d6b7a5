#include "orbit/wire/openapi.hpp"

#include "orbit/base/http_status.hpp"

#include <set>

#include "orbit/wire/problem.hpp"

namespace orbit::wire {
namespace {

std::string description_of_parameter(const std::string& name, bool rest) {
  if (name == "run") return "Id of a run, or its name (with ?project= where the name is not unique)";
  if (name == "n") return "Number of an attempt, or `latest`";
  if (name == "stream") return "stdout, stderr or execution";
  if (name == "digest") return "SHA-256 as 64 lowercase hexadecimal digits";
  if (rest) return "Relative path; may contain slashes";
  return "";
}

json::Value parameter(const std::string& in, const ParameterDoc& doc, bool required) {
  json::Object out{{"name", doc.name}, {"in", in}, {"required", required}, {"schema", doc.schema}};
  if (!doc.description.empty()) out["description"] = doc.description;
  return out;
}

json::Value content(const ContentDoc& doc) {
  json::Object media;
  media["schema"] =
      doc.schema.is_null() ? json::Value(json::Object{{"type", "string"}, {"format", "binary"}}) : doc.schema;
  return json::Object{{doc.content_type, std::move(media)}};
}

json::Value answer(const AnswerDoc& doc) {
  json::Object out{{"description", doc.description}};
  if (!doc.contents.empty()) {
    json::Object contents;
    for (const ContentDoc& one : doc.contents) {
      const json::Value media = content(one);
      for (const auto& item : media.get_object()) contents[item.key()] = item.value();
    }
    out["content"] = std::move(contents);
  }
  return out;
}

json::Value operation(Schemas& schemas, const OperationDoc& doc) {
  json::Object out{{"operationId", doc.operation_id}, {"summary", doc.summary}, {"tags", json::Array{doc.tag.c_str()}}};
  if (!doc.description.empty()) out["description"] = doc.description;
  if (doc.role) {
    out["security"] = json::Array{json::Object{{"bearer", json::Array{}}}};
    out["x-orbit-role"] = *doc.role;
  } else {
    out["security"] = json::Array{};
  }
  json::Array parameters;
  for (const std::string& name : path_parameters(doc.pattern)) {
    const bool rest = doc.pattern.find("{" + name + "...}") != std::string::npos;
    const ParameterDoc path{name, description_of_parameter(name, rest), json::Object{{"type", "string"}}};
    parameters.push_back(parameter("path", path, true));
  }
  for (const ParameterDoc& query : doc.query) parameters.push_back(parameter("query", query, false));
  for (const ParameterDoc& header : doc.headers) parameters.push_back(parameter("header", header, false));
  if (!parameters.empty()) out["parameters"] = std::move(parameters);
  if (doc.request) out["requestBody"] = json::Object{{"content", content(*doc.request)}};

  json::Object responses;
  for (const AnswerDoc& one : doc.answers) responses[std::to_string(one.status)] = answer(one);
  std::set<int> errors(doc.errors.begin(), doc.errors.end());
  errors.insert({400, 500, 503});
  if (doc.role) errors.insert({401, 403, 429});
  if (doc.request) errors.insert({408, 413});
  const ContentDoc problem{problem_content_type, schemas.of<Problem>()};
  for (const int status : errors)
    responses[std::to_string(status)] = answer({status, std::string(reason_phrase(status)), {problem}});
  out["responses"] = std::move(responses);
  return out;
}

}  // namespace

std::string openapi_path(const std::string& pattern) {
  std::string out = pattern;
  for (std::size_t at = 0; (at = out.find("...}", at)) != std::string::npos;) out.erase(at, 3);
  return out;
}

std::vector<std::string> path_parameters(const std::string& pattern) {
  std::vector<std::string> out;
  const std::string path = openapi_path(pattern);
  for (std::size_t at = 0; (at = path.find('{', at)) != std::string::npos;) {
    const std::size_t end = path.find('}', at);
    if (end == std::string::npos) break;
    out.push_back(path.substr(at + 1, end - at - 1));
    at = end;
  }
  return out;
}

json::Value openapi_document(Schemas& schemas, const std::vector<OperationDoc>& operations,
                             const std::string& version) {
  json::Object paths;
  for (const OperationDoc& doc : operations) {
    json::Value& item = paths[openapi_path(doc.pattern)];
    if (!item.is_object()) item = json::Object{};
    ORBIT_ASSERT(!item.get_object().contains(doc.method));
    item.get_object()[doc.method] = operation(schemas, doc);
  }
  json::Object out;
  out["openapi"] = "3.1.0";
  out["info"] = json::Object{{"title", "Orbit"},
                             {"version", version},
                             {"description",
                              "Times are RFC 3339 in UTC with milliseconds; units are in the keys; lists are {items, "
                              "next_cursor}; errors are problem details (RFC 9457)."}};
  out["paths"] = std::move(paths);
  out["components"] =
      json::Object{{"securitySchemes", json::Object{{"bearer", json::Object{{"type", "http"}, {"scheme", "bearer"}}}}},
                   {"schemas", schemas.components()}};
  return out;
}

}  // namespace orbit::wire
