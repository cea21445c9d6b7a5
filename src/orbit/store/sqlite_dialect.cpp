#include "orbit/store/sqlite_dialect.hpp"

#include <fmt/format.h>
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include "orbit/store/sql.hpp"

namespace orbit::store {
namespace {

sqlite_api::sqlite3* connection_of(soci::session& session) {
  return static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_;
}

}  // namespace

std::unique_ptr<soci::session> SqliteDialect::connect(Access access) const {
  auto session = std::make_unique<soci::session>(soci::sqlite3, "db=\"" + file_.string() + "\"");
  sqlite_api::sqlite3_busy_timeout(connection_of(*session), busy_timeout_ms_);
  *session << "PRAGMA foreign_keys = ON";
  if (access == Access::read) {
    *session << "PRAGMA query_only = ON";
    // Only the writer checkpoints: neither a reader's work nor its end moves the log into the database.
    *session << "PRAGMA wal_autocheckpoint = 0";
    int done = 0;
    sqlite_api::sqlite3_db_config(connection_of(*session), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, &done);
    return session;
  }
  std::string mode;
  *session << "PRAGMA journal_mode = WAL", soci::into(mode);
  if (mode != "wal")
    throw SqlError(ErrorCode::unsupported,
                   fmt::format("the database cannot use a write-ahead log (journal mode is {})", mode), file_.string(),
                   "keep it on a local file system");
  // What commit() acknowledged survives a power cut.
  *session << "PRAGMA synchronous = FULL";
  if (max_pages_) *session << fmt::format("PRAGMA max_page_count = {}", *max_pages_);
  return session;
}

std::string SqliteDialect::begin_write() const {
  return "BEGIN IMMEDIATE";
}
std::string SqliteDialect::begin_read() const {
  return "BEGIN";
}
std::string SqliteDialect::let_transaction_idle() const {
  return "";
}

bool SqliteDialect::in_transaction(soci::session& session) const {
  return sqlite_api::sqlite3_get_autocommit(connection_of(session)) == 0;
}

std::string SqliteDialect::expand(std::string_view ddl) const {
  // "INTEGER PRIMARY KEY", and only that spelling, makes the column the key of the table's own tree.
  return replaced(replaced(ddl, "@KEY@", "INTEGER"), "@CLUSTERED@", "WITHOUT ROWID");
}

std::vector<std::string> SqliteDialect::refuse(std::string_view name, std::string_view operation,
                                               std::string_view table, std::string_view when,
                                               std::string_view message) const {
  return {fmt::format("CREATE TRIGGER {} BEFORE {} ON {} {}{} BEGIN SELECT RAISE(ABORT, '{}'); END", name, operation,
                      table, when.empty() ? "" : "WHEN ", when, message)};
}

Error SqliteDialect::translate(const std::exception& exception) const {
  const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&exception);
  if (sqlite == nullptr) {
    if (const auto* soci = dynamic_cast<const soci::soci_error*>(&exception))
      return Error{ErrorCode::internal, "database: " + soci->get_error_message(), file_.string()};
    if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr)
      return Error{ErrorCode::exhausted, "not enough memory for this request to the database"};
    return Error{ErrorCode::internal, std::string("database: ") + exception.what(), file_.string()};
  }
  // Without SOCI's context: it quotes the statement's parameters.
  const std::string message = sqlite->get_error_message();
  switch (sqlite->result() & 0xff) {
    case SQLITE_CONSTRAINT:
      return Error{ErrorCode::conflict, "the database refused it: " + message};
    case SQLITE_FULL:
      return Error{ErrorCode::exhausted, "the disk is full, nothing was recorded", file_.string(),
                   "free space on the file system of the data directory"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Error{ErrorCode::corrupt, "the database file is damaged or is no database: " + message, file_.string(),
                   "stop the server and restore a backup"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error{ErrorCode::unavailable, "the database is locked by another process", file_.string(),
                   "is a second server or a database tool working on this data directory?"};
    case SQLITE_NOMEM:
      return Error{ErrorCode::exhausted, "not enough memory for this request to the database"};
    case SQLITE_TOOBIG:
      return Error{ErrorCode::too_large, "a value is larger than the database takes: " + message};
    case SQLITE_INTERRUPT:
      return Error{ErrorCode::unavailable, "the request to the database was interrupted"};
    case SQLITE_READONLY:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return Error{ErrorCode::io, "the database file cannot be used: " + message, file_.string()};
    default:
      return Error{ErrorCode::internal, "database: " + message, file_.string()};
  }
}

}  // namespace orbit::store
