// The OpenAPI 3.1 document, made from the table of routes that the server serves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/json.hpp"
#include "orbit/wire/schema.hpp"

namespace orbit::wire {

struct ParameterDoc {
  std::string name;
  std::string description;
  json::Value schema;
};

struct ContentDoc {
  std::string content_type;
  json::Value schema;  // null: bytes
};

struct AnswerDoc {
  int status = 200;
  std::string description;
  std::vector<ContentDoc> contents;  // none: no body
};

struct OperationDoc {
  std::string method;   // "get"
  std::string pattern;  // "/api/v1/runs/{run}", as the server matches it
  std::string operation_id;
  std::string tag;
  std::string summary;
  std::string description;
  std::optional<std::string> role;  // the least one that may; absent: no credential needed
  std::vector<ParameterDoc> query;
  std::vector<ParameterDoc> headers;
  std::optional<ContentDoc> request;
  std::vector<AnswerDoc> answers;
  std::vector<int> errors;  // statuses that come with a Problem
};

json::Value openapi_document(Schemas& schemas, const std::vector<OperationDoc>& operations, const std::string& version);

// "/x/{path...}" -> "/x/{path}", as OpenAPI writes it.
std::string openapi_path(const std::string& pattern);
// The names in braces, in order.
std::vector<std::string> path_parameters(const std::string& pattern);

}  // namespace orbit::wire
