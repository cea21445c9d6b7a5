#include "orbit/net/sse.hpp"

#include <utility>

#include "orbit/base/result.hpp"

namespace orbit::net {
namespace {

bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == text.npos;
}

}  // namespace

std::string sse_encode(const SseEvent& event) {
  ORBIT_ASSERT(is_one_line(event.id) && is_one_line(event.event));
  std::string out;
  out.reserve(event.data.size() + event.id.size() + event.event.size() + 32);
  if (!event.id.empty()) out.append("id: ").append(event.id).append("\n");
  if (!event.event.empty()) out.append("event: ").append(event.event).append("\n");
  // A carriage return ends a line too, so it cannot travel as data: it becomes a line break instead of opening a field.
  const std::string_view data = event.data;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = data.find_first_of("\r\n", begin);
    out.append("data: ").append(data.substr(begin, end == data.npos ? data.npos : end - begin)).append("\n");
    if (end == data.npos) break;
    begin = end + (data.substr(end, 2) == "\r\n" ? 2 : 1);
  }
  out += '\n';
  return out;
}

std::vector<SseEvent> SseParser::feed(std::string_view bytes) {
  std::vector<SseEvent> out;
  for (const char c : bytes) {
    const bool second_half_of_crlf = c == '\n' && after_cr_;
    after_cr_ = c == '\r';
    if (second_half_of_crlf) continue;
    if (c != '\r' && c != '\n') {
      line_ += c;
      continue;
    }
    end_line(out);
  }
  return out;
}

void SseParser::end_line(std::vector<SseEvent>& out) {
  std::string_view line = line_;
  if (first_line_) {
    first_line_ = false;
    if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  }
  if (line.empty()) {
    if (has_data_) out.push_back(std::move(current_));
    current_ = {};
    has_data_ = false;
  } else {
    const std::size_t colon = line.find(':');
    const std::string_view field = line.substr(0, colon);
    std::string_view value = colon == line.npos ? std::string_view() : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (field == "data") {
      if (has_data_) current_.data += '\n';
      current_.data += value;
      has_data_ = true;
    } else if (field == "event") {
      current_.event = value;
    } else if (field == "id" && value.find('\0') == value.npos) {
      current_.id = value;
    }
  }
  line_.clear();
}

}  // namespace orbit::net
