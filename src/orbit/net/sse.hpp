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
};

// data may contain newlines; id and event must not (asserted).
std::string sse_encode(const SseEvent& event);
constexpr std::string_view sse_keep_alive = ":\n\n";

// Feed bytes as they come; complete events come out. Handles \n, \r\n, \r, comments, multi-line data.
class SseParser {
 public:
  std::vector<SseEvent> feed(std::string_view bytes);

 private:
  std::string line_;
  SseEvent current_;
  bool has_data_ = false;
  bool after_cr_ = false;
};

}  // namespace orbit::net
