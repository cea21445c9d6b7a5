// Names of HTTP status codes (RFC 9110, RFC 6585, RFC 4918): for status lines and for the titles of problems.
#pragma once

#include <string_view>

namespace orbit {

std::string_view reason_phrase(int status);

}  // namespace orbit
