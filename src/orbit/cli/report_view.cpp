#include "orbit/cli/report_view.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "orbit/base/digest.hpp"
#include "orbit/base/text.hpp"

namespace orbit::cli {
namespace {

constexpr std::string_view artifact_prefix = "artifact.";
constexpr std::size_t shown_digest_digits = 12;

std::optional<std::string> shown(const std::optional<std::string>& value) {
  if (value && Digest::parse(*value)) return value->substr(0, shown_digest_digits);
  return value;
}

}  // namespace

std::vector<wire::DiffItem> summarised(const std::vector<wire::DiffItem>& items) {
  std::vector<wire::DiffItem> out;
  std::int64_t differ = 0, only_left = 0, only_right = 0;
  std::string part;
  for (const wire::DiffItem& item : items) {
    if (!item.key.starts_with(artifact_prefix)) {
      out.push_back({item.part, item.key, shown(item.left), shown(item.right)});
      continue;
    }
    part = item.part;
    ++(item.left && item.right ? differ : item.left ? only_left : only_right);
  }
  if (part.empty()) return out;
  std::vector<std::string> counts{fmt::format("artifacts: {} differ", differ)};
  if (only_left > 0) counts.push_back(fmt::format("{} only left", only_left));
  if (only_right > 0) counts.push_back(fmt::format("{} only right", only_right));
  out.push_back({part, join(counts, ", ") + " (--all lists them)", std::nullopt, std::nullopt});
  return out;
}

Table metric_table(const std::vector<wire::MetricObject>& points) {
  std::set<std::string> names;
  std::map<std::int64_t, std::map<std::string, std::string>> rows;
  for (const wire::MetricObject& point : points) {
    names.insert(point.name);
    rows[point.step][point.name] = point.value ? fmt::format("{:.6g}", *point.value) : "not finite";
  }
  std::vector<Table::Column> columns{{"STEP", true}};
  for (const std::string& name : names) columns.push_back({name, true, true});
  Table table(std::move(columns));
  for (auto& [step, values] : rows) {
    std::vector<Cell> row{{std::to_string(step)}};
    for (const std::string& name : names) row.push_back({values[name]});
    table.add(std::move(row));
  }
  return table;
}

}  // namespace orbit::cli
