#include "orbit/wire/convert.hpp"

#include <algorithm>
#include <cmath>

namespace orbit::wire {
namespace {

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace

AttemptObject attempt_object(const Attempt& attempt, WallTime now) {
  AttemptObject out;
  out.id = attempt.id.str();
  out.number = attempt.number;
  out.state = attempt.state;
  out.reason = attempt.reason;
  if (attempt.reason) out.blame = blame_of(*attempt.reason);
  out.detail = attempt.detail;
  out.reachability = attempt.reachability;
  out.archive = attempt.archive;
  out.desired = attempt.desired;
  out.placement = json::name_of(attempt.placement);
  out.launch = json::name_of(attempt.launch);
  out.node = unless_empty(attempt.target);
  out.resume = attempt.resume;
  out.created_by = attempt.created_by;
  out.created_at = attempt.created_at;
  out.started_at = attempt.started_at;
  out.ended_at = attempt.ended_at;
  if (attempt.started_at && (attempt.ended_at || !is_final(attempt.state))) {
    const WallTime until = attempt.ended_at.value_or(now);
    out.duration_s = std::max<std::int64_t>(0, until.ms - attempt.started_at->ms) / 1000;
  }
  out.exit_code = attempt.exit_code;
  out.signal = attempt.signal;
  out.artifact_count = attempt.artifact_count;
  out.artifact_bytes = attempt.artifact_bytes;
  if (!attempt.artifacts.empty()) out.artifacts_digest = attempt.artifacts;
  if (attempt.result) out.environment = attempt.result->environment;
  return out;
}

RunObject run_object(const Run& run, const std::vector<Attempt>& attempts,
                     const std::map<std::string, std::string>& params, WallTime now) {
  RunObject out;
  out.id = run.id.str();
  out.project = run.project;
  out.name = run.name;
  out.experiment = run.experiment;
  out.tags = run.tags;
  out.task = run.task;
  out.bundle_digest = run.bundle;
  out.template_id = run.resolved_from.id;
  out.template_digest = run.template_digest;
  out.code = run.code;
  out.environment = run.environment;
  out.data = run.data;
  for (const auto& [key, text] : params) {
    auto parsed = json::parse(text);
    out.params_text.emplace(key, to_valid_utf8(text));
    out.params.emplace(key, parsed ? std::move(*parsed) : json::Value(to_valid_utf8(text)));
  }
  out.created_at = run.created_at;
  out.created_by = run.created_by;
  for (const Attempt& attempt : attempts) {
    out.attempts.push_back(attempt_object(attempt, now));
    if (attempt.state == AttemptState::succeeded) out.succeeded_attempt = attempt.number;
  }
  if (!attempts.empty()) {
    out.state = attempts.back().state;
    out.reason = attempts.back().reason;
  }
  return out;
}

EventObject event_object(const Event& event) {
  EventObject out;
  out.seq = event.seq;
  out.at = event.at;
  out.kind = event.kind;
  out.actor = event.actor;
  out.project = event.project;
  out.run = unless_empty(event.run.str());
  out.attempt = unless_empty(event.attempt.str());
  out.from = event.from;
  out.to = event.to;
  out.reason = event.reason;
  out.evidence = to_valid_utf8(event.evidence);
  return out;
}

TokenObject token_object(const Token& token) {
  TokenObject out;
  out.id = token.id.str();
  out.name = token.name;
  out.role = role_name(token.role);
  out.created_at = token.created_at;
  out.created_by = token.created_by;
  out.expires_at = token.expires_at;
  out.revoked_at = token.revoked_at;
  return out;
}

MetricObject metric_object(const MetricPoint& point) {
  MetricObject out{point.name, point.step, std::nullopt, point.at};
  if (std::isfinite(point.value)) out.value = point.value;
  return out;
}

}  // namespace orbit::wire
