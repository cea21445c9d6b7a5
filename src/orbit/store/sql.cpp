#include "orbit/store/sql.hpp"

#include <soci/soci.h>

#include <algorithm>
#include <deque>
#include <new>

#include "orbit/base/text.hpp"

namespace orbit::store {
namespace {

constexpr std::string_view replacement_character = "\xef\xbf\xbd";

std::string storable(std::string_view value) {
  std::string text = is_valid_utf8(value) ? std::string(value) : to_valid_utf8(value);
  for (std::size_t at = text.find('\0'); at != std::string::npos; at = text.find('\0', at))
    text.replace(at, 1, replacement_character);
  return text;
}

// One parameter or column of a statement; SOCI keeps its address.
struct Cell {
  char type = 't';
  std::string text{};
  long long integer = 0;
  double real = 0;
  soci::indicator indicator = soci::i_null;

  void set(const Arg& arg) {
    indicator = arg.kind() == Arg::Kind::null ? soci::i_null : soci::i_ok;
    if (arg.kind() == Arg::Kind::null) return;
    switch (type) {
      case 't':
        ORBIT_ASSERT(arg.kind() == Arg::Kind::text);
        text = arg.text();
        break;
      case 'i':
        ORBIT_ASSERT(arg.kind() == Arg::Kind::integer);
        integer = arg.integer();
        break;
      default:
        ORBIT_ASSERT(arg.kind() == Arg::Kind::real);
        real = arg.real();
    }
  }
};

void bind(soci::statement& statement, std::string_view types, std::deque<Cell>& cells) {
  for (const char type : types) {
    Cell& cell = cells.emplace_back(Cell{type});
    if (type == 't') statement.exchange(soci::use(cell.text, cell.indicator));
    if (type == 'i') statement.exchange(soci::use(cell.integer, cell.indicator));
    if (type == 'r') statement.exchange(soci::use(cell.real, cell.indicator));
  }
}

// A SOCI session that knows when it is lost.
class Connection {
 public:
  Connection(const Dialect& dialect, Access access) : dialect_(dialect), soci_(dialect.connect(access)) {}

  soci::session& soci() { return *soci_; }
  bool lost() const { return lost_; }

  // In a catch block: the error behind what SOCI threw.
  [[noreturn]] void raise(const std::exception& exception) {
    lost_ = lost_ || !soci_->is_connected();
    Error error = dialect_.translate(exception);
    if (lost_) error.code = ErrorCode::unavailable;
    throw SqlError(std::move(error));
  }

 private:
  const Dialect& dialect_;
  std::unique_ptr<soci::session> soci_;
  bool lost_ = false;
};

class SociQuery final : public Query, private Query::Row {
 public:
  SociQuery(Connection& connection, const Statement& text) : connection_(connection), statement_(connection.soci()) {
    try {
      statement_.alloc();
      statement_.prepare(std::string(text.sql));
      bind(statement_, text.parameters, parameters_);
      for (const char type : text.columns) {
        Cell& cell = columns_.emplace_back(Cell{type});
        if (type == 't') statement_.exchange(soci::into(cell.text, cell.indicator));
        if (type == 'i') statement_.exchange(soci::into(cell.integer, cell.indicator));
        if (type == 'r') statement_.exchange(soci::into(cell.real, cell.indicator));
      }
      statement_.define_and_bind();
    } catch (const std::exception& exception) {
      connection_.raise(exception);
    }
  }

 private:
  void start(std::span<const Arg> arguments) override {
    ORBIT_ASSERT(arguments.size() == parameters_.size());
    std::size_t at = 0;
    for (const Arg& arg : arguments) parameters_[at++].set(arg);
    try {
      statement_.execute(false);
    } catch (const std::exception& exception) {
      connection_.raise(exception);
    }
  }
  const Query::Row* next() override {
    try {
      return statement_.fetch() ? this : nullptr;
    } catch (const std::exception& exception) {
      connection_.raise(exception);
    }
  }
  void drain() noexcept override {
    try {
      while (statement_.fetch()) {
      }
    } catch (const std::exception&) {
      // The statement has ended by failing; the error that made us drain is the one to report.
    }
  }

  bool null(std::size_t column) const override { return columns_.at(column).indicator == soci::i_null; }
  std::int64_t integer(std::size_t column) const override {
    present(column);
    return columns_.at(column).integer;
  }
  double real(std::size_t column) const override {
    present(column);
    return columns_.at(column).real;
  }
  const std::string& text(std::size_t column) const override {
    present(column);
    return columns_.at(column).text;
  }
  void present(std::size_t column) const {
    if (null(column)) throw SqlError(ErrorCode::corrupt, "a stored record lacks a value that it must have");
  }

  Connection& connection_;
  soci::statement statement_;
  std::deque<Cell> parameters_;
  std::deque<Cell> columns_;
};

// SOCI's own bulk operations bind vectors. They are a loop as well, on both databases, and on PostgreSQL a prepared
// statement with bound vectors goes on using the values of its first execution. So the loop is here.
class SociBulk final : public Bulk {
 public:
  SociBulk(Connection& connection, const Statement& text) : connection_(connection), statement_(connection.soci()) {
    try {
      statement_.alloc();
      statement_.prepare(std::string(text.sql));
      bind(statement_, text.parameters, cells_);
      statement_.define_and_bind();
    } catch (const std::exception& exception) {
      connection_.raise(exception);
    }
  }

  using Bulk::add;
  void add(std::span<const Arg> row) override {
    ORBIT_ASSERT(row.size() == cells_.size());
    arguments_.insert(arguments_.end(), row.begin(), row.end());
  }
  std::size_t pending() const override { return arguments_.size() / cells_.size(); }

  std::int64_t run() override {
    std::int64_t affected = 0;
    try {
      for (std::size_t at = 0; at < arguments_.size();) {
        for (Cell& cell : cells_) cell.set(arguments_[at++]);
        statement_.execute(true);
        affected += statement_.get_affected_rows();
      }
    } catch (const std::exception& exception) {
      discard();
      connection_.raise(exception);
    }
    discard();
    return affected;
  }

  void discard() override { arguments_.clear(); }

 private:
  Connection& connection_;
  soci::statement statement_;
  std::deque<Cell> cells_;
  std::vector<Arg> arguments_;  // row after row
};

}  // namespace

Arg::Arg(std::string_view value) : kind_(Kind::text), text_(storable(value)) {}

Digest Query::Row::digest(std::size_t column) const {
  if (null(column)) return {};
  auto parsed = Digest::parse(text(column));
  if (!parsed) throw SqlError(ErrorCode::corrupt, "a stored digest is damaged: " + parsed.error().message);
  return std::move(*parsed);
}

Error current_exception_as_error() {
  try {
    throw;
  } catch (const SqlError& error) {
    return error.error();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::exhausted, "not enough memory for this request to the database"};
  } catch (const std::exception& exception) {
    return Error{ErrorCode::internal, std::string("the database layer failed: ") + exception.what()};
  }
}

struct Sql::Session {
  std::unique_ptr<Connection> connection;
};

Sql::Sql(std::shared_ptr<const Dialect> dialect, Access access)
    : dialect_(std::move(dialect)), access_(access), session_(std::make_unique<Session>()) {
  connect();
}

Sql::~Sql() {
  // Statements refer to the session.
  queries_.clear();
  bulks_.clear();
}

void Sql::connect() {
  try {
    session_->connection = std::make_unique<Connection>(*dialect_, access_);
  } catch (const SqlError&) {
    throw;
  } catch (const std::exception& exception) {
    throw SqlError(dialect_->translate(exception));
  }
}

bool Sql::lost() const {
  return session_->connection == nullptr || session_->connection->lost();
}

void Sql::revive() {
  if (!lost() || in_transaction_) return;
  queries_.clear();
  bulks_.clear();
  session_->connection.reset();
  rollback_owed_ = false;
  connect();
}

void Sql::execute(const std::string& sql) {
  revive();
  try {
    session_->connection->soci() << sql;
  } catch (const std::exception& exception) {
    session_->connection->raise(exception);
  }
}

Query& Sql::query(const Statement& statement) {
  revive();
  if (const auto it = queries_.find(statement.sql); it != queries_.end()) return *it->second;
  auto made = std::make_unique<SociQuery>(*session_->connection, statement);
  return *queries_.emplace(statement.sql, std::move(made)).first->second;
}

Bulk& Sql::bulk(const Statement& statement) {
  revive();
  if (const auto it = bulks_.find(statement.sql); it != bulks_.end()) return *it->second;
  auto made = std::make_unique<SociBulk>(*session_->connection, statement);
  return *bulks_.emplace(statement.sql, std::move(made)).first->second;
}

void Sql::discard_pending() {
  for (auto& [text, bulk] : bulks_) bulk->discard();
}

Sql::Transaction::Transaction(Sql& sql, Kind kind) : sql_(sql) {
  if (sql_.rollback_owed_) {
    sql_.execute("ROLLBACK");
    sql_.rollback_owed_ = false;
  }
  sql_.execute(kind == Kind::write ? sql_.dialect_->begin_write() : sql_.dialect_->begin_read());
  sql_.in_transaction_ = true;
}

void Sql::Transaction::commit() {
  sql_.execute("COMMIT");
  open_ = false;
  sql_.in_transaction_ = false;
}

void Sql::Transaction::rollback() noexcept {
  if (!open_) return;
  open_ = false;
  sql_.in_transaction_ = false;
  if (sql_.lost()) return;  // the database rolls back by itself
  try {
    sql_.execute("ROLLBACK");
  } catch (const std::exception&) {
    // Either the database ended the transaction itself (disk full) or the connection is in trouble; told apart at the
    // next begin.
    sql_.rollback_owed_ = !sql_.lost() && sql_.dialect_->in_transaction(sql_.session_->connection->soci());
  }
}

}  // namespace orbit::store
