// The Store port over a dialect.
#pragma once

#include <memory>

#include "orbit/ports/store.hpp"
#include "orbit/store/dialect.hpp"

namespace orbit::store {

// Connects, brings the schema up to date.
Result<std::unique_ptr<Store>> open_sql_store(std::shared_ptr<const Dialect> dialect);

}  // namespace orbit::store
