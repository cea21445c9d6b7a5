#include "orbit/base/result.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace orbit {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::conflict:
      return "conflict";
    case ErrorCode::unauthenticated:
      return "unauthenticated";
    case ErrorCode::refused:
      return "refused";
    case ErrorCode::too_large:
      return "too_large";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::exhausted:
      return "exhausted";
    case ErrorCode::io:
      return "io";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

std::string Error::text() const {
  std::string out = field.empty() ? message : field + ": " + message;
  if (!hint.empty()) out += " (" + hint + ")";
  return out;
}

Failure fail_errno(int error_number, std::string_view what, std::string_view path) {
  ErrorCode code = ErrorCode::io;
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      code = ErrorCode::exhausted;
      break;
    case ENOENT:
    case ENOTDIR:
      code = ErrorCode::not_found;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = ErrorCode::refused;
      break;
    default:
      break;
  }
  char buffer[128];
  const char* reason = strerror_r(error_number, buffer, sizeof buffer);  // GNU variant
  return fail(code, fmt::format("{}: {}", what, reason), std::string(path));
}

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "orbit: assertion failed: %s at %s:%d\n", condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace orbit
