#include "orbit/store/changes.hpp"

#include <fmt/format.h>

#include <cmath>

#include "orbit/store/rows.hpp"

namespace orbit::store {
namespace {

constexpr Statement insert_project{
    "INSERT INTO project (name, version, created_at, created_by, doc) VALUES (:name, :version, :created_at, "
    ":created_by, :doc)"
    " ON CONFLICT DO NOTHING",
    "tiitt"};
constexpr Statement update_project{
    "UPDATE project SET version = :version, doc = :doc WHERE name = :name AND version = :seen", "itti"};
constexpr Statement insert_experiment{
    "INSERT INTO experiment (project, name, variable, hypothesis, conclusion, created_at, created_by, concluded_at, "
    "version)"
    " VALUES (:project, :name, :variable, :hypothesis, :conclusion, :created_at, :created_by, :concluded_at, :version)"
    " ON CONFLICT DO NOTHING",
    "tttttitii"};
constexpr Statement conclude_experiment{
    "UPDATE experiment SET conclusion = :conclusion, concluded_at = :concluded_at, version = :version"
    " WHERE project = :project AND name = :name AND version = :seen",
    "tiitti"};
constexpr Statement insert_run{
    "INSERT INTO run (id, seq, project, name, experiment, task, template_id, template_digest, bundle, created_at, "
    "created_by,"
    " tags, submission, template, request, code, environment, data) VALUES (:id, :seq, :project, :name, :experiment, "
    ":task,"
    " :template_id, :template_digest, :bundle, :created_at, :created_by, :tags, :submission, :template, :request, "
    ":code,"
    " :environment, :data) ON CONFLICT DO NOTHING",
    "titttttttitttttttt"};
constexpr Statement insert_tag{
    "INSERT INTO run_tag (tag, seq, project, run) VALUES (:tag, :seq, :project, :run) ON CONFLICT DO NOTHING", "titt"};
constexpr Statement insert_head{
    "INSERT INTO run_head (seq, run, project, experiment, created_by, latest_number) VALUES (:seq, :run, :project, "
    ":experiment,"
    " :created_by, :latest_number)",
    "itttti"};
constexpr Statement insert_attempt{
    "INSERT INTO attempt (id, seq, run, number, project, state, version, created_at, doc) VALUES (:id, :seq, :run, "
    ":number,"
    " :project, :state, :version, :created_at, :doc) ON CONFLICT DO NOTHING",
    "titittiit"};
constexpr Statement advance_head{
    "UPDATE run_head SET latest_number = :number, latest_attempt = :attempt, latest_state = :state"
    " WHERE run = :run AND latest_number < :than",
    "ittti"};
constexpr Statement update_attempt{
    "UPDATE attempt SET state = :state, version = :version, doc = :doc"
    " WHERE id = :id AND run = :run AND number = :number AND seq = :seq AND version = :seen_version AND state = "
    ":seen_state",
    "titttiiit"};
constexpr Statement update_head{
    "UPDATE run_head SET latest_state = :state WHERE run = :run AND latest_attempt = :attempt", "ttt"};
constexpr Statement insert_checkpoint{
    "INSERT INTO checkpoint (attempt, path, at, doc) VALUES (:attempt, :path, :at, :doc) ON CONFLICT DO NOTHING",
    "ttit"};
constexpr Statement insert_offset{
    "INSERT INTO metric_offset (attempt, end_offset) VALUES (:attempt, 0) ON CONFLICT DO NOTHING", "t"};
constexpr Statement advance_offset{
    "UPDATE metric_offset SET end_offset = :next WHERE attempt = :attempt AND end_offset = :seen", "iti"};
// A step told twice (a workload that resumed from an earlier checkpoint): the later one counts.
constexpr Statement upsert_metric{
    "INSERT INTO metric (attempt, name, step, value, at) VALUES (:attempt, :name, :step, :value, :at)"
    " ON CONFLICT (attempt, name, step) DO UPDATE SET value = excluded.value, at = excluded.at",
    "ttiri"};
constexpr Statement insert_intent{
    "INSERT INTO intent (key, kind, attempt, epoch, tries, not_before, created_at) VALUES (:key, :kind, :attempt, "
    ":epoch, :tries,"
    " :not_before, :created_at) ON CONFLICT DO NOTHING",
    "tttiiii"};
constexpr Statement retry_intent{"UPDATE intent SET tries = :tries, not_before = :not_before WHERE key = :key", "iit"};
constexpr Statement delete_intent{"DELETE FROM intent WHERE key = :key", "t"};
constexpr Statement upsert_timer{
    "INSERT INTO timer (key, kind, attempt, due) VALUES (:key, :kind, :attempt, :due)"
    " ON CONFLICT (key) DO UPDATE SET kind = excluded.kind, attempt = excluded.attempt, due = excluded.due",
    "ttti"};
constexpr Statement delete_timer{"DELETE FROM timer WHERE key = :key", "t"};
constexpr Statement insert_token{
    "INSERT INTO token (id, name, role, secret, created_at, created_by, expires_at, revoked_at) VALUES (:id, :name, "
    ":role,"
    " :secret, :created_at, :created_by, :expires_at, :revoked_at) ON CONFLICT DO NOTHING",
    "ttttitii"};
// The first revocation's time stays.
constexpr Statement revoke_token{"UPDATE token SET revoked_at = COALESCE(revoked_at, :at) WHERE id = :id", "it"};
constexpr Statement newest_event{"SELECT MAX(seq) FROM event", "", "i"};
constexpr Statement insert_event{"INSERT INTO event (seq, at, run, doc) VALUES (:seq, :at, :run, :doc)", "iitt"};

// Every pending row must hit.
void run_all(Bulk& bulk) {
  const auto wanted = static_cast<std::int64_t>(bulk.pending());
  if (bulk.run() != wanted) throw SqlError(ErrorCode::conflict, "somebody else changed the record first");
}

// The row a change is about, named so that different tables never meet.
struct RowOf {
  std::string operator()(const AddProject& change) const { return "p/" + change.project.name; }
  std::string operator()(const UpdateProject& change) const { return "p/" + change.project.name; }
  std::string operator()(const AddExperiment& change) const { return of(change.experiment); }
  std::string operator()(const ConcludeExperiment& change) const { return of(change.experiment); }
  std::string operator()(const AddRun& change) const { return "r/" + change.run.id.str(); }
  std::string operator()(const AddAttempt& change) const { return "a/" + change.attempt.id.str(); }
  std::string operator()(const UpdateAttempt& change) const { return "a/" + change.attempt.id.str(); }
  std::string operator()(const AddCheckpoint& change) const { return "c/" + change.checkpoint.attempt.str(); }
  std::string operator()(const AddMetrics& change) const { return "m/" + change.attempt.str(); }
  std::string operator()(const AddIntent& change) const { return "i/" + change.intent.key; }
  std::string operator()(const RetryIntent& change) const { return "i/" + change.intent.key; }
  std::string operator()(const FinishIntent& change) const { return "i/" + change.key; }
  std::string operator()(const SetTimer& change) const { return "t/" + change.timer.key; }
  std::string operator()(const DropTimer& change) const { return "t/" + change.key; }
  std::string operator()(const AddToken& change) const { return "k/" + change.token.id.str(); }
  std::string operator()(const RevokeToken& change) const { return "k/" + change.id.str(); }
  static std::string of(const Experiment& experiment) { return "e/" + experiment.project + "/" + experiment.name; }
};

}  // namespace

void BatchWriter::apply(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    auto [row, fresh] = touched_.try_emplace(std::visit(RowOf{}, change), change.index());
    if (!fresh && row->second > change.index()) {
      const std::string key = row->first;
      flush();
      touched_[key] = change.index();
    } else {
      row->second = change.index();
    }
    std::visit([this](const auto& value) { add(value); }, change);
  }
  flush();
}

void BatchWriter::append(const std::vector<Event>& events) {
  if (events.empty()) return;
  // Followers ask for what comes after the last one they saw: a number at or below it would never be delivered.
  const std::int64_t newest = sql_.query(newest_event).integer({}).value_or(0);
  if (events.front().seq <= newest)
    throw SqlError(ErrorCode::conflict,
                   fmt::format("event {} comes after event {} was recorded", events.front().seq, newest));
  Bulk& bulk = sql_.bulk(insert_event);
  for (const Event& event : events) bulk.add({event.seq, event.at, event.run, json::encode(event)});
  run_all(bulk);
}

void BatchWriter::add(const AddProject& change) {
  const Project& project = change.project;
  sql_.bulk(insert_project)
      .add({project.name, project.version, project.created_at, project.created_by, json::encode(project)});
}

void BatchWriter::add(const UpdateProject& change) {
  const Project& project = change.project;
  sql_.bulk(update_project).add({project.version + 1, json::encode(project), project.name, project.version});
}

void BatchWriter::add(const AddExperiment& change) {
  const Experiment& e = change.experiment;
  sql_.bulk(insert_experiment)
      .add({e.project, e.name, e.variable, e.hypothesis, e.conclusion, e.created_at, e.created_by, e.concluded_at,
            e.version});
}

void BatchWriter::add(const ConcludeExperiment& change) {
  const Experiment& e = change.experiment;
  sql_.bulk(conclude_experiment).add({e.conclusion, e.concluded_at, e.version + 1, e.project, e.name, e.version});
}

void BatchWriter::add(const AddRun& change) {
  const Run& run = change.run;
  sql_.bulk(insert_run)
      .add({run.id, run.seq, run.project, run.name, run.experiment, run.task, run.resolved_from.id, run.template_digest,
            run.bundle, run.created_at, run.created_by, json::encode(run.tags), json::encode(run.submission),
            json::encode(run.resolved_from), json::encode(run.request), json::encode(run.code),
            json::encode(run.environment), json::encode(run.data)});
  for (const std::string& tag : run.tags) sql_.bulk(insert_tag).add({tag, run.seq, run.project, run.id});
  sql_.bulk(insert_head).add({run.seq, run.id, run.project, run.experiment, run.created_by, 0});
}

void BatchWriter::add(const AddAttempt& change) {
  const Attempt& attempt = change.attempt;
  const auto state = json::name_of(attempt.state);
  sql_.bulk(insert_attempt)
      .add({attempt.id, attempt.seq, attempt.run, attempt.number, attempt.project, state, attempt.version,
            attempt.created_at, json::encode(attempt)});
  sql_.bulk(advance_head).add({attempt.number, attempt.id, state, attempt.run, attempt.number});
}

void BatchWriter::add(const UpdateAttempt& change) {
  const Attempt& attempt = change.attempt;
  const auto state = json::name_of(attempt.state);
  sql_.bulk(update_attempt)
      .add({state, attempt.version, json::encode(attempt), attempt.id, attempt.run, attempt.number, attempt.seq,
            change.seen_version, json::name_of(change.seen_state)});
  if (attempt.state != change.seen_state) sql_.bulk(update_head).add({state, attempt.run, attempt.id});
}

void BatchWriter::add(const AddCheckpoint& change) {
  const CheckpointRecord& record = change.checkpoint.record;
  sql_.bulk(insert_checkpoint).add({change.checkpoint.attempt, record.path, record.at, json::encode(record)});
}

void BatchWriter::add(const AddMetrics& change) {
  sql_.bulk(insert_offset).add({change.attempt});
  sql_.bulk(advance_offset).add({change.to_offset, change.attempt, change.from_offset});
  for (const MetricPoint& point : change.points) {
    const std::optional<double> value = std::isnan(point.value) ? std::nullopt : std::optional(point.value);
    sql_.bulk(upsert_metric).add({change.attempt, point.name, point.step, value, point.at});
  }
}

void BatchWriter::add(const AddIntent& change) {
  const Intent& intent = change.intent;
  sql_.bulk(insert_intent)
      .add({intent.key, json::name_of(intent.kind), intent.attempt, intent.epoch, intent.tries, intent.not_before,
            intent.created_at});
}

void BatchWriter::add(const RetryIntent& change) {
  sql_.bulk(retry_intent).add({change.intent.tries, change.intent.not_before, change.intent.key});
}

void BatchWriter::add(const FinishIntent& change) {
  sql_.bulk(delete_intent).add({change.key});
}

void BatchWriter::add(const SetTimer& change) {
  const Timer& timer = change.timer;
  sql_.bulk(upsert_timer).add({timer.key, json::name_of(timer.kind), timer.attempt, timer.due});
}

void BatchWriter::add(const DropTimer& change) {
  sql_.bulk(delete_timer).add({change.key});
}

void BatchWriter::add(const AddToken& change) {
  const Token& token = change.token;
  sql_.bulk(insert_token)
      .add({token.id, token.name, role_name(token.role), token.secret, token.created_at, token.created_by,
            token.expires_at, token.revoked_at});
}

void BatchWriter::add(const RevokeToken& change) {
  sql_.bulk(revoke_token).add({change.at, change.id});
}

void BatchWriter::flush() {
  touched_.clear();
  run_all(sql_.bulk(insert_project));
  run_all(sql_.bulk(update_project));
  run_all(sql_.bulk(insert_experiment));
  run_all(sql_.bulk(conclude_experiment));
  run_all(sql_.bulk(insert_run));
  sql_.bulk(insert_tag).run();  // a tag named twice is one tag
  run_all(sql_.bulk(insert_head));
  run_all(sql_.bulk(insert_attempt));
  sql_.bulk(advance_head).run();  // an older number leaves the head where it is
  run_all(sql_.bulk(update_attempt));
  sql_.bulk(update_head).run();  // only the latest attempt has a say
  sql_.bulk(insert_checkpoint).run();
  sql_.bulk(insert_offset).run();
  run_all(sql_.bulk(advance_offset));
  sql_.bulk(upsert_metric).run();
  sql_.bulk(insert_intent).run();
  run_all(sql_.bulk(retry_intent));
  sql_.bulk(delete_intent).run();
  sql_.bulk(upsert_timer).run();
  sql_.bulk(delete_timer).run();
  run_all(sql_.bulk(insert_token));
  run_all(sql_.bulk(revoke_token));
}

void BatchRules::check(const std::vector<Change>& changes, const std::vector<Event>& events) {
  for (const Change& change : changes) {
    if (const auto* update = std::get_if<UpdateAttempt>(&change)) {
      const Attempt& attempt = update->attempt;
      if (is_final(update->seen_state))
        throw SqlError(ErrorCode::conflict, fmt::format("attempt {} has ended as {} and never changes",
                                                        attempt.id.str(), json::name_of(update->seen_state)));
      if (attempt.version != update->seen_version + 1)
        throw SqlError(ErrorCode::invalid_argument,
                       fmt::format("version {} of attempt {} does not follow version {}", attempt.version,
                                   attempt.id.str(), update->seen_version),
                       "attempt.version");
    } else if (const auto* metrics = std::get_if<AddMetrics>(&change)) {
      if (metrics->from_offset < 0 || metrics->to_offset < metrics->from_offset)
        throw SqlError(ErrorCode::invalid_argument,
                       fmt::format("metrics of attempt {}: bytes {} to {} are no range", metrics->attempt.str(),
                                   metrics->from_offset, metrics->to_offset),
                       "to_offset");
    } else if (const auto* added = std::get_if<AddAttempt>(&change)) {
      if (added->attempt.seq <= 0)
        throw SqlError(ErrorCode::invalid_argument, fmt::format("attempt {} has no number", added->attempt.id.str()),
                       "attempt.seq");
    } else if (const auto* run = std::get_if<AddRun>(&change)) {
      if (run->run.seq <= 0)
        throw SqlError(ErrorCode::invalid_argument, fmt::format("run {} has no number", run->run.id.str()), "run.seq");
    }
  }
  std::int64_t last = 0;
  for (const Event& event : events) {
    if (event.seq <= last)
      throw SqlError(ErrorCode::invalid_argument, fmt::format("event number {} does not follow {}", event.seq, last),
                     "event.seq");
    last = event.seq;
  }
}

}  // namespace orbit::store
