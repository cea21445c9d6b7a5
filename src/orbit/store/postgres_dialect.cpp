#include "orbit/store/postgres_dialect.hpp"

#include <fmt/format.h>
#include <soci/soci.h>

#include <new>

#include "orbit/base/text.hpp"
#include "orbit/store/sql.hpp"

namespace orbit::store {
namespace {

constexpr std::int64_t least_version = 150'000;  // as server_version_num says it

// Any number will do that no other program takes: it makes the write transactions of all servers follow each other, the
// very first one included, when there is no leader row to lock.
constexpr std::int64_t write_lock = 0x6f72626974;  // "orbit"

std::string one_line(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos) continue;
    if (!out.empty()) out += "; ";
    out += line.substr(first);
  }
  return out;
}

}  // namespace

std::unique_ptr<soci::session> PostgresDialect::connect(Access access) const {
  // Unless the URL says otherwise: a host that vanished is noticed within seconds, not within the kernel's hours.
  std::string url = url_;
  for (const std::string_view setting :
       {"connect_timeout=5", "keepalives_idle=10", "keepalives_interval=5", "keepalives_count=3",
        "tcp_user_timeout=15000", "application_name=orbit", "client_encoding=UTF8"}) {
    const std::string key(setting.substr(0, setting.find('=') + 1));
    if (url.find("?" + key) != std::string::npos || url.find("&" + key) != std::string::npos) continue;
    url += (url.find('?') == std::string::npos ? "?" : "&") + std::string(setting);
  }
  auto session = std::make_unique<soci::session>("postgresql", url);
  long long version = 0;
  *session << "SELECT current_setting('server_version_num')::bigint", soci::into(version);
  if (version < least_version)
    throw SqlError(ErrorCode::unsupported,
                   fmt::format("the database server is PostgreSQL {}, 15 is the oldest that works", version / 10'000),
                   "db", "upgrade it");
  std::string encoding;
  *session << "SHOW server_encoding", soci::into(encoding);
  if (encoding != "UTF8")
    throw SqlError(ErrorCode::unsupported, fmt::format("the database has encoding {}", encoding), "db",
                   "create it with: createdb --encoding=UTF8 --template=template0");
  // What commit() acknowledged survives a power cut, whatever the database's default is.
  *session << "SET synchronous_commit = on";
  *session << "SET client_min_messages = error";  // notices would go to standard error
  *session << "SET lock_timeout = '10s'";
  *session << "SET idle_in_transaction_session_timeout = '60s'";
  if (access == Access::read) *session << "SET default_transaction_read_only = on";
  return session;
}

std::string PostgresDialect::begin_write() const {
  return fmt::format("BEGIN; SELECT pg_advisory_xact_lock({})", write_lock);
}
std::string PostgresDialect::begin_read() const {
  return "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
}
std::string PostgresDialect::let_transaction_idle() const {
  return "SET LOCAL idle_in_transaction_session_timeout = 0";
}

// Asked when a ROLLBACK failed over a connection that lives: it is still to be done.
bool PostgresDialect::in_transaction(soci::session&) const {
  return true;
}

std::string PostgresDialect::expand(std::string_view ddl) const {
  // Sorted by bytes, as in SQLite and in C++, not by somebody's locale.
  return replaced(replaced(replaced(ddl, "@KEY@", "BIGINT"), "@CLUSTERED@", ""), " TEXT", " TEXT COLLATE \"C\"");
}

std::vector<std::string> PostgresDialect::refuse(std::string_view name, std::string_view operation,
                                                 std::string_view table, std::string_view when,
                                                 std::string_view message) const {
  // The condition stands in the function: a trigger's own must not hold a query.
  return {
      fmt::format("CREATE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF {} THEN RAISE EXCEPTION "
                  "USING MESSAGE = '{}', ERRCODE = 'integrity_constraint_violation'; END IF; IF TG_OP = 'DELETE' "
                  "THEN RETURN OLD; END IF; RETURN NEW; END $$",
                  name, when.empty() ? "TRUE" : when, message),
      fmt::format("CREATE TRIGGER {0} BEFORE {1} ON {2} FOR EACH ROW EXECUTE FUNCTION {0}()", name, operation, table)};
}

Error PostgresDialect::translate(const std::exception& exception) const {
  const auto* soci = dynamic_cast<const soci::soci_error*>(&exception);
  if (soci == nullptr) {
    if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr)
      return Error{ErrorCode::exhausted, "not enough memory for this request to the database"};
    return Error{ErrorCode::internal, std::string("database: ") + exception.what(), "db"};
  }
  // Without SOCI's context, which quotes the statement's parameters, and without the URL, which may hold a password.
  const std::string message = one_line(soci->get_error_message());
  if (message.find("No space left on device") != std::string::npos)
    return Error{ErrorCode::exhausted, "the database server's disk is full, nothing was recorded", "db",
                 "free space there"};
  if (message.find("Failed to find shared library for backend") != std::string::npos ||
      message.find("Failed to open") != std::string::npos)
    return Error{ErrorCode::unsupported, "SOCI's PostgreSQL backend is not installed here: " + message, "db",
                 "apt-get install libsoci-postgresql4.0"};
  switch (soci->get_error_category()) {
    case soci::soci_error::constraint_violation:
      return Error{ErrorCode::conflict, "the database refused it: " + message};
    case soci::soci_error::connection_error:
      return Error{ErrorCode::unavailable, "the database cannot be reached: " + message, "db",
                   "is PostgreSQL running, and are its host, port, database and user those of --db?"};
    case soci::soci_error::no_privilege:
      return Error{ErrorCode::io, "the database's user may not do this: " + message, "db",
                   "give the user the database: ALTER DATABASE … OWNER TO …"};
    case soci::soci_error::system_error:
      return Error{ErrorCode::unavailable, "the database cannot answer now: " + message, "db"};
    default:
      break;
  }
  if (message.find("lock timeout") != std::string::npos || message.find("read-only transaction") != std::string::npos)
    return Error{ErrorCode::unavailable, "the database cannot answer now: " + message, "db"};
  if (message.starts_with("Cannot establish connection"))
    return Error{ErrorCode::unavailable, message, "db",
                 "is PostgreSQL running, and are its host, port, database and user those of --db?"};
  return Error{ErrorCode::internal, "database: " + message, "db"};
}

}  // namespace orbit::store
