#pragma once

#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "orbit/platform/files.hpp"
#include "orbit/store/sqlite_store.hpp"
#include "orbit/store/tests/store_contract.hpp"

namespace orbit::store::testing {

class SqliteBackend final : public Backend {
 public:
  explicit SqliteBackend(const std::filesystem::path& parent = std::filesystem::temp_directory_path())
      : directory_(std::move(*platform::TempDirectory::make(parent, "orbit-store-"))) {}
  // In memory, for tests that are about content and not about the disk: a real one spends most of their time in fsync.
  static std::filesystem::path fast_directory() {
    return ::access("/dev/shm", W_OK) == 0 ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
  }

  std::filesystem::path file() const { return directory_.path() / "orbit.db"; }
  Result<std::unique_ptr<Store>> open() override { return open_sqlite(file()); }
  Result<void> raw(const std::string& sql) override {
    sqlite3* connection = nullptr;
    if (sqlite3_open(file().c_str(), &connection) != SQLITE_OK) return fail(ErrorCode::io, "cannot open");
    sqlite3_busy_timeout(connection, 5000);
    char* message = nullptr;
    const int code = sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, &message);
    const std::string text = message == nullptr ? "" : message;
    sqlite3_free(message);
    sqlite3_close(connection);
    if (code != SQLITE_OK) return fail(ErrorCode::conflict, text);
    return {};
  }

 private:
  platform::TempDirectory directory_;
};

}  // namespace orbit::store::testing
