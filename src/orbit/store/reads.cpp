#include "orbit/store/reads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "orbit/store/rows.hpp"

namespace orbit::store {
namespace {

constexpr std::int32_t page_limit = 1000;  // a page is for a screen, not for an export

std::string select(std::string_view columns, std::string_view rest) {
  return fmt::format("SELECT {} {}", columns, rest);
}

Attempt read_attempt(const std::string& doc, std::string_view what) {
  return from_doc<Attempt>(doc, what);
}

std::vector<Attempt> read_attempts(Query& query, std::initializer_list<Arg> arguments) {
  std::vector<Attempt> out;
  query.each(arguments,
             [&](const Query::Row& row) { out.push_back(read_attempt(row.text(1), "attempt " + row.text(0))); });
  return out;
}

// Live: not final, or something is still to be done for it.
constexpr std::string_view live_attempts =
    "SELECT id FROM attempt WHERE state IN ('submitted', 'queued', 'provisioning', 'starting', 'running', 'collecting')"
    " UNION SELECT attempt FROM intent";

class Reader final : public StoreReader {
 public:
  explicit Reader(std::shared_ptr<const Dialect> dialect) : sql_(std::move(dialect), Access::read) {}

  Result<std::optional<Project>> project(const std::string& name) override {
    return guard_again(sql_, [&] {
      static const std::string text = select(project_columns, "FROM project WHERE name = :name");
      return one<Project>({text, "t", project_types}, {name}, read_project);
    });
  }

  Result<std::vector<Project>> projects() override {
    return guard_again(sql_, [&] {
      static const std::string text = select(project_columns, "FROM project ORDER BY name");
      return all<Project>({text, "", project_types}, {}, read_project);
    });
  }

  Result<std::optional<Experiment>> experiment(const std::string& project, const std::string& name) override {
    return guard_again(sql_, [&] {
      static const std::string text =
          select(experiment_columns, "FROM experiment WHERE project = :project AND name = :name");
      return one<Experiment>({text, "tt", experiment_types}, {project, name}, read_experiment);
    });
  }

  Result<std::vector<Experiment>> experiments(const std::optional<std::string>& project) override {
    return guard_again(sql_, [&] {
      static const std::string of_all = select(experiment_columns, "FROM experiment ORDER BY project, name");
      static const std::string of_one =
          select(experiment_columns, "FROM experiment WHERE project = :project ORDER BY name");
      if (!project) return all<Experiment>({of_all, "", experiment_types}, {}, read_experiment);
      return all<Experiment>({of_one, "t", experiment_types}, {*project}, read_experiment);
    });
  }

  Result<std::optional<RunView>> run(const RunId& id) override {
    return guard_again(sql_, [&] {
      static const std::string text = select(run_columns, "FROM run r WHERE r.id = :id");
      Sql::Transaction snapshot(sql_, Sql::Transaction::Kind::read);
      std::optional<RunView> out;
      if (auto found = one<Run>({text, "t", run_types}, {id}, read_run)) {
        out = RunView{std::move(*found), {}};
        out->attempts = read_attempts(
            sql_.query({"SELECT id, doc FROM attempt WHERE run = :run ORDER BY number", "t", "tt"}), {id});
      }
      snapshot.commit();
      return out;
    });
  }

  Result<std::vector<RunId>> runs_named(const std::string& name, const std::optional<std::string>& project) override {
    return guard_again(sql_, [&] {
      const auto id = [](const Query::Row& row) { return row.id<RunId>(0); };
      if (!project)
        return all<RunId>({"SELECT id FROM run WHERE name = :name ORDER BY seq DESC", "t", "t"}, {name}, id);
      return all<RunId>({"SELECT id FROM run WHERE project = :project AND name = :name", "tt", "t"}, {*project, name},
                        id);
    });
  }

  Result<std::vector<RunView>> runs(const RunFilter& filter, Page page) override {
    return guard_again(sql_, [&] {
      std::string types;
      std::vector<Arg> arguments;
      const auto given = [&](const auto& value) {
        if (!value) return;
        types += 't';
        arguments.emplace_back(*value);
      };
      given(filter.tag);
      given(filter.project);
      given(filter.experiment);
      given(filter.created_by);
      given(filter.state ? std::optional(std::string(json::name_of(*filter.state))) : std::nullopt);
      types += "ii";
      arguments.emplace_back(page.before_seq > 0 ? page.before_seq : std::numeric_limits<std::int64_t>::max());
      arguments.emplace_back(std::clamp(page.limit, 0, page_limit));

      std::vector<RunView> out;
      std::unordered_map<std::string, std::size_t> places;
      // Both queries see one snapshot: the attempts are those of the same page.
      Sql::Transaction snapshot(sql_, Sql::Transaction::Kind::read);
      const std::string page_sql = runs_page_sql(filter, run_columns);
      sql_.query({page_sql, types, run_types}).each(arguments, [&](const Query::Row& row) {
        out.push_back(RunView{read_run(row), {}});
        places.emplace(row.text(0), out.size() - 1);
      });
      const std::string attempts_sql =
          "SELECT a.id, a.doc, a.run FROM attempt a WHERE a.run IN (SELECT page.id FROM (" +
          runs_page_sql(filter, "r.id AS id") + ") page) ORDER BY a.run, a.number";
      sql_.query({attempts_sql, types, "ttt"}).each(arguments, [&](const Query::Row& row) {
        out[places.at(row.text(2))].attempts.push_back(read_attempt(row.text(1), "attempt " + row.text(0)));
      });
      snapshot.commit();
      return out;
    });
  }

  Result<std::optional<Attempt>> attempt(const AttemptId& id) override {
    return guard_again(sql_, [&] {
      auto found = read_attempts(sql_.query({"SELECT id, doc FROM attempt WHERE id = :id", "t", "tt"}), {id});
      return found.empty() ? std::optional<Attempt>() : std::optional(std::move(found.front()));
    });
  }

  Result<std::vector<CheckpointRecord>> checkpoints(const AttemptId& attempt) override {
    return guard_again(sql_, [&] {
      return all<CheckpointRecord>(
          {"SELECT path, doc FROM checkpoint WHERE attempt = :attempt ORDER BY at, path", "t", "tt"}, {attempt},
          [](const Query::Row& row) { return from_doc<CheckpointRecord>(row.text(1), "checkpoint " + row.text(0)); });
    });
  }

  Result<std::vector<MetricPoint>> metrics(const AttemptId& attempt, const std::string& name) override {
    return guard_again(sql_, [&] {
      static const std::string of_all =
          select(metric_columns, "FROM metric WHERE attempt = :attempt ORDER BY name, step");
      static const std::string of_one =
          select(metric_columns, "FROM metric WHERE attempt = :attempt AND name = :name ORDER BY step");
      if (name.empty()) return all<MetricPoint>({of_all, "t", metric_types}, {attempt}, read_metric);
      return all<MetricPoint>({of_one, "tt", metric_types}, {attempt, name}, read_metric);
    });
  }

  Result<std::int64_t> metrics_offset(const AttemptId& attempt) override {
    return guard_again(sql_, [&] {
      return sql_.query({"SELECT end_offset FROM metric_offset WHERE attempt = :attempt", "t", "i"})
          .integer({attempt})
          .value_or(0);
    });
  }

  Result<std::vector<Event>> events(std::int64_t after_seq, std::int32_t limit, const RunId& run) override {
    return guard_again(sql_, [&] {
      const std::int32_t rows = std::clamp(limit, 0, page_limit);
      const auto event = [](const Query::Row& row) {
        return from_doc<Event>(row.text(1), fmt::format("event {}", row.integer(0)));
      };
      if (run.empty())
        return all<Event>({"SELECT seq, doc FROM event WHERE seq > :after ORDER BY seq LIMIT :rows", "ii", "it"},
                          {after_seq, rows}, event);
      return all<Event>(
          {"SELECT seq, doc FROM event WHERE run = :run AND seq > :after ORDER BY seq LIMIT :rows", "tii", "it"},
          {run, after_seq, rows}, event);
    });
  }

  Result<std::optional<Token>> token_by_secret(const Digest& secret) override {
    return guard_again(sql_, [&] {
      static const std::string text = select(token_columns, "FROM token WHERE secret = :secret");
      return one<Token>({text, "t", token_types}, {secret}, read_token);
    });
  }

  Result<std::vector<Token>> tokens() override {
    return guard_again(sql_, [&] {
      static const std::string text = select(token_columns, "FROM token ORDER BY created_at, id");
      return all<Token>({text, "", token_types}, {}, read_token);
    });
  }

  Result<std::map<std::string, std::int64_t>> attempt_counts_by_state() override {
    return guard_again(sql_, [&] {
      std::map<std::string, std::int64_t> out;
      sql_.query({"SELECT state, COUNT(*) FROM attempt GROUP BY state", "", "ti"}).each({}, [&](const Query::Row& row) {
        out[row.text(0)] = row.integer(1);
      });
      return out;
    });
  }

 private:
  template <class T, class Read>
  std::vector<T> all(const Statement& statement, std::initializer_list<Arg> arguments, Read&& read) {
    std::vector<T> out;
    sql_.query(statement).each(arguments, [&](const Query::Row& row) { out.push_back(read(row)); });
    return out;
  }
  template <class T, class Read>
  std::optional<T> one(const Statement& statement, std::initializer_list<Arg> arguments, Read&& read) {
    std::optional<T> out;
    sql_.query(statement).each(arguments, [&](const Query::Row& row) { out = read(row); });
    return out;
  }

  Sql sql_;
};

}  // namespace

std::string runs_page_sql(const RunFilter& filter, std::string_view columns) {
  // Every index keeps the order of submission behind what it finds by, so a page is read off one of them. With a tag
  // that is the tags', unless a state is asked for that few runs are in: those of all tags are fewer than the runs of
  // one.
  const bool few = filter.state && !is_final(*filter.state);
  const bool along_tags = filter.tag && !few;
  std::string sql = fmt::format("SELECT {} FROM ", columns);
  const std::string_view order = along_tags ? "t.seq" : "h.seq";
  if (along_tags)
    sql += "run_tag t JOIN run_head h ON h.run = t.run JOIN run r ON r.id = t.run WHERE t.tag = :tag";
  else if (filter.tag)
    sql +=
        "run_head h JOIN run r ON r.id = h.run"
        " WHERE EXISTS (SELECT 1 FROM run_tag t WHERE t.tag = :tag AND t.seq = h.seq)";
  else
    sql += "run_head h JOIN run r ON r.id = h.run WHERE 1 = 1";
  if (filter.project) sql += along_tags ? " AND t.project = :project" : " AND h.project = :project";
  if (filter.experiment) sql += " AND h.experiment = :experiment";
  if (filter.created_by) sql += " AND h.created_by = :created_by";
  if (filter.state) sql += " AND h.latest_state = :state";
  return sql + fmt::format(" AND {0} < :before ORDER BY {0} DESC LIMIT :rows", order);
}

std::unique_ptr<StoreReader> make_reader(std::shared_ptr<const Dialect> dialect) {
  return std::make_unique<Reader>(std::move(dialect));
}

LiveState read_live(Sql& sql) {
  LiveState out;
  Sql::Transaction snapshot(sql, Sql::Transaction::Kind::read);
  out.last_event_seq = sql.query({"SELECT MAX(seq) FROM event", "", "i"}).integer({}).value_or(0);
  out.last_attempt_seq = sql.query({"SELECT MAX(seq) FROM attempt", "", "i"}).integer({}).value_or(0);
  out.last_run_seq = sql.query({"SELECT MAX(seq) FROM run", "", "i"}).integer({}).value_or(0);

  const std::string attempts = fmt::format("SELECT id, doc FROM attempt WHERE id IN ({}) ORDER BY seq", live_attempts);
  out.attempts = read_attempts(sql.query({attempts, "", "tt"}), {});

  const std::string runs = fmt::format(
      "SELECT id, request, bundle FROM run WHERE id IN (SELECT run FROM attempt WHERE id IN ({}))", live_attempts);
  sql.query({runs, "", "ttt"}).each({}, [&](const Query::Row& row) {
    const auto id = row.id<RunId>(0);
    out.requests[id] = from_doc<ExecutionRequest>(row.text(1), "run " + row.text(0));
    out.bundles[id] = row.digest(2);
  });

  const std::string intents = select(intent_columns, "FROM intent ORDER BY created_at, key");
  sql.query({intents, "", intent_types}).each({}, [&](const Query::Row& row) {
    out.intents.push_back(read_intent(row));
  });
  const std::string timers = select(timer_columns, "FROM timer ORDER BY due, key");
  sql.query({timers, "", timer_types}).each({}, [&](const Query::Row& row) { out.timers.push_back(read_timer(row)); });
  snapshot.commit();
  return out;
}

}  // namespace orbit::store
