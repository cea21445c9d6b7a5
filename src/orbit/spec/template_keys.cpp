#include "orbit/spec/template_keys.hpp"

#include <algorithm>
#include <charconv>

#include "orbit/base/text.hpp"
#include "orbit/base/time.hpp"
#include "orbit/spec/checks.hpp"

namespace orbit::spec {
namespace {

constexpr std::string_view environment_prefix = "runtime_env.";
constexpr std::int64_t max_days_s = 400LL * 86'400;

Failure not_allowed(const std::string& text, std::string_view what, const std::string& field, std::string hint = {}) {
  return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not {}", to_valid_utf8(text.substr(0, 60)), what),
              field, std::move(hint));
}

Result<std::int32_t> read_count(const std::string& text, std::int32_t least, std::int32_t most,
                                const std::string& field) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    return not_allowed(text, fmt::format("a whole number from {} to {}", least, most), field);
  return value;
}

Result<bool> read_bool(const std::string& text, const std::string& field) {
  if (text == "true") return true;
  if (text == "false") return false;
  return not_allowed(text, "true or false", field);
}

Result<std::int64_t> read_bytes(const std::string& text, const std::string& field) {
  auto bytes = parse_bytes(text);
  if (!bytes) {
    bytes.error().field = field;
    return bytes;
  }
  if (*bytes == 0) return not_allowed(text, "more than nothing", field, "leave the key out where there is no demand");
  return bytes;
}

Result<std::int64_t> read_seconds(const std::string& text, std::int64_t least, std::int64_t most,
                                  const std::string& field) {
  auto seconds = parse_duration_s(text);
  if (!seconds) {
    seconds.error().field = field;
    return seconds;
  }
  if (*seconds < least || *seconds > most)
    return not_allowed(text, fmt::format("from {} to {}", human_duration(least), human_duration(most)), field);
  return seconds;
}

Result<std::string> read_word(const std::string& text, const std::string& field) {
  ORBIT_TRY(check_words(text, field, 512));
  if (text.front() == '-' || text.find(' ') != std::string::npos)
    return not_allowed(text, "a name", field, "no spaces, and no '-' in front");
  return text;
}

Result<std::string> read_file_name(const std::string& text, const std::string& field) {
  ORBIT_TRY_ASSIGN(std::string path, relative_path(text, field, "the checkpoint"));
  if (path == "." || path.find('/') != std::string::npos)
    return not_allowed(text, "the name of a file", field, "it lies in the checkpoint's own folder");
  return path;
}

template <class Slot, class Value>
Result<void> put(Slot& slot, Result<Value> value) {
  ORBIT_TRY_ASSIGN(slot, std::move(value));
  return {};
}

using Text = const std::string&;
struct Key {
  const char* name;
  Result<void> (*set)(TemplateValues&, Text text, Text field);
};

const Key keys[] = {
    {"image", [](TemplateValues& v, Text t, Text f) { return put(v.image, read_word(t, f)); }},
    {"target", [](TemplateValues& v, Text t, Text f) { return put(v.target, read_word(t, f)); }},
    {"detach", [](TemplateValues& v, Text t, Text f) { return put(v.detach, read_bool(t, f)); }},
    {"resources.gpus",
     [](TemplateValues& v, Text t, Text f) { return put(v.resources.gpus, read_count(t, 0, 1024, f)); }},
    {"resources.gpu_memory",
     [](TemplateValues& v, Text t, Text f) { return put(v.resources.gpu_memory_bytes, read_bytes(t, f)); }},
    {"resources.cpus",
     [](TemplateValues& v, Text t, Text f) { return put(v.resources.cpus, read_count(t, 1, 65536, f)); }},
    {"resources.memory",
     [](TemplateValues& v, Text t, Text f) { return put(v.resources.memory_bytes, read_bytes(t, f)); }},
    {"resources.disk", [](TemplateValues& v, Text t, Text f) { return put(v.resources.disk_bytes, read_bytes(t, f)); }},
    {"resources.time_limit", [](TemplateValues& v, Text t,
                                Text f) { return put(v.resources.time_limit_s, read_seconds(t, 1, max_days_s, f)); }},
    {"stop_grace", [](TemplateValues& v, Text t, Text f) { return put(v.stop_grace_s, read_seconds(t, 0, 3600, f)); }},
    {"metrics_file", [](TemplateValues& v, Text t, Text f) { return put(v.metrics_file, artifact_path(t, f)); }},
    {"checkpoints.directory",
     [](TemplateValues& v, Text t, Text f) { return put(v.checkpoints.directory, artifact_path(t, f)); }},
    {"checkpoints.completion_file",
     [](TemplateValues& v, Text t, Text f) { return put(v.checkpoints.completion_file, read_file_name(t, f)); }},
};

}  // namespace

const std::vector<std::string>& template_keys() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Key& key : keys) out.emplace_back(key.name);
    return out;
  }();
  return names;
}

bool is_template_key(std::string_view key) {
  return (key.starts_with(environment_prefix) && key.size() > environment_prefix.size()) ||
         std::any_of(std::begin(keys), std::end(keys), [&](const Key& known) { return key == known.name; });
}

Failure unknown_key(std::string_view key, const std::string& field) {
  std::vector<std::string> known = template_keys();
  known.emplace_back("runtime_env.NAME");
  std::string near = nearest(key, known);
  // "gpus" is as near to resources.gpus as a typo: people leave out the front.
  for (const std::string& candidate : known)
    if (near.empty() && candidate.ends_with("." + std::string(key))) near = candidate;
  return fail(ErrorCode::invalid_argument, "unknown key", field,
              near.empty() ? "allowed: " + join(known, ", ") : "did you mean '" + near + "'?");
}

Result<void> set_template_value(TemplateValues& values, std::string_view key, const std::string& text,
                                const std::string& field, bool trusted) {
  if (key.starts_with(environment_prefix) && key.size() > environment_prefix.size()) {
    const std::string_view name = key.substr(environment_prefix.size());
    ORBIT_TRY(check_environment_name(name, field, trusted));
    if (!is_valid_utf8(text) || text.find('\0') != std::string::npos || text.size() > 32'768)
      return fail(ErrorCode::invalid_argument, "cannot be the value of an environment variable", field,
                  "valid UTF-8 without NUL, at most 32 KiB");
    values.runtime_env[std::string(name)] = text;
    return {};
  }
  for (const Key& known : keys)
    if (key == known.name) return known.set(values, text, field);
  return unknown_key(key, field);
}

Result<void> check_template_values(PlacementKind placement, LaunchMode launch, const TemplateValues& values,
                                   const std::string& prefix) {
  if (values.image && launch != LaunchMode::docker_image)
    return fail(ErrorCode::invalid_argument, "has no meaning where the launch mode is host_process", prefix + "image",
                "leave it out, or use a template with launch: docker_image");
  if (values.target && placement == PlacementKind::local)
    return fail(ErrorCode::invalid_argument, "has no meaning where the placement is local", prefix + "target",
                "leave it out: a local run is on the server's own machine");
  return {};
}

}  // namespace orbit::spec
