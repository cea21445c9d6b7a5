#include "db_command.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>

#include "orbit/base/json.hpp"
#include "orbit/base/text.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/store/copy.hpp"

namespace orbit::app {
namespace {

namespace fs = std::filesystem;

// A server that works on the file holds the lock beside it.
Result<std::optional<platform::FileLock>> lock_beside(const std::string& url_or_file, const std::string& field) {
  const fs::path lock = fs::path(url_or_file).parent_path() / "server.lock";
  if (url_or_file.starts_with("postgres") || !fs::exists(lock)) return std::optional<platform::FileLock>();
  auto held = platform::FileLock::acquire(lock);
  if (held) return std::optional(std::move(*held));
  if (held.error().code != ErrorCode::conflict) return fail(std::move(held).error());
  return fail(ErrorCode::conflict, fmt::format("a server works on {}", url_or_file), field, "stop it first");
}

struct CopyArguments {
  std::string from, to;
};

Result<int> copy(cli::Context& context, const CopyArguments& given) {
  for (const auto& [value, field] : {std::pair(&given.from, "--from"), std::pair(&given.to, "--to")})
    if (value->empty())
      return fail(ErrorCode::invalid_argument, "is missing", field,
                  "a database file (DATA/orbit.db), or postgresql://user@host/name");
  ORBIT_TRY_ASSIGN(const auto from_lock, lock_beside(given.from, "--from"));
  ORBIT_TRY_ASSIGN(const auto to_lock, lock_beside(given.to, "--to"));
  ORBIT_TRY_ASSIGN(const auto from, store::dialect_of(given.from, false));
  ORBIT_TRY_ASSIGN(const auto to, store::dialect_of(given.to, true));
  ORBIT_TRY_ASSIGN(const auto tables, store::copy_database(from, to));
  std::int64_t rows = 0;
  json::Array items;
  for (const auto& [name, table] : tables) {
    rows += table.rows;
    items.push_back(json::Object{{"table", name}, {"rows", table.rows}, {"digest", table.digest.hex()}});
  }
  if (context.json())
    context.print_json(json::dump(json::Object{{"items", items}, {"next_cursor", nullptr}}));
  else
    context.out << fmt::format("{} in {} copied; every table reads back as it was written\n", counted(rows, "row"),
                               counted(static_cast<std::int64_t>(tables.size()), "table"));
  return 0;
}

}  // namespace

void add_db_commands(cli::Command& root) {
  cli::Command& group = root.add("db", "Databases, without a server").local();
  const auto given = std::make_shared<CopyArguments>();
  group.add("copy", "Copy all records into a new database, and compare them")
      .option("--from", "URL|FILE", &given->from, "database to read; its server must be stopped")
      .option("--to", "URL|FILE", &given->to, "database to fill; it must be empty")
      .examples("orbit db copy --from data/orbit.db --to postgresql://orbit@db.example/orbit")
      .run([given](cli::Context& context) { return copy(context, *given); });
}

}  // namespace orbit::app
