// The embedded database: one file, one writer connection, readers beside it.
//
//   orbit.db       0600; the write-ahead log and its index (orbit.db-wal, orbit.db-shm) stand beside it
//
// Only one server may work on a data directory: its lock is the caller's (platform::FileLock). If two do nevertheless,
// leader.epoch makes the older one's commits fail.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "orbit/ports/store.hpp"
#include "orbit/store/dialect.hpp"

namespace orbit::store {

struct OpenOptions {
  std::optional<std::int64_t> max_pages = {};  // 4 KiB each; the database grows no further, as if the disk were full
  std::int32_t busy_timeout_ms = 5000;         // how long a statement waits for another process's lock
};

// Creates the file if there is none. `corrupt`: it is damaged or no database; `unsupported`: written by a newer Orbit.
Result<std::unique_ptr<Store>> open_sqlite(const std::filesystem::path& database_file, const OpenOptions& options = {});

// The file is made if there is none.
Result<std::shared_ptr<const Dialect>> sqlite_dialect(const std::filesystem::path& database_file,
                                                      const OpenOptions& options = {});

}  // namespace orbit::store
