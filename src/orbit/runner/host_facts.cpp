#include "orbit/runner/host_facts.hpp"

#include "orbit/base/json.hpp"
#include "orbit/base/text.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::runner {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t text_limit_bytes = 256 * 1024;

std::optional<std::string> text_of(const fs::path& path) {
  auto text = platform::read_file(path, text_limit_bytes);
  if (!text) return std::nullopt;
  return std::move(*text);
}

std::string unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

// "535.104.05": digits and dots, at least one dot.
bool looks_like_version(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789.") == std::string_view::npos &&
         word.find('.') != std::string_view::npos && word.front() != '.';
}

std::optional<std::string> first_version(std::string_view text) {
  for (const auto& line : split(text, '\n'))
    for (const auto& word : split(line, ' '))
      if (looks_like_version(word)) return word;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> os_version(const fs::path& root) {
  auto text = text_of(root / "etc/os-release");
  if (!text) text = text_of(root / "usr/lib/os-release");
  if (!text) return std::nullopt;
  std::string id, version;
  for (const auto& line : split(*text, '\n')) {
    if (line.starts_with("ID=")) id = unquoted(std::string_view(line).substr(3));
    if (line.starts_with("VERSION_ID=")) version = unquoted(std::string_view(line).substr(11));
  }
  if (id.empty()) return std::nullopt;
  return version.empty() ? id : id + " " + version;
}

std::optional<std::string> driver_version(const fs::path& root) {
  const auto text = text_of(root / "proc/driver/nvidia/version");
  if (!text) return std::nullopt;
  return first_version(*text);
}

std::optional<std::string> cuda_version(const fs::path& root) {
  if (const auto text = text_of(root / "usr/local/cuda/version.json")) {
    const auto value = json::parse(*text);
    if (value && value->is_object())
      if (const auto* cuda = value->get_object().if_contains("cuda"); cuda != nullptr && cuda->is_object())
        if (const auto* version = cuda->get_object().if_contains("version"); version != nullptr && version->is_string())
          return std::string(version->get_string());
  }
  if (const auto text = text_of(root / "usr/local/cuda/version.txt")) return first_version(*text);
  return std::nullopt;
}

Gpus gpus(const fs::path& root) {
  Gpus out;
  std::error_code error;
  for (fs::directory_iterator it(root / "proc/driver/nvidia/gpus", error), end; !error && it != end;
       it.increment(error)) {
    ++out.count;
    const auto text = text_of(it->path() / "information");
    if (!text) continue;
    for (const auto& line : split(*text, '\n')) {
      constexpr std::string_view key = "GPU UUID:";
      if (!line.starts_with(key)) continue;
      const std::size_t start = line.find_first_not_of(" \t", key.size());
      if (start != std::string::npos) out.uuids.push_back(line.substr(start));
    }
  }
  if (out.count > 0) return out;
  // Inside containers /proc/driver may be hidden while the devices are there.
  error.clear();
  for (fs::directory_iterator it(root / "dev", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    constexpr std::string_view prefix = "nvidia";
    if (name.size() > prefix.size() && name.starts_with(prefix) &&
        name.find_first_not_of("0123456789", prefix.size()) == std::string::npos)
      ++out.count;
  }
  return out;
}

}  // namespace orbit::runner
