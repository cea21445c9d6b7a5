// RFC 4648: base64 with padding for log chunks, base64url without padding for tokens and cursors.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "orbit/base/result.hpp"

namespace orbit::wire {

std::string base64_encode(std::string_view bytes);
// Strict: padding required, nothing but the alphabet, no set bits behind the end.
Result<std::string> base64_decode(std::string_view text);

std::string base64url_encode(std::string_view bytes);
Result<std::string> base64url_decode(std::string_view text);

}  // namespace orbit::wire
