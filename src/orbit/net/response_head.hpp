// The head of a response as bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "orbit/base/result.hpp"
#include "orbit/net/http.hpp"

namespace orbit::net {

// 1xx, 204 and 304 have none.
bool status_has_body(int status);

struct Framing {
  std::optional<std::int64_t> content_length;
  bool chunked = false;
  bool keep_alive = true;
  bool http_1_0 = false;
};

// Framing belongs to the server: Content-Length, Transfer-Encoding and Connection among the response's headers are left
// out. An error names the header that cannot be sent (a line break in it would let a value write headers of its own).
Result<std::string> response_head(const Response& response, const Framing& framing);

// Whether the handler asked for the connection to end.
bool asks_to_close(const Response& response);

std::string to_lower(std::string_view text);  // ASCII

// Token characters, and a value without CR, LF and NUL.
bool is_valid_header(std::string_view name, std::string_view value);

}  // namespace orbit::net
