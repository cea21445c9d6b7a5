#include "orbit/spec/profile.hpp"

#include <algorithm>

#include "orbit/domain/version.hpp"
#include "orbit/spec/template.hpp"
#include "orbit/spec/yaml.hpp"

namespace orbit::spec {
namespace {

struct ProfileText {
  std::optional<std::string> os, python, cuda, driver;
  std::map<std::string, std::string> packages;
};
BOOST_DESCRIBE_STRUCT(ProfileText, (), (os, python, cuda, driver, packages))

constexpr const char* what_to_write = "declare at least one of os, python, cuda, driver, packages, or write 'any'";

bool is_package_name(std::string_view name) {
  const auto inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  const auto edge = [&](char c) { return inner(c) && c != '.' && c != '_' && c != '-'; };
  return !name.empty() && name.size() <= 128 && edge(name.front()) && edge(name.back()) &&
         std::all_of(name.begin(), name.end(), inner);
}

Result<void> check_range(const std::optional<std::string>& range, const std::string& field) {
  if (!range) return {};
  auto checked = check_version_range(*range);
  if (!checked) checked.error().field = field;
  return checked;
}

}  // namespace

Result<EnvironmentProfile> read_environment(const json::Value& value, const std::string& path) {
  EnvironmentProfile out;
  if (value.is_string()) {
    if (std::string_view(value.get_string()) != "any")
      return fail(ErrorCode::invalid_argument,
                  fmt::format("'{}' is not an environment", std::string_view(value.get_string()).substr(0, 60)), path,
                  what_to_write);
    out.any = true;
    return out;
  }
  ORBIT_TRY_ASSIGN(ProfileText text, json::to<ProfileText>(value, json::From::user, path));
  out.os = std::move(text.os);
  out.python = std::move(text.python);
  out.cuda = std::move(text.cuda);
  out.driver = std::move(text.driver);
  out.packages = std::move(text.packages);
  return out;
}

Result<EnvironmentProfile> parse_profile(std::string_view yaml, const std::string& file_name) {
  ORBIT_TRY_ASSIGN(const YamlDocument document, YamlDocument::parse(yaml, file_name));
  auto out = read_environment(document.to_json(true), "");
  if (out)
    if (auto checked = check_profile(*out, ""); !checked) out = fail(std::move(checked).error());
  if (!out) return fail(document.locate(std::move(out).error()));
  return out;
}

Result<void> check_profile(const EnvironmentProfile& profile, const std::string& field) {
  const auto below = [&](const std::string& key) { return field.empty() ? key : field + "." + key; };
  const bool demands = profile.os || profile.python || profile.cuda || profile.driver || !profile.packages.empty();
  if (profile.any && demands)
    return fail(ErrorCode::invalid_argument, "is 'any' and demands something at once", field, "leave one of them");
  if (!profile.any && !demands)
    return fail(ErrorCode::invalid_argument, "says nothing of the environment", field, what_to_write);
  ORBIT_TRY(check_range(profile.os, below("os")));
  ORBIT_TRY(check_range(profile.python, below("python")));
  ORBIT_TRY(check_range(profile.cuda, below("cuda")));
  ORBIT_TRY(check_range(profile.driver, below("driver")));
  for (const auto& [name, range] : profile.packages) {
    const std::string key = below("packages." + to_valid_utf8(std::string_view(name).substr(0, 64)));
    if (!is_package_name(name))
      return fail(ErrorCode::invalid_argument, "is not the name of a package", key,
                  "letters, digits, '.', '_' and '-'");
    ORBIT_TRY(check_range(range, key));
  }
  return {};
}

}  // namespace orbit::spec
