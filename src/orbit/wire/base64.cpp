#include "orbit/wire/base64.hpp"

#include <cstdint>

namespace orbit::wire {
namespace {

constexpr std::string_view standard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view url_safe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encode(std::string_view bytes, std::string_view alphabet) {
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3 + 2);
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const char c : bytes) {
    buffer = (buffer << 8) | static_cast<unsigned char>(c);
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      out += alphabet[(buffer >> bits) & 63];
    }
  }
  if (bits > 0) out += alphabet[(buffer << (6 - bits)) & 63];
  return out;
}

Result<std::string> decode(std::string_view text, std::string_view alphabet) {
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const char c : text) {
    const std::size_t digit = alphabet.find(c);
    if (digit == std::string_view::npos) return fail(ErrorCode::invalid_argument, "not base64");
    buffer = (buffer << 6) | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>((buffer >> bits) & 0xff);
    }
  }
  if (bits == 6 || (buffer & ((1U << bits) - 1)) != 0) return fail(ErrorCode::invalid_argument, "not base64");
  return out;
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out = encode(bytes, standard);
  while (out.size() % 4 != 0) out += '=';
  return out;
}

Result<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return fail(ErrorCode::invalid_argument, "not base64");
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  return decode(text, standard);
}

std::string base64url_encode(std::string_view bytes) {
  return encode(bytes, url_safe);
}
Result<std::string> base64url_decode(std::string_view text) {
  return decode(text, url_safe);
}

}  // namespace orbit::wire
