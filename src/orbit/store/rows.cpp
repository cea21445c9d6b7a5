#include "orbit/store/rows.hpp"

#include <limits>

namespace orbit::store {

Project read_project(const Query::Row& row) {
  Project out = from_doc<Project>(row.text(4), "project '" + row.text(0) + "'");
  // An update rewrites the doc; these stay what the row says.
  out.name = row.text(0);
  out.version = row.integer(1);
  out.created_at = row.time(2);
  out.created_by = row.text(3);
  return out;
}

Experiment read_experiment(const Query::Row& row) {
  Experiment out;
  out.project = row.text(0);
  out.name = row.text(1);
  out.variable = row.text(2);
  out.hypothesis = row.text(3);
  out.conclusion = row.maybe_text(4);
  out.created_at = row.time(5);
  out.created_by = row.text(6);
  out.concluded_at = row.maybe_time(7);
  out.version = row.integer(8);
  return out;
}

Run read_run(const Query::Row& row) {
  const std::string what = "run " + row.text(0);
  Run out;
  out.id = row.id<RunId>(0);
  out.seq = row.integer(1);
  out.project = row.text(2);
  out.name = row.text(3);
  out.experiment = row.maybe_text(4);
  out.task = row.text(5);
  out.template_digest = row.digest(6);
  out.bundle = row.digest(7);
  out.created_at = row.time(8);
  out.created_by = row.text(9);
  out.tags = from_doc<std::vector<std::string>>(row.text(10), what);
  out.submission = from_doc<Submission>(row.text(11), what);
  out.resolved_from = from_doc<Template>(row.text(12), what);
  out.request = from_doc<ExecutionRequest>(row.text(13), what);
  out.code = from_doc<CodeRevision>(row.text(14), what);
  out.environment = from_doc<EnvironmentProfile>(row.text(15), what);
  out.data = from_doc<std::vector<DataFingerprint>>(row.text(16), what);
  return out;
}

Token read_token(const Query::Row& row) {
  Token out;
  out.id = row.id<TokenId>(0);
  out.name = row.text(1);
  const auto role = parse_role(row.text(2));
  if (!role) throw SqlError(ErrorCode::corrupt, "a stored token has an unknown role", "token '" + row.text(1) + "'");
  out.role = *role;
  out.secret = row.digest(3);
  out.created_at = row.time(4);
  out.created_by = row.text(5);
  out.expires_at = row.maybe_time(6);
  out.revoked_at = row.maybe_time(7);
  return out;
}

Intent read_intent(const Query::Row& row) {
  Intent out;
  out.key = row.text(0);
  out.kind = from_name<IntentKind>(row.text(1), "intent " + out.key);
  out.attempt = row.id<AttemptId>(2);
  out.epoch = row.integer(3);
  out.tries = static_cast<std::int32_t>(row.integer(4));
  out.not_before = row.time(5);
  out.created_at = row.time(6);
  return out;
}

Timer read_timer(const Query::Row& row) {
  Timer out;
  out.key = row.text(0);
  out.kind = from_name<TimerKind>(row.text(1), "timer " + out.key);
  out.attempt = row.id<AttemptId>(2);
  out.due = row.time(3);
  return out;
}

MetricPoint read_metric(const Query::Row& row) {
  MetricPoint out;
  out.name = row.text(0);
  out.step = row.integer(1);
  out.value = row.null(2) ? std::numeric_limits<double>::quiet_NaN() : row.real(2);
  out.at = row.time(3);
  return out;
}

}  // namespace orbit::store
