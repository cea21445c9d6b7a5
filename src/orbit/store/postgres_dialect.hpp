#pragma once

#include <string>

#include "orbit/store/dialect.hpp"

namespace orbit::store {

// SOCI's PostgreSQL backend is loaded at run time (libsoci_postgresql.so.4.0), and libpq only through it: a server on
// the embedded database needs neither.
class PostgresDialect final : public Dialect {
 public:
  explicit PostgresDialect(std::string url) : url_(std::move(url)) {}  // postgresql://…, checked

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
  std::string url_;
};

}  // namespace orbit::store
