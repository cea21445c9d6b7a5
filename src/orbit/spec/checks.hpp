// Checks of what people write, shared by templates, task types and run files.
#pragma once

#include <string>
#include <string_view>

#include "orbit/base/result.hpp"

namespace orbit::spec {

// Valid UTF-8, no control characters, not empty, at most max_bytes.
Result<void> check_words(std::string_view text, const std::string& field, std::size_t max_bytes);

// A path below some folder (`below`, for the message): relative, climbing nowhere. Returns it in its shortest form
// ("./a//b/" is "a/b"; "." is the folder itself).
Result<std::string> relative_path(std::string_view path, const std::string& field, std::string_view below);

// A path below artifacts/ that the platform does not use itself (stdout, stderr, resume).
Result<std::string> artifact_path(std::string_view path, const std::string& field);

// [A-Za-z_][A-Za-z0-9_]*. ORBIT_… is the platform's. What changes how programs are loaded (LD_…) or which cards are
// seen is allowed only where `trusted`: written in a template by whoever runs the server.
Result<void> check_environment_name(std::string_view name, const std::string& field, bool trusted);

// Key of a param: becomes --key=value.
Result<void> check_param_key(std::string_view key, const std::string& field);

}  // namespace orbit::spec
