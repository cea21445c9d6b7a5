#include "orbit/store/copy.hpp"

#include <fmt/format.h>

#include <system_error>
#include <vector>

#include "orbit/store/postgres_store.hpp"
#include "orbit/store/schema.hpp"
#include "orbit/store/sql.hpp"
#include "orbit/store/sqlite_store.hpp"

namespace orbit::store {
namespace {

namespace fs = std::filesystem;

struct Table {
  std::string_view name;
  std::string_view columns;
  std::string_view types;
  std::string_view key;
};

// In an order in which every row finds those it refers to, and in which tags come before the head that closes them.
// leader is not among them: it is a row to change.
constexpr Table tables[] = {
    {"batch", "id, number", "ti", "number"},
    {"project", "name, version, created_at, created_by, doc", "tiitt", "name"},
    {"experiment", "project, name, variable, hypothesis, conclusion, created_at, created_by, concluded_at, version",
     "tttttitii", "project, name"},
    {"run",
     "id, seq, project, name, experiment, task, template_id, template_digest, bundle, created_at, created_by, tags, "
     "submission, template, request, code, environment, data",
     "titttttttitttttttt", "seq"},
    {"run_tag", "tag, seq, project, run", "titt", "tag, seq"},
    {"run_head", "seq, run, project, experiment, created_by, latest_number, latest_attempt, latest_state", "ittttitt",
     "seq"},
    {"attempt", "id, seq, run, number, project, state, version, created_at, doc", "titittiit", "seq"},
    {"checkpoint", "attempt, path, at, doc", "ttit", "attempt, path"},
    {"metric", "attempt, name, step, value, at", "ttiri", "attempt, name, step"},
    {"metric_offset", "attempt, end_offset", "ti", "attempt"},
    {"event", "seq, at, run, doc", "iitt", "seq"},
    {"intent", "key, kind, attempt, epoch, tries, not_before, created_at", "tttiiii", "key"},
    {"timer", "key, kind, attempt, due", "ttti", "key"},
    {"token", "id, name, role, secret, created_at, created_by, expires_at, revoked_at", "ttttitii", "id"},
};

constexpr Statement leader_now{"SELECT epoch, batches FROM leader WHERE id = 1", "", "ii"};
constexpr Statement set_leader{"UPDATE leader SET epoch = :epoch, batches = :batches WHERE id = 1", "ii"};
constexpr std::size_t rows_at_once = 1000;

// A row as text that no other row has.
std::string canonical(const Query::Row& row, std::string_view types) {
  std::string out;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (row.null(i))
      out += "n;";
    else if (types[i] == 'i')
      out += fmt::format("i{};", row.integer(i));
    else if (types[i] == 'r')
      out += fmt::format("r{:a};", row.real(i));
    else
      out += fmt::format("t{}:{};", row.text(i).size(), row.text(i));
  }
  return out;
}

std::vector<Arg> arguments_of(const Query::Row& row, std::string_view types) {
  std::vector<Arg> out;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (row.null(i))
      out.emplace_back(std::optional<std::int64_t>());
    else if (types[i] == 'i')
      out.emplace_back(row.integer(i));
    else if (types[i] == 'r')
      out.emplace_back(row.real(i));
    else
      out.emplace_back(row.text(i));
  }
  return out;
}

template <class Each>
TableCopy read_table(Sql& sql, const Table& table, Each&& each) {
  TableCopy out;
  Sha256 hash;
  const std::string text = fmt::format("SELECT {} FROM {} ORDER BY {}", table.columns, table.name, table.key);
  sql.query({text, "", table.types}).each({}, [&](const Query::Row& row) {
    ++out.rows;
    hash.update(canonical(row, table.types));
    each(row);
  });
  out.digest = hash.finish();
  return out;
}

TableCopy copy_table(Sql& from, Sql& to, const Table& table) {
  std::string places;
  for (std::size_t i = 0; i < table.types.size(); ++i) places += fmt::format("{}:c{}", i == 0 ? "" : ", ", i);
  const std::string text = fmt::format("INSERT INTO {} ({}) VALUES ({})", table.name, table.columns, places);
  Bulk& rows = to.bulk({text, table.types});
  const TableCopy read = read_table(from, table, [&](const Query::Row& row) {
    rows.add(arguments_of(row, table.types));
    if (rows.pending() == rows_at_once) rows.run();
  });
  rows.run();
  const TableCopy written = read_table(to, table, [](const Query::Row&) {});
  if (written.rows != read.rows || written.digest != read.digest)
    throw SqlError(
        ErrorCode::corrupt,
        fmt::format("table {} does not read back as it was written ({} rows, {})", table.name, written.rows, read.rows),
        "to", "nothing was changed there");
  return written;
}

void copy_leader(Sql& from, Sql& to) {
  from.query(leader_now).each({}, [&](const Query::Row& row) {
    Bulk& bulk = to.bulk(set_leader);
    bulk.add({row.integer(0), row.integer(1)});
    bulk.run();
  });
}

void refuse_used(Sql& to) {
  for (const Table& table : tables) {
    const std::string text = fmt::format("SELECT COUNT(*) FROM {}", table.name);
    if (to.query({text, "", "i"}).integer({}).value_or(0) > 0)
      throw SqlError(ErrorCode::conflict, fmt::format("the target is in use: its table {} is not empty", table.name),
                     "to", "copy into a new database");
  }
}

}  // namespace

Result<std::shared_ptr<const Dialect>> dialect_of(const std::string& url_or_file, bool create) {
  if (url_or_file.starts_with("postgres")) return postgres_dialect(url_or_file);
  std::error_code error;
  if (!create && !fs::is_regular_file(url_or_file, error))
    return fail(ErrorCode::not_found, "there is no such database file", url_or_file,
                "name DATA/orbit.db, or a URL postgresql://user@host/name");
  return sqlite_dialect(url_or_file);
}

Result<std::map<std::string, TableCopy>> copy_database(std::shared_ptr<const Dialect> from,
                                                       std::shared_ptr<const Dialect> to) {
  return guard([&] {
    Sql source(std::move(from), Access::write);
    Sql target(std::move(to), Access::write);
    migrate(source);
    migrate(target);
    std::map<std::string, TableCopy> out;
    Sql::Transaction reading(source, Sql::Transaction::Kind::write);  // nobody writes meanwhile
    Sql::Transaction writing(target, Sql::Transaction::Kind::write);
    for (Sql* sql : {&source, &target})
      if (const std::string said = sql->dialect().let_transaction_idle(); !said.empty()) sql->execute(said);
    refuse_used(target);
    for (const Table& table : tables) out.emplace(table.name, copy_table(source, target, table));
    copy_leader(source, target);
    writing.commit();
    return out;
  });
}

}  // namespace orbit::store
