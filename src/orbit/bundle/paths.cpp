#include "orbit/bundle/paths.hpp"

#include <algorithm>
#include <unordered_set>

#include "orbit/base/text.hpp"

namespace orbit::bundle {
namespace {

constexpr std::size_t max_name_bytes = 255;  // NAME_MAX of every file system we meet

// C0, DEL and, as UTF-8, C1: what moves a cursor or ends a line.
bool has_control_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return true;
    if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

}  // namespace

bool is_printable(std::string_view text) {
  return is_valid_utf8(text) && !has_control_character(text);
}

std::string printable(std::string_view name) {
  constexpr std::size_t max_shown_bytes = 300;
  std::string out;
  const bool readable = is_valid_utf8(name);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && (!readable || has_control_character(name))))
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
    if (out.size() > max_shown_bytes) return to_valid_utf8(out.substr(0, max_shown_bytes)) + "...";
  }
  return out;
}

Result<void> check_path(std::string_view path, std::string_view field, const Limits& limits) {
  const auto refuse = [&](std::string why) {
    return fail(ErrorCode::invalid_argument, std::move(why), std::string(field));
  };
  if (path.empty()) return refuse("the path is empty");
  if (static_cast<std::int64_t>(path.size()) > limits.max_path_bytes)
    return refuse(fmt::format("the path has {} bytes, more than {}", path.size(), limits.max_path_bytes));
  if (path.front() == '/') return refuse("the path is absolute");
  if (!is_valid_utf8(path)) return refuse("the path is not valid UTF-8");
  if (has_control_character(path)) return refuse("the path holds a control character, such as a newline");
  if (path.find('\\') != std::string_view::npos) return refuse("the path holds a backslash");
  std::int64_t depth = 0;
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view component = path.substr(at, end - at);
    if (component.empty()) return refuse("the path has an empty component");
    if (component == "." || component == "..") return refuse(fmt::format("the path has a component '{}'", component));
    if (component.size() > max_name_bytes) return refuse(fmt::format("a name has more than {} bytes", max_name_bytes));
    if (++depth > limits.max_depth)
      return refuse(fmt::format("the path is more than {} levels deep", limits.max_depth));
    if (end == path.size()) return {};
    at = end + 1;
  }
}

Result<void> check_list(const std::vector<FileEntry>& files, const Limits& limits) {
  if (static_cast<std::int64_t>(files.size()) > limits.max_files)
    return fail(ErrorCode::too_large, fmt::format("{} files, more than {}", files.size(), limits.max_files));
  std::unordered_set<std::string_view> paths;
  paths.reserve(files.size());
  std::int64_t total_bytes = 0;
  const FileEntry* before = nullptr;
  for (const FileEntry& file : files) {
    const auto refuse = [&](std::string why) {
      return fail(ErrorCode::invalid_argument, std::move(why), printable(file.path));
    };
    ORBIT_TRY(check_path(file.path, printable(file.path), limits));
    if (before != nullptr && file.path == before->path) return refuse("is listed twice");
    if (before != nullptr && file.path < before->path) return refuse("is out of order: the list is sorted by path");
    before = &file;
    if (file.size_bytes < 0) return refuse("has a negative size");
    if (file.sha256.empty()) return refuse("has no digest");
    if (file.size_bytes > limits.max_total_bytes - total_bytes)
      return fail(ErrorCode::too_large,
                  fmt::format("with this file the total is more than {}", human_bytes(limits.max_total_bytes)),
                  printable(file.path));
    total_bytes += file.size_bytes;
    paths.insert(file.path);
  }
  for (const FileEntry& file : files)
    for (std::size_t slash = file.path.find('/'); slash != std::string::npos; slash = file.path.find('/', slash + 1))
      if (const std::string_view parent(file.path.data(), slash); paths.count(parent) != 0)
        return fail(ErrorCode::invalid_argument,
                    fmt::format("needs the directory '{}', which is listed as a file", parent), printable(file.path));
  return {};
}

}  // namespace orbit::bundle
