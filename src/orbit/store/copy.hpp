// One database into another, of the same kind or not: row by row, then compared.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "orbit/base/digest.hpp"
#include "orbit/base/result.hpp"
#include "orbit/store/dialect.hpp"

namespace orbit::store {

// postgresql://…, or the path of a database file. not_found: there is no such file (`create` makes one).
Result<std::shared_ptr<const Dialect>> dialect_of(const std::string& url_or_file, bool create);

struct TableCopy {
  std::int64_t rows = 0;
  Digest digest;  // SHA-256 over all rows in the order of their key, as read back from the target
};

// `from` is held against writers until the end. `to` must hold no run yet: conflict otherwise. All or nothing: what is
// read back before the end differs nowhere from what was read, or `to` stays as it was. Both get the newest schema.
Result<std::map<std::string, TableCopy>> copy_database(std::shared_ptr<const Dialect> from,
                                                       std::shared_ptr<const Dialect> to);

}  // namespace orbit::store
