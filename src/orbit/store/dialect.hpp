// What differs between databases, in one place. Everything else the store says is SQL that SQLite 3.40 and PostgreSQL
// 15 both take.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orbit/base/result.hpp"

namespace soci {
class session;
}

namespace orbit::store {

enum class Access { write, read };

class Dialect {
 public:
  virtual ~Dialect() = default;

  // A connection with its settings made; throws.
  virtual std::unique_ptr<soci::session> connect(Access access) const = 0;
  virtual std::string begin_write() const = 0;  // nobody else writes until the end
  virtual std::string begin_read() const = 0;   // one snapshot until the end

  // For a transaction of minutes in which this side waits for another; empty: nothing is to be said.
  virtual std::string let_transaction_idle() const = 0;

  // Is a transaction open on the connection, as the database sees it?
  virtual bool in_transaction(soci::session& session) const = 0;

  // Schema texts hold two marks: @KEY@, the type of a 64-bit key by which a table is laid out, and @CLUSTERED@, behind
  // a table that is best kept in the order of its primary key.
  virtual std::string expand(std::string_view ddl) const = 0;
  // Statements that make `operation` ("UPDATE", "DELETE", "INSERT", "UPDATE OF a, b") on rows of `table` fail with
  // `message`; `when` is a condition on OLD and NEW, empty: always.
  virtual std::vector<std::string> refuse(std::string_view name, std::string_view operation, std::string_view table,
                                          std::string_view when, std::string_view message) const = 0;

  // The error behind an exception of the database library.
  virtual Error translate(const std::exception& exception) const = 0;
};

// Fills the marks of a schema text in; for expand().
std::string replaced(std::string_view text, std::string_view mark, std::string_view by);

}  // namespace orbit::store
