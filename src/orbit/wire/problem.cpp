#include "orbit/wire/problem.hpp"

#include "orbit/base/http_status.hpp"

namespace orbit::wire {
namespace {

constexpr ErrorCode all_codes[] = {ErrorCode::invalid_argument, ErrorCode::not_found,   ErrorCode::conflict,
                                   ErrorCode::unauthenticated,  ErrorCode::refused,     ErrorCode::too_large,
                                   ErrorCode::unavailable,      ErrorCode::exhausted,   ErrorCode::io,
                                   ErrorCode::corrupt,          ErrorCode::unsupported, ErrorCode::internal};

// Statuses that a server other than ours (a proxy) may answer with count too.
ErrorCode code_of_status(int status) {
  switch (status) {
    case 401:
      return ErrorCode::unauthenticated;
    case 403:
      return ErrorCode::refused;
    case 404:
    case 410:
      return ErrorCode::not_found;
    case 409:
    case 412:
      return ErrorCode::conflict;
    case 413:
    case 431:
      return ErrorCode::too_large;
    case 408:
    case 429:
    case 502:
    case 503:
    case 504:
      return ErrorCode::unavailable;
    case 501:
      return ErrorCode::unsupported;
    case 507:
      return ErrorCode::exhausted;
    default:
      return status >= 400 && status < 500 ? ErrorCode::invalid_argument : ErrorCode::internal;
  }
}

}  // namespace

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return 400;
    case ErrorCode::unauthenticated:
      return 401;
    case ErrorCode::refused:
      return 403;
    case ErrorCode::not_found:
      return 404;
    case ErrorCode::conflict:
      return 409;
    case ErrorCode::too_large:
      return 413;
    case ErrorCode::unsupported:
      return 501;
    case ErrorCode::unavailable:
      return 503;
    case ErrorCode::exhausted:
      return 507;
    case ErrorCode::io:
    case ErrorCode::corrupt:
    case ErrorCode::internal:
      return 500;
  }
  return 500;
}

Problem to_problem(const Error& error, int status) {
  Problem problem;
  problem.status = status != 0 ? status : http_status(error.code);
  problem.title = reason_phrase(problem.status);
  problem.code = to_string(error.code);
  problem.detail = to_valid_utf8(error.message);
  if (!error.field.empty()) problem.field = to_valid_utf8(error.field);
  if (!error.hint.empty()) problem.hint = to_valid_utf8(error.hint);
  return problem;
}

Error error_of_response(int status, std::string_view body) {
  auto problem = json::decode<Problem>(body, json::From::ours);
  if (!problem) {
    Error error{code_of_status(status), fmt::format("the server answered {} {}", status, reason_phrase(status))};
    return error;
  }
  Error error{code_of_status(problem->status), problem->detail, problem->field.value_or(""),
              problem->hint.value_or("")};
  for (const ErrorCode code : all_codes)
    if (to_string(code) == problem->code) error.code = code;
  return error;
}

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return 2;
    case ErrorCode::not_found:
      return 3;
    case ErrorCode::unauthenticated:
    case ErrorCode::refused:
      return 4;
    case ErrorCode::conflict:
      return 5;
    case ErrorCode::unavailable:
      return 6;
    case ErrorCode::too_large:
    case ErrorCode::exhausted:
    case ErrorCode::io:
    case ErrorCode::corrupt:
    case ErrorCode::unsupported:
    case ErrorCode::internal:
      return 1;
  }
  return 1;
}

}  // namespace orbit::wire
