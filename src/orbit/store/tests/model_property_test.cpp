// Random batches against a model of a few maps: the store accepts what the model accepts, and afterwards both hold the
// same.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "orbit/store/tests/sqlite_backend.hpp"

namespace orbit::store::testing {
namespace {

struct Model {
  std::map<std::string, Project> projects;
  std::map<std::string, Run> runs;          // by name
  std::map<std::string, Attempt> attempts;  // by id
  std::map<std::string, std::pair<std::int64_t, std::map<std::pair<std::string, std::int64_t>, double>>> metrics;
  std::map<std::string, std::map<std::string, CheckpointRecord>> checkpoints;
  std::map<std::string, Intent> intents;
  std::map<std::string, Timer> timers;
  std::map<std::string, Token> tokens;

  // False: the change conflicts.
  bool operator()(const AddProject& c) { return projects.emplace(c.project.name, c.project).second; }
  bool operator()(const UpdateProject& c) {
    const auto it = projects.find(c.project.name);
    if (it == projects.end() || it->second.version != c.project.version) return false;
    it->second.description = c.project.description;
    ++it->second.version;
    return true;
  }
  bool operator()(const AddExperiment&) { return true; }
  bool operator()(const ConcludeExperiment&) { return true; }
  bool operator()(const AddRun& c) {
    if (!projects.contains(c.run.project)) return false;
    for (const auto& [name, run] : runs)
      if (run.seq == c.run.seq) return false;
    return runs.emplace(c.run.name, c.run).second;
  }
  bool operator()(const AddAttempt& c) {
    bool known = false;
    for (const auto& [name, run] : runs) known = known || run.id == c.attempt.run;
    if (!known) return false;
    for (const auto& [id, attempt] : attempts)
      if ((attempt.run == c.attempt.run && attempt.number == c.attempt.number) || attempt.seq == c.attempt.seq)
        return false;
    return attempts.emplace(c.attempt.id.str(), c.attempt).second;
  }
  bool operator()(const UpdateAttempt& c) {
    const auto it = attempts.find(c.attempt.id.str());
    if (it == attempts.end() || is_final(it->second.state)) return false;
    if (it->second.version != c.seen_version || it->second.state != c.seen_state) return false;
    it->second = c.attempt;
    return true;
  }
  bool operator()(const AddCheckpoint& c) {
    if (!attempts.contains(c.checkpoint.attempt.str())) return false;
    checkpoints[c.checkpoint.attempt.str()].emplace(c.checkpoint.record.path, c.checkpoint.record);
    return true;
  }
  bool operator()(const AddMetrics& c) {
    if (!attempts.contains(c.attempt.str())) return false;
    auto& [offset, points] = metrics[c.attempt.str()];
    if (offset != c.from_offset) return false;
    offset = c.to_offset;
    for (const MetricPoint& point : c.points) points[{point.name, point.step}] = point.value;
    return true;
  }
  bool operator()(const AddIntent& c) {
    intents.emplace(c.intent.key, c.intent);
    return attempts.contains(c.intent.attempt.str());
  }
  bool operator()(const RetryIntent& c) {
    const auto it = intents.find(c.intent.key);
    if (it == intents.end()) return false;
    it->second.tries = c.intent.tries;
    it->second.not_before = c.intent.not_before;
    return true;
  }
  bool operator()(const FinishIntent& c) {
    intents.erase(c.key);
    return true;
  }
  bool operator()(const SetTimer& c) {
    timers.insert_or_assign(c.timer.key, c.timer);
    return attempts.contains(c.timer.attempt.str());
  }
  bool operator()(const DropTimer& c) {
    timers.erase(c.key);
    return true;
  }
  bool operator()(const AddToken& c) { return tokens.emplace(c.token.id.str(), c.token).second; }
  bool operator()(const RevokeToken& c) {
    const auto it = tokens.find(c.id.str());
    if (it == tokens.end()) return false;
    if (!it->second.revoked_at) it->second.revoked_at = c.at;
    return true;
  }
};

// Few names and ids, so that changes meet.
class Changes {
 public:
  Changes() {
    for (int i = 0; i < 4; ++i) runs_.push_back(run(i + 1, i % 2 == 0 ? "p0" : "p1", "run-" + std::to_string(i)));
    for (int i = 0; i < 6; ++i) attempts_.push_back(attempt(i + 1, runs_[static_cast<std::size_t>(i % 4)], i / 4 + 1));
    for (int i = 0; i < 3; ++i) tokens_.push_back(token("t" + std::to_string(i)));
  }

  Change any(const Model& model) {
    const Attempt& a = attempts_[pick(attempts_.size())];
    switch (pick(16)) {
      case 0:
        return AddProject{project(name("p", 3))};
      case 1: {
        Project next = project(name("p", 3));
        const auto it = model.projects.find(next.name);
        next.version = it != model.projects.end() && likely() ? it->second.version : static_cast<std::int64_t>(pick(4));
        next.description = name("text", 100);
        return UpdateProject{next};
      }
      case 2:
      case 3:
        return AddRun{runs_[pick(runs_.size())]};
      case 4:
      case 5:
        return AddAttempt{a, {}, {}};
      case 6:
      case 7:
      case 8: {
        const auto it = model.attempts.find(a.id.str());
        Attempt seen = it != model.attempts.end() && likely() ? it->second : a;
        UpdateAttempt out = moved(seen, static_cast<AttemptState>(pick(10)));
        if (is_final(out.seen_state))
          out.seen_state = AttemptState::running;  // what the store refuses without looking is tested apart
        out.attempt.detail = name("detail", 100);
        return out;
      }
      case 9:
        return AddCheckpoint{
            {a.id, {name("checkpoints/", 3), 1, static_cast<std::int64_t>(pick(9)), 2, digest("c"), WallTime{1}}}};
      case 10: {
        const auto it = model.metrics.find(a.id.str());
        const std::int64_t from = it != model.metrics.end() && likely() ? it->second.first : 0;
        return AddMetrics{
            a.id,
            from,
            from + static_cast<std::int64_t>(pick(3)),
            {{name("m", 2), static_cast<std::int64_t>(pick(3)), static_cast<double>(pick(1000)) / 7, WallTime{1}}}};
      }
      case 11: {
        Intent value = intent(a.id, IntentKind::stop, static_cast<int>(pick(2)));
        value.epoch = static_cast<std::int64_t>(pick(50));
        if (likely()) return AddIntent{value};
        value.tries = static_cast<std::int32_t>(pick(50));
        return RetryIntent{value};
      }
      case 12:
        return FinishIntent{intent(a.id, IntentKind::stop, static_cast<int>(pick(2))).key};
      case 13:
        return SetTimer{timer(a.id, WallTime{static_cast<std::int64_t>(pick(100))})};
      case 14:
        return DropTimer{timer(a.id, {}).key};
      default:
        if (likely()) return AddToken{tokens_[pick(tokens_.size())]};
        return RevokeToken{tokens_[pick(tokens_.size())].id, WallTime{static_cast<std::int64_t>(pick(100))}};
    }
  }
  std::size_t pick(std::size_t count) { return *rc::gen::inRange<std::size_t>(0, count); }

 private:
  bool likely() { return pick(8) != 0; }
  std::string name(const std::string& prefix, std::size_t count) { return prefix + std::to_string(pick(count)); }

  std::vector<orbit::Run> runs_;
  std::vector<Attempt> attempts_;
  std::vector<Token> tokens_;
};

template <class T>
std::multiset<std::string> texts(const std::vector<T>& values) {
  std::multiset<std::string> out;
  for (const T& value : values) out.insert(json_of(value));
  return out;
}
template <class Key, class T>
std::multiset<std::string> texts(const std::map<Key, T>& values) {
  std::multiset<std::string> out;
  for (const auto& [key, value] : values) out.insert(json_of(value));
  return out;
}

void same(Store& store, StoreReader& reader, const Model& model) {
  RC_ASSERT(texts(reader.projects().value()) == texts(model.projects));
  RC_ASSERT(texts(reader.tokens().value()) == texts(model.tokens));
  const auto views = reader.runs({}, {}).value();
  RC_ASSERT(views.size() == model.runs.size());
  std::map<std::string, std::int64_t> counts;
  std::vector<Attempt> live;
  for (const RunView& view : views) {
    RC_ASSERT(json_of(view.run) == json_of(model.runs.at(view.run.name)));
    const Attempt* latest = nullptr;
    std::size_t count = 0;
    for (const auto& [id, attempt] : model.attempts)
      if (attempt.run == view.run.id) {
        ++count;
        if (latest == nullptr || attempt.number > latest->number) latest = &attempt;
      }
    RC_ASSERT(view.attempts.size() == count);
    for (const Attempt& attempt : view.attempts)
      RC_ASSERT(json_of(attempt) == json_of(model.attempts.at(attempt.id.str())));
    if (latest == nullptr) continue;
    RunFilter filter;
    filter.state = latest->state;
    bool found = false;
    const auto of_state = reader.runs(filter, {});
    for (const RunView& other : *of_state) found = found || other.run.id == view.run.id;
    RC_ASSERT(found);
  }
  for (const auto& [id, attempt] : model.attempts) {
    ++counts[std::string(json::name_of(attempt.state))];
    bool open = !is_final(attempt.state);
    for (const auto& [key, intent] : model.intents) open = open || intent.attempt == attempt.id;
    if (open) live.push_back(attempt);

    const auto points = reader.metrics(attempt.id, "").value();
    const auto it = model.metrics.find(id);
    RC_ASSERT(reader.metrics_offset(attempt.id).value() == (it == model.metrics.end() ? 0 : it->second.first));
    RC_ASSERT(points.size() == (it == model.metrics.end() ? 0 : it->second.second.size()));
    for (const MetricPoint& point : points) RC_ASSERT(it->second.second.at({point.name, point.step}) == point.value);
    const auto checkpoints = model.checkpoints.find(id);
    RC_ASSERT(texts(reader.checkpoints(attempt.id).value()) ==
              (checkpoints == model.checkpoints.end() ? std::multiset<std::string>{} : texts(checkpoints->second)));
  }
  RC_ASSERT(reader.attempt_counts_by_state().value() == counts);
  const auto loaded = store.load_live().value();
  RC_ASSERT(texts(loaded.attempts) == texts(live));
  RC_ASSERT(texts(loaded.intents) == texts(model.intents));
  RC_ASSERT(texts(loaded.timers) == texts(model.timers));
}

RC_GTEST_PROP(StoreModel, random_batches_leave_the_store_and_the_model_alike, ()) {
  SqliteBackend backend(SqliteBackend::fast_directory());
  auto store = std::move(*backend.open());
  const std::int64_t epoch = store->take_leadership(WallTime{1}).value();
  const auto reader = std::move(*store->reader());
  Changes changes;
  Model model;
  std::vector<Change> beginning = {AddProject{project("p0")}, AddProject{project("p1")}};
  const int batches = *rc::gen::inRange(1, 12);
  for (int i = 0; i < batches; ++i) {
    Batch batch{next_id<BatchId>(), epoch, {}, {}};
    Model next = model;
    bool accepted = true;
    for (std::size_t n = i == 0 ? 0 : changes.pick(8); n < 8; ++n) {
      batch.changes.push_back(i == 0 && n < 2 ? beginning[n] : changes.any(next));
      Model tried = next;
      if (std::visit(tried, batch.changes.back())) {
        next = std::move(tried);
      } else if (changes.pick(6) == 0) {
        accepted = false;  // left in as the last one: the whole batch must fail
        break;
      } else {
        batch.changes.pop_back();
      }
    }
    const auto done = store->commit(batch);
    RC_LOG() << (done ? "" : done.error().text()) << "\n";
    RC_ASSERT(done.has_value() == accepted);
    if (!done) RC_ASSERT(done.error().code == ErrorCode::conflict);
    if (done) model = std::move(next);
    RC_ASSERT(store->committed(batch.id).value() == accepted);
  }
  same(*store, *reader, model);
}

// Everything an attempt can hold, through the database and back.
std::string any_text() {
  return to_valid_utf8(*rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
}
template <class T>
std::optional<T> any_optional(T value) {
  return *rc::gen::arbitrary<bool>() ? std::optional(std::move(value)) : std::nullopt;
}
WallTime any_time() {
  return WallTime{*rc::gen::inRange<std::int64_t>(0, 253'402'300'799'999)};
}
template <class E>
E any_of() {
  return json::parse_enum<E>(*rc::gen::elementOf(json::names_of<E>())).value();
}

RC_GTEST_PROP(StoreRoundTrip, any_attempt_comes_back_exactly, ()) {
  SqliteBackend backend(SqliteBackend::fast_directory());
  const auto store = std::move(*backend.open());
  const std::int64_t epoch = store->take_leadership(WallTime{1}).value();
  const orbit::Run r = run(1, "p", "one");
  Attempt a = attempt(1, r, *rc::gen::arbitrary<std::int32_t>() | 1);
  a.state = any_of<AttemptState>();
  a.reachability = any_of<Reachability>();
  a.archive = any_of<ArchiveState>();
  a.desired = any_of<Desired>();
  a.desired_by = any_text();
  a.reason = any_optional(any_of<Reason>());
  a.detail = any_text();
  a.epoch = *rc::gen::arbitrary<std::int64_t>();
  a.version = *rc::gen::arbitrary<std::int64_t>();
  a.placement = any_of<PlacementKind>();
  a.launch = any_of<LaunchMode>();
  a.target = any_text();
  a.handle = any_text();
  a.resume = any_optional(ResumeFrom{next_id<AttemptId>(), any_text(), digest(any_text())});
  a.created_by = any_text();
  a.created_at = any_time();
  a.started_at = any_optional(any_time());
  a.ended_at = any_optional(any_time());
  a.exit_code = any_optional(*rc::gen::arbitrary<std::int32_t>());
  a.signal = any_optional(*rc::gen::arbitrary<std::int32_t>());
  a.journal_seq = *rc::gen::arbitrary<std::int64_t>();
  RunnerResult result;
  result.attempt = a.id;
  result.workload_started = *rc::gen::arbitrary<bool>();
  result.failed_check = any_optional(any_of<Reason>());
  result.missing_outputs = {any_text(), any_text()};
  result.detail = any_text();
  result.ended_at = any_time();
  result.log_sizes_bytes = {{"stdout", *rc::gen::arbitrary<std::int64_t>()}};
  a.result = any_optional(result);
  a.artifacts = *rc::gen::arbitrary<bool>() ? digest(any_text()) : Digest{};
  a.artifact_count = *rc::gen::arbitrary<std::int64_t>();
  a.artifact_bytes = *rc::gen::arbitrary<std::int64_t>();

  const auto done =
      store->commit(Batch{next_id<BatchId>(), epoch, {AddProject{project("p")}, AddRun{r}, AddAttempt{a, {}, {}}}, {}});
  RC_ASSERT(done.has_value());
  RC_ASSERT(json_of(*(*store->reader())->attempt(a.id).value()) == json_of(a));
}

}  // namespace
}  // namespace orbit::store::testing
