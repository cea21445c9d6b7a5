// Errors of the environment are values (Result); errors of the programmer are ORBIT_ASSERT, which stays on in release
// builds and is never used on input.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace orbit {

// What kind of thing went wrong; decides the HTTP status and the exit code (wire/problem.hpp), nothing else.
enum class ErrorCode {
  invalid_argument,  // the caller's input; `field` names what, `hint` says what to do
  not_found,
  conflict,         // somebody else changed it first, or the name is taken
  unauthenticated,  // no valid credential
  refused,          // a credential, but not allowed
  too_large,        // a limit of ours; the message names the limit
  unavailable,      // try again later: unreachable, busy, shutting down
  exhausted,        // the machine ran out: disk full, too many files, memory
  io,               // the operating system refused; the message has path and errno text
  corrupt,          // stored data does not match its digest or its format
  unsupported,
  internal,
};

std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;  // one sentence for a person, without the field's name in front
  std::string field{};  // path of the offending key, flag or file ("resources.gpus", "template.yaml:12"); may be empty
  std::string hint{};   // what to do about it; may be empty

  // "field: message (hint)"
  std::string text() const;
};

template <class T = void>
using Result = tl::expected<T, Error>;

using Failure = tl::unexpected<Error>;

inline Failure fail(ErrorCode code, std::string message, std::string field = {}, std::string hint = {}) {
  return Failure(Error{code, std::move(message), std::move(field), std::move(hint)});
}
inline Failure fail(Error error) {
  return Failure(std::move(error));
}

// From errno. ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM become `exhausted`, ENOENT `not_found`, EACCES, EPERM `refused`,
// others `io`.
Failure fail_errno(int error_number, std::string_view what, std::string_view path = {});

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace orbit

// ORBIT_TRY(expr): return the error of a Result<void>; ORBIT_TRY_ASSIGN(auto x, expr): bind the value or return.
#define ORBIT_CONCAT_(a, b) a##b
#define ORBIT_CONCAT(a, b) ORBIT_CONCAT_(a, b)
#define ORBIT_TRY(expr)                                                          \
  do {                                                                           \
    if (auto orbit_result_ = (expr); !orbit_result_)                             \
      return ::tl::unexpected<::orbit::Error>(std::move(orbit_result_).error()); \
  } while (false)
#define ORBIT_TRY_ASSIGN_(tmp, decl, expr)                                   \
  auto tmp = (expr);                                                         \
  if (!tmp) return ::tl::unexpected<::orbit::Error>(std::move(tmp).error()); \
  decl = std::move(*tmp)
#define ORBIT_TRY_ASSIGN(decl, expr) ORBIT_TRY_ASSIGN_(ORBIT_CONCAT(orbit_try_, __LINE__), decl, expr)
#define ORBIT_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::orbit::assertion_failed(#condition, __FILE__, __LINE__))
