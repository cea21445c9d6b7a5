#include "orbit/spec/template.hpp"

#include <algorithm>

#include "orbit/base/json.hpp"
#include "orbit/domain/version.hpp"
#include "orbit/spec/embedded.hpp"
#include "orbit/spec/profile.hpp"
#include "orbit/spec/template_keys.hpp"
#include "orbit/spec/yaml.hpp"

namespace orbit::spec {
namespace {

// The file as it is written: all text. What the keys below `defaults` mean is in template_keys.cpp.
struct ResourcesText {
  std::optional<std::string> gpus, gpu_memory, cpus, memory, disk, time_limit;
};
BOOST_DESCRIBE_STRUCT(ResourcesText, (), (gpus, gpu_memory, cpus, memory, disk, time_limit))
struct CheckpointsText {
  std::optional<std::string> directory, completion_file;
};
BOOST_DESCRIBE_STRUCT(CheckpointsText, (), (directory, completion_file))
struct DefaultsText {
  std::optional<std::string> image, target, detach;
  std::optional<ResourcesText> resources;
  std::map<std::string, std::string> runtime_env;
  std::optional<json::Value> environment;
  std::optional<std::string> stop_grace, metrics_file;
  std::optional<CheckpointsText> checkpoints;
};
BOOST_DESCRIBE_STRUCT(DefaultsText, (),
                      (image, target, detach, resources, runtime_env, environment, stop_grace, metrics_file,
                       checkpoints))
struct TemplateText {
  std::string id;
  std::optional<std::string> description;
  PlacementKind placement = PlacementKind::local;
  LaunchMode launch = LaunchMode::host_process;
  std::optional<DefaultsText> defaults;
  std::vector<std::string> allow_overrides;
};
BOOST_DESCRIBE_STRUCT(TemplateText, (), (id, description, placement, launch, defaults, allow_overrides))

// Dotted keys of everything below `object` that is text.
void flatten(const json::Object& object, const std::string& prefix, std::map<std::string, std::string>& out) {
  for (const auto& item : object) {
    const std::string key = prefix + std::string(item.key());
    if (item.value().is_string())
      out.emplace(key, std::string(item.value().get_string()));
    else if (item.value().is_object())
      flatten(item.value().get_object(), key + ".", out);
  }
}

bool allows(const Template& base, std::string_view key) {
  return std::any_of(base.allow_overrides.begin(), base.allow_overrides.end(), [&](const std::string& pattern) {
    if (!pattern.ends_with(".*")) return key == pattern;
    return key.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
  });
}

Result<void> check_pattern(const std::string& pattern, const std::string& field) {
  if (pattern == "resources.*" || pattern == "runtime_env.*" || pattern == "checkpoints.*" || is_template_key(pattern))
    return {};
  if (pattern == "environment" || pattern.starts_with("environment."))
    return fail(ErrorCode::invalid_argument, "an environment is not overridden: a run declares its own", field,
                "remove it from the list");
  std::vector<std::string> known = override_keys();
  known.insert(known.end(), {"resources.*", "runtime_env.*", "checkpoints.*"});
  const std::string near = nearest(pattern, known);
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' is not a key of a template", to_valid_utf8(pattern.substr(0, 64))), field,
              near.empty() ? "allowed: " + join(known, ", ") : "did you mean '" + near + "'?");
}

Result<Template> read_template(const YamlDocument& document) {
  ORBIT_TRY_ASSIGN(const TemplateText text, json::to<TemplateText>(document.to_json(true), json::From::user));
  Template out;
  ORBIT_TRY(check_name(text.id, "id"));
  out.id = text.id;
  out.description = text.description.value_or("");
  out.placement = text.placement;
  out.launch = text.launch;
  if (text.defaults) {
    std::map<std::string, std::string> flat;
    json::Value values = json::from(*text.defaults);
    values.get_object().erase("environment");
    flatten(values.get_object(), "", flat);
    for (const auto& [key, value] : flat)
      ORBIT_TRY(set_template_value(out.defaults, key, value, "defaults." + key, /*trusted=*/true));
    if (text.defaults->environment) {
      ORBIT_TRY_ASSIGN(out.defaults.environment, read_environment(*text.defaults->environment, "defaults.environment"));
      ORBIT_TRY(check_profile(*out.defaults.environment, "defaults.environment"));
    }
  }
  ORBIT_TRY(check_template_values(out.placement, out.launch, out.defaults, "defaults."));
  for (std::size_t i = 0; i < text.allow_overrides.size(); ++i)
    ORBIT_TRY(check_pattern(text.allow_overrides[i], fmt::format("allow_overrides[{}]", i)));
  out.allow_overrides = text.allow_overrides;
  return out;
}

Failure refuse_override(const Template& base, const std::string& key, const std::string& field) {
  return fail(
      ErrorCode::invalid_argument, fmt::format("template '{}' does not allow '{}' to be set", base.id, key), field,
      base.allow_overrides.empty() ? "it allows nothing to be set" : "it allows: " + join(base.allow_overrides, ", "));
}

}  // namespace

Result<Template> parse_template(std::string_view text, const std::string& file_name) {
  ORBIT_TRY_ASSIGN(const YamlDocument document, YamlDocument::parse(text, file_name));
  auto out = read_template(document);
  if (!out) return fail(document.locate(std::move(out).error()));
  return out;
}

std::map<std::string, std::string> shipped_templates() {
  std::map<std::string, std::string> out;
  for (const EmbeddedFile& file : embedded_templates()) out.emplace(file.stem, file.text);
  return out;
}

Result<ExecutionRequest> resolve(const Template& base, const std::map<std::string, std::string>& resources,
                                 const std::map<std::string, std::string>& overrides) {
  ExecutionRequest out{base.placement, base.launch, base.defaults};
  const auto set = [&](const std::string& key, const std::string& text, const std::string& field) -> Result<void> {
    if (!is_template_key(key)) return unknown_key(key, field);
    if (!allows(base, key)) return refuse_override(base, key, field);
    return set_template_value(out.values, key, text, field, /*trusted=*/false);
  };
  for (const auto& [key, text] : resources) {
    const std::string full = "resources." + key;
    if (overrides.contains(full))
      return fail(ErrorCode::invalid_argument, "is given twice, as a resource and as an override", "overrides." + full,
                  "leave one of them");
    ORBIT_TRY(set(full, text, full));
  }
  for (const auto& [key, text] : overrides) ORBIT_TRY(set(key, text, "overrides." + key));

  ORBIT_TRY(check_template_values(out.placement, out.launch, out.values, "overrides."));
  if (out.launch == LaunchMode::docker_image && !out.values.image)
    return fail(ErrorCode::invalid_argument, fmt::format("template '{}' starts an image, and none is named", base.id),
                "overrides.image", allows(base, "image") ? "name one: --set image=…" : "name one in the template");
  const bool memory_given = resources.contains("gpu_memory") || overrides.contains("resources.gpu_memory");
  if (memory_given && out.values.resources.gpus == 0)
    return fail(ErrorCode::invalid_argument, "memory of GPUs is asked for, but no GPU", "resources.gpu_memory",
                "say how many: --gpus N");
  return out;
}

std::vector<std::string> override_keys() {
  std::vector<std::string> out = template_keys();
  out.emplace_back("runtime_env.NAME");
  return out;
}

}  // namespace orbit::spec
