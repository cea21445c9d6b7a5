// A connection with prepared statements: all of the store that knows SOCI is sql.cpp and the dialects. Below the
// store's border errors travel as SqlError; guard() turns them into Result.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "orbit/base/digest.hpp"
#include "orbit/base/id.hpp"
#include "orbit/base/result.hpp"
#include "orbit/base/time.hpp"
#include "orbit/store/dialect.hpp"

namespace orbit::store {

class SqlError : public std::exception {
 public:
  explicit SqlError(Error error) : error_(std::move(error)) {}
  SqlError(ErrorCode code, std::string message, std::string field = {}, std::string hint = {})
      : error_{code, std::move(message), std::move(field), std::move(hint)} {}
  const Error& error() const { return error_; }
  const char* what() const noexcept override { return error_.message.c_str(); }

 private:
  Error error_;
};

// Runs `body` and turns whatever it throws into an error value.
Error current_exception_as_error();  // in a catch block
template <class Body>
auto guard(Body&& body) -> Result<std::invoke_result_t<Body>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      body();
      return {};
    } else {
      return body();
    }
  } catch (...) {
    return fail(current_exception_as_error());
  }
}

// The same for a body that changes nothing before it fails: repeated once over a new connection when the old one was
// lost.
template <class Body>
auto guard_again(const class Sql& sql, Body&& body) -> Result<std::invoke_result_t<Body>>;

// A statement's text and the types of its parameters and columns, one letter each: t text, i integer (64 bits), r real.
// Parameters are bound by position and each name stands once in the text (backends number repeated names differently).
struct Statement {
  std::string_view sql;
  std::string_view parameters;
  std::string_view columns = {};
};

// A value on its way into a statement. Text that no database would take as text (invalid UTF-8, NUL) gets U+FFFD in its
// place.
class Arg {
 public:
  enum class Kind { null, integer, real, text };

  Arg(std::int64_t value) : kind_(Kind::integer), integer_(value) {}
  Arg(std::int32_t value) : Arg(std::int64_t{value}) {}
  Arg(bool) = delete;
  Arg(double value) : kind_(Kind::real), real_(value) {}
  Arg(std::string_view value);
  Arg(const std::string& value) : Arg(std::string_view(value)) {}
  Arg(const char* value) : Arg(std::string_view(value)) {}
  Arg(WallTime time) : Arg(time.ms) {}
  Arg(const Digest& digest) : Arg(std::string_view(digest.hex())) {
    if (digest.empty()) kind_ = Kind::null;
  }
  template <class Tag>
  Arg(const Id<Tag>& id) : Arg(std::string_view(id.str())) {
    if (id.empty()) kind_ = Kind::null;
  }
  template <class T>
  Arg(const std::optional<T>& value) {
    if (value) *this = Arg(*value);
  }

  Kind kind() const { return kind_; }
  std::int64_t integer() const { return integer_; }
  double real() const { return real_; }
  const std::string& text() const { return text_; }

 private:
  Kind kind_ = Kind::null;
  std::int64_t integer_ = 0;
  double real_ = 0;
  std::string text_;
};

// One prepared SELECT (or single-row DML).
class Query {
 public:
  virtual ~Query() = default;

  // A row under the cursor. Valid inside the callback only.
  class Row {
   public:
    virtual ~Row() = default;
    virtual bool null(std::size_t column) const = 0;
    virtual std::int64_t integer(std::size_t column) const = 0;
    virtual double real(std::size_t column) const = 0;
    virtual const std::string& text(std::size_t column) const = 0;

    WallTime time(std::size_t column) const { return WallTime{integer(column)}; }
    std::optional<WallTime> maybe_time(std::size_t column) const {
      return null(column) ? std::nullopt : std::optional(time(column));
    }
    std::optional<std::string> maybe_text(std::size_t column) const {
      return null(column) ? std::nullopt : std::optional(text(column));
    }
    template <class IdType>
    IdType id(std::size_t column) const {
      if (null(column)) return IdType{};
      auto parsed = IdType::parse(text(column));
      if (!parsed) throw SqlError(ErrorCode::corrupt, "a stored id is damaged: " + parsed.error().message);
      return std::move(*parsed);
    }
    Digest digest(std::size_t column) const;
  };

  // Calls `each(row)` for every row. The statement is always read to its end, also when `each` throws: an open SELECT
  // would pin the write-ahead log.
  template <class Each>
  void each(std::span<const Arg> arguments, Each&& each) {
    start(arguments);
    try {
      while (const Row* row = next()) each(*row);
    } catch (...) {
      drain();
      throw;
    }
  }
  template <class Each>
  void each(std::initializer_list<Arg> arguments, Each&& call) {
    each(std::span<const Arg>(arguments.begin(), arguments.size()), std::forward<Each>(call));
  }
  // The integer in the first column of the first row, if there is one and it is not null.
  std::optional<std::int64_t> integer(std::initializer_list<Arg> arguments) {
    std::optional<std::int64_t> out;
    each(arguments, [&](const Row& row) {
      if (!out && !row.null(0)) out = row.integer(0);
    });
    return out;
  }

 protected:
  virtual void start(std::span<const Arg> arguments) = 0;
  virtual const Row* next() = 0;
  virtual void drain() noexcept = 0;
};

// One prepared INSERT, UPDATE or DELETE, collected for many rows and carried out for all of them, in their order.
class Bulk {
 public:
  virtual ~Bulk() = default;
  virtual void add(std::span<const Arg> row) = 0;
  void add(std::initializer_list<Arg> row) { add(std::span<const Arg>(row.begin(), row.size())); }
  virtual std::size_t pending() const = 0;
  // Affected rows in all; nothing is pending afterwards, whatever happens.
  virtual std::int64_t run() = 0;
  virtual void discard() = 0;
};

class Sql {
 public:
  Sql(std::shared_ptr<const Dialect> dialect, Access access);
  ~Sql();
  Sql(const Sql&) = delete;
  Sql& operator=(const Sql&) = delete;

  const Dialect& dialect() const { return *dialect_; }
  // The connection is gone. Outside a transaction the next use makes a new one; what was prepared is prepared again.
  bool lost() const;
  void execute(const std::string& sql);
  // Prepared at the first use, kept for the life of the connection: a reference does not outlive the loss of it.
  Query& query(const Statement& statement);
  Bulk& bulk(const Statement& statement);
  void discard_pending();

  // Begins; rolled back by the destructor unless committed.
  class Transaction {
   public:
    enum class Kind { read, write };
    Transaction(Sql& sql, Kind kind);
    ~Transaction() { rollback(); }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();
    void rollback() noexcept;

   private:
    Sql& sql_;
    bool open_ = true;
  };

 private:
  struct Session;  // SOCI's, in sql.cpp
  void connect();
  void revive();

  std::shared_ptr<const Dialect> dialect_;
  Access access_;
  std::unique_ptr<Session> session_;
  bool in_transaction_ = false;
  std::map<std::string, std::unique_ptr<Query>, std::less<>> queries_;
  std::map<std::string, std::unique_ptr<Bulk>, std::less<>> bulks_;
  bool rollback_owed_ = false;
};

template <class Body>
auto guard_again(const Sql& sql, Body&& body) -> Result<std::invoke_result_t<Body>> {
  auto first = guard(body);
  if (first || !sql.lost()) return first;
  return guard(body);
}

}  // namespace orbit::store
