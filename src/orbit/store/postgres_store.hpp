// A PostgreSQL database, 15 or later, as the record of everything: for those who have one already, and for what must
// outlive the server's disk. One Orbit server writes at a time; leader.epoch makes an older one's commits fail.
#pragma once

#include <memory>
#include <string>

#include "orbit/ports/store.hpp"
#include "orbit/store/dialect.hpp"

namespace orbit::store {

// `url`: postgresql://[user[:password]@][host][:port]/database[?setting=value&…], as libpq takes it. Tables are made in
// the first schema of the user's search path. A connection that is lost is made anew; what was under way is repeated
// where it is certain that nothing was recorded. `invalid_argument`: no such URL; `unavailable`: nobody answers;
// `unsupported`: too old, a newer Orbit's, or SOCI's backend is not installed.
Result<std::unique_ptr<Store>> open_postgres(const std::string& url);
Result<std::shared_ptr<const Dialect>> postgres_dialect(const std::string& url);  // not connected yet

}  // namespace orbit::store
