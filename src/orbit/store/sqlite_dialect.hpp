#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "orbit/store/dialect.hpp"

namespace orbit::store {

class SqliteDialect final : public Dialect {
 public:
  explicit SqliteDialect(std::filesystem::path file, std::optional<std::int64_t> max_pages = {},
                         std::int32_t busy_timeout_ms = 5000)
      : file_(std::move(file)), max_pages_(max_pages), busy_timeout_ms_(busy_timeout_ms) {}

  std::unique_ptr<soci::session> connect(Access access) const override;
  std::string begin_write() const override;
  std::string begin_read() const override;
  std::string let_transaction_idle() const override;
  bool in_transaction(soci::session& session) const override;
  std::string expand(std::string_view ddl) const override;
  std::vector<std::string> refuse(std::string_view name, std::string_view operation, std::string_view table,
                                  std::string_view when, std::string_view message) const override;
  Error translate(const std::exception& exception) const override;

 private:
  std::filesystem::path file_;
  std::optional<std::int64_t> max_pages_;
  std::int32_t busy_timeout_ms_;
};

}  // namespace orbit::store
