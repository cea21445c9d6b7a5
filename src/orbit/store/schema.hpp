// The tables, as numbered migrations. schema_version says which have been applied; a database of a newer Orbit is
// refused.
#pragma once

#include <cstdint>

#include "orbit/store/sql.hpp"

namespace orbit::store {

std::int64_t newest_schema();
// Applies what is missing, each migration in a transaction of its own. Throws SqlError.
void migrate(Sql& sql);

}  // namespace orbit::store
