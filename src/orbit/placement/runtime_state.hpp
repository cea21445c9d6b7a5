// What the bytes of runtime/ say. Every placement fetches them its own way and reads them here.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/domain/runtime_files.hpp"

namespace orbit::placement {

constexpr std::size_t max_order_bytes = 1 << 20;
constexpr std::size_t max_result_bytes = 16 << 20;
constexpr std::size_t max_journal_bytes = 64 << 20;
constexpr std::size_t max_manifest_bytes = 64 << 20;

// Records with a seq above `after_seq`. A last line without its newline is a record still being written, or torn by a
// crash: left out. Anything else that is not the next record is `corrupt`.
Result<std::vector<JournalRecord>> parse_journal(std::string_view bytes, std::int64_t after_seq);

// `corrupt` unless it is the result of exactly that attempt.
Result<RunnerResult> parse_result(std::string_view bytes, const AttemptId& attempt);
Result<Order> parse_order(std::string_view bytes, const AttemptId& attempt);

}  // namespace orbit::placement
