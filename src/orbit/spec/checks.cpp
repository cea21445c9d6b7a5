#include "orbit/spec/checks.hpp"

#include <algorithm>
#include <vector>

#include "orbit/base/text.hpp"

namespace orbit::spec {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string shown(std::string_view text) {
  return to_valid_utf8(text.substr(0, 80));
}

constexpr std::size_t max_path_bytes = 1024;  // as bundle::Limits
constexpr std::size_t max_path_depth = 60;

}  // namespace

Result<void> check_words(std::string_view text, const std::string& field, std::size_t max_bytes) {
  if (text.empty()) return fail(ErrorCode::invalid_argument, "is empty", field);
  if (text.size() > max_bytes)
    return fail(ErrorCode::invalid_argument, fmt::format("has {} bytes, more than {}", text.size(), max_bytes), field);
  if (!is_valid_utf8(text)) return fail(ErrorCode::invalid_argument, "is not valid UTF-8", field);
  for (const char c : text)
    if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7f)
      return fail(ErrorCode::invalid_argument, fmt::format("holds a control character (0x{:02x})", byte), field);
  return {};
}

Result<std::string> relative_path(std::string_view path, const std::string& field, std::string_view below) {
  ORBIT_TRY(check_words(path, field, max_path_bytes));
  if (path.front() == '/')
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is an absolute path", shown(path)), field,
                fmt::format("write it relative to {}", below));
  std::vector<std::string> kept;
  for (std::string& part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..")
      return fail(ErrorCode::invalid_argument, fmt::format("'{}' climbs with '..'", shown(path)), field,
                  fmt::format("write a path that stays inside {}", below));
    kept.push_back(std::move(part));
  }
  if (kept.size() > max_path_depth)
    return fail(ErrorCode::invalid_argument,
                fmt::format("is {} folders deep, more than {}", kept.size(), max_path_depth), field);
  if (kept.empty()) return std::string(".");
  return join(kept, "/");
}

Result<std::string> artifact_path(std::string_view path, const std::string& field) {
  ORBIT_TRY_ASSIGN(std::string out, relative_path(path, field, "artifacts/"));
  if (out == ".")
    return fail(ErrorCode::invalid_argument, "names the folder artifacts/ itself", field, "name something in it");
  const std::string first = out.substr(0, out.find('/'));
  if (first == "stdout" || first == "stderr" || first == "resume")
    return fail(ErrorCode::invalid_argument, fmt::format("artifacts/{} is used by orbit itself", first), field,
                "choose another name");
  return out;
}

Result<void> check_environment_name(std::string_view name, const std::string& field, bool trusted) {
  const bool valid =
      !name.empty() && name.size() <= 256 && !is_digit(name.front()) &&
      std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
  if (!valid)
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a name of an environment variable", shown(name)),
                field, "letters, digits and '_', not beginning with a digit");
  if (name.starts_with("ORBIT_"))
    return fail(ErrorCode::invalid_argument, "names beginning with ORBIT_ are orbit's own", field,
                "choose another name");
  if (!trusted && (name.starts_with("LD_") || name == "CUDA_VISIBLE_DEVICES" || name == "NVIDIA_VISIBLE_DEVICES"))
    return fail(ErrorCode::invalid_argument, fmt::format("{} cannot be set by a submission", name), field,
                "only the template itself may set it, under defaults.runtime_env");
  return {};
}

Result<void> check_param_key(std::string_view key, const std::string& field) {
  const bool valid = !key.empty() && key.size() <= 128 && (is_letter(key.front()) || key.front() == '_') &&
                     std::all_of(key.begin(), key.end(), [](char c) {
                       return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
                     });
  if (valid) return {};
  return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a name of a param", shown(key)), field,
              "letters, digits, '_', '-' and '.', beginning with a letter or '_'");
}

}  // namespace orbit::spec
