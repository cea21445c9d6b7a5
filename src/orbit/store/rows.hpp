// Records as rows.
#pragma once

#include <string>
#include <string_view>

#include "orbit/base/json.hpp"
#include "orbit/domain/records.hpp"
#include "orbit/store/sql.hpp"

namespace orbit::store {

// A stored JSON text; throws `corrupt`, naming what could not be read.
template <class T>
T from_doc(const std::string& text, std::string_view what) {
  auto decoded = json::decode<T>(text, json::From::ours);
  if (!decoded)
    throw SqlError(ErrorCode::corrupt, "a stored record cannot be read: " + decoded.error().text(), std::string(what));
  return std::move(*decoded);
}
template <class E>
E from_name(const std::string& text, std::string_view what) {
  auto parsed = json::parse_enum<E>(text);
  if (!parsed)
    throw SqlError(ErrorCode::corrupt, "a stored record cannot be read: " + parsed.error().text(), std::string(what));
  return *parsed;
}

// The columns that the readers below expect, in their order.
constexpr std::string_view project_columns = "name, version, created_at, created_by, doc";
constexpr std::string_view project_types = "tiitt";
Project read_project(const Query::Row& row);

constexpr std::string_view experiment_columns =
    "project, name, variable, hypothesis, conclusion, created_at, created_by, concluded_at, version";
constexpr std::string_view experiment_types = "tttttitii";
Experiment read_experiment(const Query::Row& row);

constexpr std::string_view run_columns =
    "r.id, r.seq, r.project, r.name, r.experiment, r.task, r.template_digest, r.bundle, r.created_at, r.created_by, "
    "r.tags, "
    "r.submission, r.template, r.request, r.code, r.environment, r.data";
constexpr std::string_view run_types = "tittttttitttttttt";
Run read_run(const Query::Row& row);

constexpr std::string_view token_columns = "id, name, role, secret, created_at, created_by, expires_at, revoked_at";
constexpr std::string_view token_types = "ttttitii";
Token read_token(const Query::Row& row);

constexpr std::string_view intent_columns = "key, kind, attempt, epoch, tries, not_before, created_at";
constexpr std::string_view intent_types = "tttiiii";
Intent read_intent(const Query::Row& row);

constexpr std::string_view timer_columns = "key, kind, attempt, due";
constexpr std::string_view timer_types = "ttti";
Timer read_timer(const Query::Row& row);

constexpr std::string_view metric_columns = "name, step, value, at";
constexpr std::string_view metric_types = "tiri";
MetricPoint read_metric(const Query::Row& row);

}  // namespace orbit::store
