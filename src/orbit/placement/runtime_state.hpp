// What the bytes of runtime/ say. Every placement fetches them its own way and reads them here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/domain/runtime_files.hpp"

namespace orbit::placement {

constexpr std::size_t max_order_bytes = 1 << 20;
constexpr std::size_t max_result_bytes = 16 << 20;
constexpr std::size_t max_journal_bytes = 64 << 20;

struct Journal {
  std::vector<JournalRecord> records;  // with a seq above the one asked for
  // A complete line that is not the next record. While a runner lives that is corruption; after a crash of the machine
  // it may be the unsynced end, which the next runner cuts off: what stands before it holds either way.
  std::optional<Error> damage;
};
// A last line without its newline is a record still being written, or torn by a crash: left out.
Journal parse_journal(std::string_view bytes, std::int64_t after_seq);

// `corrupt` unless it is the result of exactly that attempt.
Result<RunnerResult> parse_result(std::string_view bytes, const AttemptId& attempt);
Result<Order> parse_order(std::string_view bytes, const AttemptId& attempt);

}  // namespace orbit::placement
