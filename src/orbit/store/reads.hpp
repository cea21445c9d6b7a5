#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orbit/ports/store.hpp"
#include "orbit/store/sql.hpp"

namespace orbit::store {

std::unique_ptr<StoreReader> make_reader(std::shared_ptr<const Dialect> dialect);  // throws SqlError
LiveState read_live(Sql& sql);

// The statement of one page of runs, for tests that look at its plan. Parameters in the order: tag, project,
// experiment, created_by, state (those that are given), before_seq, limit.
std::string runs_page_sql(const RunFilter& filter, std::string_view columns);

}  // namespace orbit::store
