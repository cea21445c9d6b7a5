#include "orbit/net/response_head.hpp"

#include <algorithm>

#include "orbit/base/http_status.hpp"
#include "orbit/base/text.hpp"

namespace orbit::net {

bool status_has_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

bool is_valid_header(std::string_view name, std::string_view value) {
  static constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  const bool token = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || marks.find(c) != marks.npos;
  });
  return token && std::none_of(value.begin(), value.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return (byte < 0x20 && byte != '\t') || byte == 0x7f;
         });
}

bool asks_to_close(const Response& response) {
  return std::any_of(response.headers.begin(), response.headers.end(), [](const auto& header) {
    return to_lower(header.first) == "connection" && to_lower(header.second) == "close";
  });
}

Result<std::string> response_head(const Response& response, const Framing& framing) {
  if (response.status < 200 || response.status > 599)
    return fail(ErrorCode::internal, "a response cannot have the status " + std::to_string(response.status));
  std::string out = "HTTP/1.1 " + std::to_string(response.status) + " ";
  out.append(reason_phrase(response.status)).append("\r\n");
  const auto add = [&out](std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append("\r\n");
  };

  const bool has_body = status_has_body(response.status);
  if (has_body && !response.content_type.empty()) {
    if (!is_valid_header("Content-Type", response.content_type))
      return fail(ErrorCode::internal, "a response header cannot be sent", "Content-Type");
    add("Content-Type", response.content_type);
  }
  for (const auto& [name, value] : response.headers) {
    if (!is_valid_header(name, value))
      return fail(ErrorCode::internal, "a response header cannot be sent", to_valid_utf8(name.substr(0, 64)));
    const std::string lower = to_lower(name);
    if (lower == "content-length" || lower == "transfer-encoding" || lower == "connection") continue;
    if (lower == "content-type" && !response.content_type.empty()) continue;
    add(name, value);
  }
  if (has_body && framing.chunked)
    add("Transfer-Encoding", "chunked");
  else if (has_body && framing.content_length)
    add("Content-Length", std::to_string(*framing.content_length));
  if (!framing.keep_alive)
    add("Connection", "close");
  else if (framing.http_1_0)
    add("Connection", "keep-alive");
  out += "\r\n";
  return out;
}

}  // namespace orbit::net
