#include "orbit/store/sqlite_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "orbit/platform/files.hpp"
#include "orbit/store/sql_store.hpp"
#include "orbit/store/sqlite_dialect.hpp"

namespace orbit::store {
namespace {

// Made here and not by SQLite, which would take the umask's mode; the log and its index get the same one.
Result<void> ensure_file(const std::filesystem::path& file) {
  platform::Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd) {
    if (::fchmod(fd.get(), 0600) != 0) return fail_errno(errno, "cannot set the mode", file.string());
    const auto directory = file.parent_path();
    return platform::sync_directory(directory.empty() ? "." : directory);
  }
  if (errno != EEXIST) return fail_errno(errno, "cannot create the database file", file.string());
  struct stat status{};
  if (::lstat(file.c_str(), &status) != 0) return fail_errno(errno, "cannot open the database file", file.string());
  if (!S_ISREG(status.st_mode))
    return fail(ErrorCode::invalid_argument, "the database must be a regular file", file.string());
  return {};
}

}  // namespace

Result<std::shared_ptr<const Dialect>> sqlite_dialect(const std::filesystem::path& database_file,
                                                      const OpenOptions& options) {
  if (database_file.string().find_first_of("\"\n") != std::string::npos)
    return fail(ErrorCode::unsupported, "the path of the database holds a quote or a line break",
                database_file.string(), "choose another data directory");
  ORBIT_TRY(ensure_file(database_file));
  return std::make_shared<SqliteDialect>(database_file, options.max_pages, options.busy_timeout_ms);
}

Result<std::unique_ptr<Store>> open_sqlite(const std::filesystem::path& database_file, const OpenOptions& options) {
  ORBIT_TRY_ASSIGN(auto dialect, sqlite_dialect(database_file, options));
  return open_sql_store(std::move(dialect));
}

}  // namespace orbit::store
