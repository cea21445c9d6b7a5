// Why the database refused a batch, in words: which change, and what stands against it. Runs after the rollback, on the
// slow path only.
#pragma once

#include <optional>
#include <vector>

#include "orbit/domain/change.hpp"
#include "orbit/store/sql.hpp"

namespace orbit::store {

// The first change of the batch that cannot be carried out on what is stored; nothing if none is found (the record
// moved on in between, or a rule of the database itself was hit).
std::optional<Error> explain(Sql& sql, const std::vector<Change>& changes);

}  // namespace orbit::store
