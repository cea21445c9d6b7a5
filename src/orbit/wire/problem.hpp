// Errors on their way out and back in: HTTP status, problem details (RFC 9457), exit code of the command line.
#pragma once

#include <string_view>

#include "orbit/base/result.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::wire {

constexpr const char* problem_content_type = "application/problem+json";

int http_status(ErrorCode code);
// `status` 0: the one of the error's code.
Problem to_problem(const Error& error, int status = 0);

// The client's side: what a refusal says. A body that is no problem (a proxy's page) is described by its status alone.
Error error_of_response(int status, std::string_view body);

// 0 ok, 1 failed, 2 usage, 3 not found, 4 refused, 5 conflict, 6 unavailable.
int exit_code(ErrorCode code);

}  // namespace orbit::wire
