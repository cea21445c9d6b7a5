// Records for the store's tests.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "orbit/base/json.hpp"
#include "orbit/domain/change.hpp"
#include "orbit/ports/store.hpp"

namespace orbit::store::testing {

// Ids that differ; counted, so that a failing test can be repeated.
inline std::uint64_t& id_count() {
  static std::uint64_t count = 0;
  return count;
}
template <class IdType>
IdType next_id() {
  const std::uint64_t count = ++id_count();
  std::array<std::uint8_t, 10> random{};
  for (std::size_t i = 0; i < 8; ++i) random[9 - i] = static_cast<std::uint8_t>(count >> (8 * i));
  return IdType::make(WallTime{1'700'000'000'000}, random);
}

inline Digest digest(std::string_view text) {
  return Sha256::of(text);
}

inline Project project(const std::string& name) {
  Project out;
  out.name = name;
  out.description = "digits, \"quoted\" and 数字";
  out.source = "/srv/code";
  out.params = {{"lr", "1.0"}};
  out.environment = EnvironmentProfile{.any = true, .os = {}, .python = {}, .cuda = {}, .driver = {}, .packages = {}};
  out.key_files = {"*.lock"};
  out.created_at = WallTime{1'700'000'000'123};
  out.created_by = "ann";
  return out;
}

inline Experiment experiment(const std::string& project, const std::string& name) {
  Experiment out;
  out.project = project;
  out.name = name;
  out.variable = "learning rate";
  out.hypothesis = "smaller is slower";
  out.created_at = WallTime{1'700'000'001'000};
  out.created_by = "ann";
  return out;
}

inline Run run(std::int64_t seq, const std::string& project, const std::string& name) {
  Run out;
  out.id = next_id<RunId>();
  out.seq = seq;
  out.project = project;
  out.name = name;
  out.task = "training";
  out.submission.project = project;
  out.submission.task = "training";
  out.submission.params = {{"lr", "1.0"}, {"epochs", "3"}};
  out.submission.template_id = "local-host";
  out.resolved_from.id = "local-host";
  out.resolved_from.allow_overrides = {"resources.*"};
  out.template_digest = digest("template");
  out.request.values.resources.gpus = 2;
  out.bundle = digest("bundle of " + name);
  out.code.source = "/srv/code";
  out.code.key_files = {{"train.py", digest("train")}};
  out.environment.any = true;
  out.data = {DataFingerprint{"dataset", "/data/digits", 3, 1 << 20, digest("data")}};
  out.created_at = WallTime{1'700'000'002'000 + seq};
  out.created_by = "ann";
  return out;
}

inline Attempt attempt(std::int64_t seq, const Run& run, std::int32_t number = 1) {
  Attempt out;
  out.id = next_id<AttemptId>();
  out.seq = seq;
  out.run = run.id;
  out.project = run.project;
  out.number = number;
  out.created_by = "ann";
  out.created_at = WallTime{1'700'000'003'000};
  return out;
}

// The change to `state` based on `seen`.
inline UpdateAttempt moved(const Attempt& seen, AttemptState state) {
  UpdateAttempt out{seen, seen.version, seen.state};
  out.attempt.state = state;
  ++out.attempt.version;
  if (is_final(state)) out.attempt.reason = Reason::completed;
  return out;
}

inline Event event(std::int64_t seq, const RunId& run = {}) {
  Event out;
  out.seq = seq;
  out.at = WallTime{1'700'000'004'000 + seq};
  out.kind = EventKind::attempt_state;
  out.actor = "orbit";
  out.run = run;
  out.evidence = "because";
  return out;
}

inline Intent intent(const AttemptId& attempt, IntentKind kind, int n = 0) {
  Intent out;
  out.key = attempt.str() + "/" + std::string(json::name_of(kind)) + "/" + std::to_string(n);
  out.kind = kind;
  out.attempt = attempt;
  out.epoch = 1;
  out.not_before = WallTime{5};
  out.created_at = WallTime{7 + n};
  return out;
}

inline Timer timer(const AttemptId& attempt, WallTime due) {
  return Timer{attempt.str() + "/start_deadline", TimerKind::start_deadline, attempt, due};
}

inline Token token(const std::string& name) {
  Token out;
  out.id = next_id<TokenId>();
  out.name = name;
  out.role = Role::operator_;
  out.secret = digest("secret of " + name + out.id.str());
  out.created_at = WallTime{9};
  out.created_by = "admin";
  return out;
}

}  // namespace orbit::store::testing
