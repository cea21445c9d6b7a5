#include "orbit/store/postgres_store.hpp"

#include <algorithm>

#include "orbit/store/postgres_dialect.hpp"
#include "orbit/store/sql_store.hpp"

namespace orbit::store {

Result<std::shared_ptr<const Dialect>> postgres_dialect(const std::string& url) {
  const bool printable = std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!printable || (!url.starts_with("postgresql://") && !url.starts_with("postgres://")))
    return fail(ErrorCode::invalid_argument, "is not the URL of a PostgreSQL database", "db",
                "write postgresql://user@host/database");
  return std::make_shared<PostgresDialect>(url);
}

Result<std::unique_ptr<Store>> open_postgres(const std::string& url) {
  ORBIT_TRY_ASSIGN(auto dialect, postgres_dialect(url));
  return open_sql_store(std::move(dialect));
}

}  // namespace orbit::store
