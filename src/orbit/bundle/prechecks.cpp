#include "orbit/base/json.hpp"
#include "orbit/bundle/bundle.hpp"

namespace orbit::bundle {

PrecheckList prechecks_of(const JobSpec& job) {
  PrecheckList out;
  out.checks = {"bundle digest", "entry"};
  if (!job.code_entry.empty()) out.checks.push_back("code entry");
  for (const DataFingerprint& data : job.data) out.checks.push_back("data " + data.input);
  out.checks.push_back("free disk");
  const EnvironmentProfile& environment = job.environment;
  if (environment.os) out.checks.push_back("os");
  if (environment.driver) out.checks.push_back("driver");
  if (environment.cuda) out.checks.push_back("cuda");
  if (environment.python || !environment.packages.empty()) out.checks.push_back("python");
  for (const auto& [name, wanted] : environment.packages) out.checks.push_back("package " + name);
  return out;
}

std::string prechecks_text(const PrecheckList& list) {
  return json::canonical(json::from(list));
}

Result<PrecheckList> parse_prechecks(std::string_view text) {
  auto list = json::decode<PrecheckList>(text, json::From::ours);
  if (!list) {
    list.error().field = list.error().field.empty() ? prechecks_path : prechecks_path + (": " + list.error().field);
    return list;
  }
  if (list->schema != 1)
    return fail(ErrorCode::unsupported, fmt::format("has schema {}, this version knows 1", list->schema),
                prechecks_path, "use a newer orbit");
  return list;
}

}  // namespace orbit::bundle
