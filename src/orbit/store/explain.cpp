#include "orbit/store/explain.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "orbit/store/rows.hpp"

namespace orbit::store {
namespace {

constexpr Statement project_version{"SELECT version FROM project WHERE name = :name", "t", "i"};
constexpr Statement experiment_version{"SELECT version FROM experiment WHERE project = :project AND name = :name", "tt",
                                       "i"};
constexpr Statement run_by_id{"SELECT 1 FROM run WHERE id = :id", "t", "i"};
constexpr Statement run_by_seq{"SELECT 1 FROM run WHERE seq = :seq", "i", "i"};
constexpr Statement run_by_name{"SELECT 1 FROM run WHERE project = :project AND name = :name", "tt", "i"};
constexpr Statement attempt_by_number{"SELECT 1 FROM attempt WHERE run = :run AND number = :number", "ti", "i"};
constexpr Statement attempt_now{"SELECT version, state, run, number, seq FROM attempt WHERE id = :id", "t", "ittii"};
constexpr Statement offset_now{"SELECT end_offset FROM metric_offset WHERE attempt = :attempt", "t", "i"};
constexpr Statement intent_by_key{"SELECT 1 FROM intent WHERE key = :key", "t", "i"};
constexpr Statement attempt_by_seq{"SELECT 1 FROM attempt WHERE seq = :seq", "i", "i"};
constexpr Statement token_by_id{"SELECT 1 FROM token WHERE id = :id", "t", "i"};
constexpr Statement token_by_secret{"SELECT 1 FROM token WHERE secret = :secret", "t", "i"};

using Verdict = std::optional<Error>;
Verdict conflict(std::string message, std::string field = {}, std::string hint = {}) {
  return Error{ErrorCode::conflict, std::move(message), std::move(field), std::move(hint)};
}

// Walks the batch in order over what is stored plus what the batch has changed so far.
class Walk {
 public:
  explicit Walk(Sql& sql) : sql_(sql) {}

  Verdict operator()(const AddProject& change) {
    if (version_of(change.project.name))
      return conflict(fmt::format("project '{}' exists already", change.project.name), "name", "choose another name");
    projects_[change.project.name] = change.project.version;
    return {};
  }
  Verdict operator()(const UpdateProject& change) {
    return moved("project '" + change.project.name + "'", version_of(change.project.name), change.project.version,
                 projects_[change.project.name]);
  }
  Verdict operator()(const AddExperiment& change) {
    const Experiment& e = change.experiment;
    if (!version_of(e.project)) return no_project(e.project);
    if (version_of(e.project, e.name))
      return conflict(fmt::format("experiment '{}' exists already in project '{}'", e.name, e.project), "name",
                      "choose another name");
    experiments_[{e.project, e.name}] = e.version;
    return {};
  }
  Verdict operator()(const ConcludeExperiment& change) {
    const Experiment& e = change.experiment;
    return moved(fmt::format("experiment '{}' of project '{}'", e.name, e.project), version_of(e.project, e.name),
                 e.version, experiments_[{e.project, e.name}]);
  }
  Verdict operator()(const AddRun& change) {
    const Run& run = change.run;
    if (!version_of(run.project)) return no_project(run.project);
    if (run.experiment && !version_of(run.project, *run.experiment))
      return conflict(fmt::format("project '{}' has no experiment '{}'", run.project, *run.experiment), "experiment",
                      "create it first");
    if (names_.contains({run.project, run.name}) || there(run_by_name, {run.project, run.name}))
      return conflict(fmt::format("a run named '{}' exists already in project '{}'", run.name, run.project), "name",
                      "choose another name, or leave it out and one is given");
    if (runs_.contains(run.id.str()) || there(run_by_id, {run.id}))
      return conflict(fmt::format("run {} is recorded already", run.id.str()));
    if (seqs_.contains(run.seq) || there(run_by_seq, {run.seq}))
      return conflict(fmt::format("the number {} is another run's", run.seq));
    names_.insert({run.project, run.name});
    runs_.insert(run.id.str());
    seqs_.insert(run.seq);
    return {};
  }
  Verdict operator()(const AddAttempt& change) {
    const Attempt& attempt = change.attempt;
    if (!runs_.contains(attempt.run.str()) && !there(run_by_id, {attempt.run}))
      return conflict(fmt::format("run {} is not recorded", attempt.run.str()));
    if (now(attempt.id)) return conflict(fmt::format("attempt {} is recorded already", attempt.id.str()));
    if (numbers_.contains({attempt.run.str(), attempt.number}) ||
        there(attempt_by_number, {attempt.run, attempt.number}))
      return conflict(fmt::format("run {} has an attempt {} already", attempt.run.str(), attempt.number));
    if (attempt_seqs_.contains(attempt.seq) || there(attempt_by_seq, {attempt.seq}))
      return conflict(fmt::format("the number {} is another attempt's", attempt.seq));
    attempt_seqs_.insert(attempt.seq);
    numbers_.insert({attempt.run.str(), attempt.number});
    attempts_[attempt.id.str()] = {attempt.version, attempt.state, attempt.run.str(), attempt.number, attempt.seq};
    return {};
  }
  Verdict operator()(const UpdateAttempt& change) {
    const Attempt& attempt = change.attempt;
    AttemptNow* row = now(attempt.id);
    if (row == nullptr) return no_attempt(attempt.id);
    if (is_final(row->state))
      return conflict(
          fmt::format("attempt {} has ended as {} and never changes", attempt.id.str(), json::name_of(row->state)));
    if (row->run != attempt.run.str() || row->number != attempt.number || row->seq != attempt.seq)
      return conflict(fmt::format("attempt {} is attempt {} of run {}: that never changes", attempt.id.str(),
                                  row->number, row->run));
    if (row->version != change.seen_version || row->state != change.seen_state)
      return conflict(
          fmt::format("attempt {} changed meanwhile: it is {} at version {}, the change is based on {} at version {}",
                      attempt.id.str(), json::name_of(row->state), row->version, json::name_of(change.seen_state),
                      change.seen_version));
    row->version = attempt.version;
    row->state = attempt.state;
    return {};
  }
  Verdict operator()(const AddCheckpoint& change) { return needs(change.checkpoint.attempt); }
  Verdict operator()(const AddMetrics& change) {
    if (auto missing = needs(change.attempt)) return missing;
    auto& offset = offsets_[change.attempt.str()];
    if (!offset) offset = sql_.query(offset_now).integer({change.attempt}).value_or(0);
    if (*offset != change.from_offset)
      return conflict(fmt::format("metrics of attempt {} are recorded up to byte {}, these begin at byte {}",
                                  change.attempt.str(), *offset, change.from_offset));
    offset = change.to_offset;
    return {};
  }
  Verdict operator()(const AddIntent& change) {
    intents_[change.intent.key] = true;
    return needs(change.intent.attempt);
  }
  Verdict operator()(const RetryIntent& change) {
    const std::string& key = change.intent.key;
    const auto it = intents_.find(key);
    if (it == intents_.end() ? there(intent_by_key, {key}) : it->second) return {};
    return conflict(fmt::format("intent {} is not open", key));
  }
  Verdict operator()(const FinishIntent& change) {
    intents_[change.key] = false;
    return {};
  }
  Verdict operator()(const SetTimer& change) { return needs(change.timer.attempt); }
  Verdict operator()(const DropTimer&) { return {}; }
  Verdict operator()(const AddToken& change) {
    const Token& token = change.token;
    if (tokens_.contains(token.id.str()) || there(token_by_id, {token.id}))
      return conflict(fmt::format("token {} is recorded already", token.id.str()));
    if (secrets_.contains(token.secret.hex()) || there(token_by_secret, {token.secret}))
      return conflict("another token has this secret");
    tokens_.insert(token.id.str());
    secrets_.insert(token.secret.hex());
    return {};
  }
  Verdict operator()(const RevokeToken& change) {
    if (tokens_.contains(change.id.str()) || there(token_by_id, {change.id})) return {};
    return conflict(fmt::format("token {} is not recorded", change.id.str()));
  }

 private:
  struct AttemptNow {
    std::int64_t version = 0;
    AttemptState state = AttemptState::submitted;
    std::string run;
    std::int64_t number = 0;
    std::int64_t seq = 0;
  };

  bool there(const Statement& statement, std::initializer_list<Arg> arguments) {
    return sql_.query(statement).integer(arguments).has_value();
  }
  std::optional<std::int64_t> version_of(const std::string& project) {
    auto& version = projects_[project];
    if (!version) version = sql_.query(project_version).integer({project});
    return version;
  }
  std::optional<std::int64_t> version_of(const std::string& project, const std::string& experiment) {
    auto& version = experiments_[{project, experiment}];
    if (!version) version = sql_.query(experiment_version).integer({project, experiment});
    return version;
  }
  AttemptNow* now(const AttemptId& id) {
    if (const auto it = attempts_.find(id.str()); it != attempts_.end()) return &it->second;
    std::optional<AttemptNow> found;
    sql_.query(attempt_now).each({id}, [&](const Query::Row& row) {
      found = {row.integer(0), from_name<AttemptState>(row.text(1), "attempt " + id.str()), row.text(2), row.integer(3),
               row.integer(4)};
    });
    return found ? &attempts_.emplace(id.str(), *found).first->second : nullptr;
  }
  Verdict needs(const AttemptId& id) { return now(id) == nullptr ? no_attempt(id) : std::nullopt; }
  static Verdict no_attempt(const AttemptId& id) {
    return conflict(fmt::format("attempt {} is not recorded", id.str()));
  }
  static Verdict no_project(const std::string& name) {
    return conflict(fmt::format("there is no project '{}'", name), "project", "create it first: orbit project create");
  }
  static Verdict moved(const std::string& what, std::optional<std::int64_t> stored, std::int64_t seen,
                       std::optional<std::int64_t>& next) {
    if (!stored) return conflict(what + " is not recorded");
    if (*stored != seen)
      return conflict(fmt::format("{} changed meanwhile: it is at version {}, the change is based on version {}", what,
                                  *stored, seen),
                      "", "look at it again, then repeat the change");
    next = seen + 1;
    return {};
  }

  Sql& sql_;
  std::map<std::string, std::optional<std::int64_t>> projects_;
  std::map<std::pair<std::string, std::string>, std::optional<std::int64_t>> experiments_;
  std::map<std::string, AttemptNow> attempts_;
  std::map<std::string, std::optional<std::int64_t>> offsets_;
  std::map<std::string, bool> intents_;  // open?
  std::set<std::pair<std::string, std::string>> names_;
  std::set<std::pair<std::string, std::int32_t>> numbers_;
  std::set<std::string> runs_, tokens_, secrets_;
  std::set<std::int64_t> seqs_, attempt_seqs_;
};

}  // namespace

std::optional<Error> explain(Sql& sql, const std::vector<Change>& changes) {
  Walk walk(sql);
  for (const Change& change : changes)
    if (auto found = std::visit(walk, change)) return found;
  return {};
}

}  // namespace orbit::store
