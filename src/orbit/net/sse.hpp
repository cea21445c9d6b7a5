// Server-sent events (WHATWG HTML, section 9.2): writing and parsing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orbit::net {

struct SseEvent {
  std::string id;     // empty: none
  std::string event;  // empty: "message"
  std::string data;

  bool operator==(const SseEvent&) const = default;
};

// data may contain newlines (\r\n and \r arrive as \n); id and event must not, nor NUL (asserted).
std::string sse_encode(const SseEvent& event);
constexpr std::string_view sse_keep_alive = ":\n\n";

// Feed bytes as they come; complete events come out. Handles \n, \r\n, \r, comments, multi-line data, a byte order
// mark. An event carries the id it was sent with: unlike in browsers an earlier one is not repeated.
class SseParser {
 public:
  std::vector<SseEvent> feed(std::string_view bytes);

 private:
  void end_line(std::vector<SseEvent>& out);

  std::string line_;
  SseEvent current_;
  bool has_data_ = false;
  bool after_cr_ = false;
  bool first_line_ = true;
};

}  // namespace orbit::net
