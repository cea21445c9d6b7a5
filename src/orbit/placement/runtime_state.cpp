#include "orbit/placement/runtime_state.hpp"

#include "orbit/base/json.hpp"

namespace orbit::placement {
namespace {

constexpr std::size_t max_line_bytes = 1 << 20;

template <class T>
Result<T> decode_file(std::string_view bytes, std::string_view file) {
  auto value = json::decode<T>(bytes, json::From::ours);
  if (!value)
    return fail(ErrorCode::corrupt, fmt::format("cannot be understood: {}", value.error().text()), std::string(file));
  return value;
}

template <class T>
Result<T> decode_of_attempt(std::string_view bytes, const AttemptId& attempt, std::string_view file) {
  ORBIT_TRY_ASSIGN(T value, decode_file<T>(bytes, file));
  if (value.attempt != attempt)
    return fail(ErrorCode::corrupt, fmt::format("speaks of attempt '{}'", value.attempt.str()), std::string(file));
  return value;
}

Result<JournalRecord> next_record(std::string_view line, std::int64_t seq) {
  const std::string where = fmt::format("runtime/journal.jsonl:{}", seq);
  if (line.size() > max_line_bytes)
    return fail(ErrorCode::corrupt, fmt::format("the line is longer than {} bytes", max_line_bytes), where);
  ORBIT_TRY_ASSIGN(JournalRecord record, decode_file<JournalRecord>(line, where));
  if (record.seq != seq) return fail(ErrorCode::corrupt, fmt::format("record {} stands here", record.seq), where);
  return record;
}

}  // namespace

Journal parse_journal(std::string_view bytes, std::int64_t after_seq) {
  Journal out;
  for (std::int64_t seq = 1;; ++seq) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return out;
    auto record = next_record(bytes.substr(0, end), seq);
    if (!record) {
      out.damage = std::move(record).error();
      return out;
    }
    if (seq > after_seq) out.records.push_back(std::move(*record));
    bytes.remove_prefix(end + 1);
  }
}

Result<RunnerResult> parse_result(std::string_view bytes, const AttemptId& attempt) {
  return decode_of_attempt<RunnerResult>(bytes, attempt, "runtime/result.json");
}

Result<Order> parse_order(std::string_view bytes, const AttemptId& attempt) {
  return decode_of_attempt<Order>(bytes, attempt, "runtime/order.json");
}

}  // namespace orbit::placement
