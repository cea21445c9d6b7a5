#pragma once

#include "orbit/base/id.hpp"

namespace orbit {

struct RunTag {
  static constexpr const char* name = "run id";
};
struct AttemptTag {
  static constexpr const char* name = "attempt id";
};
struct TokenTag {
  static constexpr const char* name = "token id";
};
struct BatchTag {
  static constexpr const char* name = "batch id";
};
using RunId = Id<RunTag>;
using AttemptId = Id<AttemptTag>;
using TokenId = Id<TokenTag>;
using BatchId = Id<BatchTag>;

}  // namespace orbit
