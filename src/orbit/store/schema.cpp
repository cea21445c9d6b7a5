#include "orbit/store/schema.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace orbit::store {
namespace {

// Rules for all tables: ids and digests are text, times are milliseconds since 1970, truths are 0 or 1, `doc` columns
// are JSON texts of domain structs. Beside a doc stand only the columns that statements compare, sort or filter by. A
// migration that gives a struct a new required member also rewrites the docs.
//
//   run         what was frozen at submit; no column ever changes            run_tag   for filtering by tag
//   run_head    what lists filter by: follows the run's latest attempt in the same transaction
//   attempt     version and state are compared and set; final rows never change
//   event       the feed; append-only                                        batch     which commits took place
std::vector<std::string> first(const Dialect& dialect) {
  std::vector<std::string> out = {
      "CREATE TABLE leader (id INTEGER NOT NULL PRIMARY KEY, epoch BIGINT NOT NULL, batches BIGINT NOT NULL)",
      "INSERT INTO leader (id, epoch, batches) VALUES (1, 0, 0)",
      "CREATE TABLE batch (id TEXT NOT NULL PRIMARY KEY, number BIGINT NOT NULL UNIQUE)",

      "CREATE TABLE project (name TEXT NOT NULL PRIMARY KEY, version BIGINT NOT NULL, created_at BIGINT NOT NULL,"
      " created_by TEXT NOT NULL, doc TEXT NOT NULL)",

      "CREATE TABLE experiment (project TEXT NOT NULL REFERENCES project (name), name TEXT NOT NULL,"
      " variable TEXT NOT NULL, hypothesis TEXT NOT NULL, conclusion TEXT, created_at BIGINT NOT NULL,"
      " created_by TEXT NOT NULL, concluded_at BIGINT, version BIGINT NOT NULL, PRIMARY KEY (project, name))",

      "CREATE TABLE run (id TEXT NOT NULL PRIMARY KEY, seq BIGINT NOT NULL UNIQUE,"
      " project TEXT NOT NULL REFERENCES project (name), name TEXT NOT NULL, experiment TEXT, task TEXT NOT NULL,"
      " template_id TEXT NOT NULL, template_digest TEXT NOT NULL, bundle TEXT NOT NULL, created_at BIGINT NOT NULL,"
      " created_by TEXT NOT NULL, tags TEXT NOT NULL, submission TEXT NOT NULL, template TEXT NOT NULL,"
      " request TEXT NOT NULL, code TEXT NOT NULL, environment TEXT NOT NULL, data TEXT NOT NULL,"
      " UNIQUE (project, name), FOREIGN KEY (project, experiment) REFERENCES experiment (project, name))",
      "CREATE INDEX run_name ON run (name)",

      "CREATE TABLE run_tag (tag TEXT NOT NULL, seq BIGINT NOT NULL, project TEXT NOT NULL,"
      " run TEXT NOT NULL REFERENCES run (id), PRIMARY KEY (tag, seq))",
      "CREATE INDEX run_tag_project ON run_tag (project, tag, seq)",

      "CREATE TABLE run_head (seq @KEY@ NOT NULL PRIMARY KEY, run TEXT NOT NULL UNIQUE REFERENCES run (id),"
      " project TEXT NOT NULL, experiment TEXT, created_by TEXT NOT NULL, latest_number BIGINT NOT NULL,"
      " latest_attempt TEXT, latest_state TEXT)",
      "CREATE INDEX run_head_project ON run_head (project, seq)",
      "CREATE INDEX run_head_experiment ON run_head (project, experiment, seq)",
      "CREATE INDEX run_head_state ON run_head (latest_state, seq)",
      "CREATE INDEX run_head_project_state ON run_head (project, latest_state, seq)",
      "CREATE INDEX run_head_created_by ON run_head (created_by, seq)",
      "CREATE INDEX run_head_created_by_state ON run_head (created_by, latest_state, seq)",

      "CREATE TABLE attempt (id TEXT NOT NULL PRIMARY KEY, seq BIGINT NOT NULL UNIQUE, run TEXT NOT NULL REFERENCES "
      "run (id),"
      " number BIGINT NOT NULL, project TEXT NOT NULL, state TEXT NOT NULL, version BIGINT NOT NULL,"
      " created_at BIGINT NOT NULL, doc TEXT NOT NULL, UNIQUE (run, number))",
      "CREATE INDEX attempt_state ON attempt (state)",

      "CREATE TABLE checkpoint (attempt TEXT NOT NULL REFERENCES attempt (id), path TEXT NOT NULL, at BIGINT NOT NULL,"
      " doc TEXT NOT NULL, PRIMARY KEY (attempt, path)) @CLUSTERED@",

      // A null value is "not a number", which no database keeps as itself in both worlds.
      "CREATE TABLE metric (attempt TEXT NOT NULL REFERENCES attempt (id), name TEXT NOT NULL, step BIGINT NOT NULL,"
      " value DOUBLE PRECISION, at BIGINT NOT NULL, PRIMARY KEY (attempt, name, step)) @CLUSTERED@",
      "CREATE TABLE metric_offset (attempt TEXT NOT NULL PRIMARY KEY REFERENCES attempt (id),"
      " end_offset BIGINT NOT NULL)",

      "CREATE TABLE event (seq @KEY@ NOT NULL PRIMARY KEY, at BIGINT NOT NULL, run TEXT, doc TEXT NOT NULL)",
      "CREATE INDEX event_run ON event (run, seq)",

      "CREATE TABLE intent (key TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL,"
      " attempt TEXT NOT NULL REFERENCES attempt (id), epoch BIGINT NOT NULL, tries BIGINT NOT NULL,"
      " not_before BIGINT NOT NULL, created_at BIGINT NOT NULL)",
      "CREATE TABLE timer (key TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL,"
      " attempt TEXT NOT NULL REFERENCES attempt (id), due BIGINT NOT NULL)",

      "CREATE TABLE token (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL,"
      " secret TEXT NOT NULL UNIQUE, created_at BIGINT NOT NULL, created_by TEXT NOT NULL, expires_at BIGINT,"
      " revoked_at BIGINT)",
  };
  const auto refuse = [&](std::string_view name, std::string_view operation, std::string_view table,
                          std::string_view when, std::string_view message) {
    for (std::string& statement : dialect.refuse(name, operation, table, when, message))
      out.push_back(std::move(statement));
  };
  refuse("run_frozen", "UPDATE", "run", "", "a run is frozen and never changes");
  refuse("run_kept", "DELETE", "run", "", "a run is frozen and never deleted");
  refuse("run_tag_frozen", "UPDATE", "run_tag", "", "the tags of a run are frozen");
  refuse("run_tag_kept", "DELETE", "run_tag", "", "the tags of a run are frozen");
  // The head is written last, so tags can come only with their run.
  refuse("run_tag_late", "INSERT", "run_tag", "EXISTS (SELECT 1 FROM run_head WHERE run = NEW.run)",
         "the tags of a run are frozen");
  refuse("attempt_final", "UPDATE", "attempt",
         "OLD.state = 'succeeded' OR OLD.state = 'failed' OR OLD.state = 'terminated' OR OLD.state = 'interrupted'",
         "an ended attempt never changes");
  refuse("attempt_identity", "UPDATE", "attempt",
         "NEW.id <> OLD.id OR NEW.seq <> OLD.seq OR NEW.run <> OLD.run OR NEW.number <> OLD.number OR NEW.project <> "
         "OLD.project"
         " OR NEW.created_at <> OLD.created_at",
         "what identifies an attempt never changes");
  refuse("attempt_version", "UPDATE", "attempt", "NEW.version <> OLD.version + 1",
         "the version of an attempt grows by one with each change");
  refuse("attempt_kept", "DELETE", "attempt", "", "an attempt is never deleted");
  refuse("event_frozen", "UPDATE", "event", "", "events are append-only");
  refuse("event_kept", "DELETE", "event", "", "events are append-only");
  return out;
}

using Migration = std::vector<std::string> (*)(const Dialect&);
constexpr Migration migrations[] = {first};

}  // namespace

std::int64_t newest_schema() {
  return static_cast<std::int64_t>(std::size(migrations));
}

void migrate(Sql& sql) {
  const Statement current{"SELECT MAX(version) FROM schema_version", "", "i"};
  for (;;) {
    // Read under the write lock: two that open the same new database do not both make the tables.
    Sql::Transaction transaction(sql, Sql::Transaction::Kind::write);
    sql.execute("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL PRIMARY KEY)");
    const std::int64_t version = sql.query(current).integer({}).value_or(0);
    if (version > newest_schema())
      throw SqlError(
          ErrorCode::unsupported,
          fmt::format("the database has schema {}, this Orbit knows schemas up to {}", version, newest_schema()), "",
          "it was used by a newer Orbit: start that version, or restore a backup made before");
    if (version == newest_schema()) return;
    for (const std::string& statement : migrations[version](sql.dialect()))
      sql.execute(sql.dialect().expand(statement));
    sql.bulk({"INSERT INTO schema_version (version) VALUES (:version)", "i"}).add({version + 1});
    sql.bulk({"INSERT INTO schema_version (version) VALUES (:version)", "i"}).run();
    transaction.commit();
  }
}

}  // namespace orbit::store
