#include "orbit/server/spec_catalog.hpp"

#include <algorithm>
#include <system_error>
#include <vector>

#include "orbit/base/text.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::server {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_file_bytes = 1 << 20;

std::vector<std::string> stems(const fs::path& directory) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".yaml") out.push_back(it->path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

Failure unknown(const char* field, const std::string& id, const std::vector<std::string>& known) {
  const std::string near = nearest(id, known);
  return fail(ErrorCode::invalid_argument, fmt::format("there is no '{}' here", id), field,
              near.empty() ? "known: " + join(known, ", ") : fmt::format("did you mean '{}'?", near));
}

template <class T, class Parse>
Result<T> parse_once(std::mutex& mutex, std::map<std::string, std::pair<Digest, T>>& cache, const std::string& id,
                     const std::string& text, Parse parse) {
  const Digest digest = Sha256::of(text);
  {
    const std::lock_guard guard(mutex);
    if (const auto it = cache.find(id); it != cache.end() && it->second.first == digest) return it->second.second;
  }
  const std::string file = id + ".yaml";
  ORBIT_TRY_ASSIGN(T value, parse(text, file));
  if (value.id != id)
    return fail(ErrorCode::invalid_argument, fmt::format("the file {} says id: {}", file, value.id), file,
                "name the file after its id");
  const std::lock_guard guard(mutex);
  cache[id] = {digest, value};
  return value;
}

}  // namespace

SpecCatalog::SpecCatalog(fs::path templates, fs::path task_types)
    : templates_(std::move(templates)), task_types_(std::move(task_types)) {}

Result<Template> SpecCatalog::find_template(const std::string& id) {
  ORBIT_TRY(check_name(id, "template_id"));
  auto text = platform::read_file(templates_ / (id + ".yaml"), max_file_bytes);
  if (!text) {
    if (text.error().code == ErrorCode::not_found) return unknown("template_id", id, stems(templates_));
    return fail(std::move(text).error());
  }
  return parse_once(mutex_, parsed_templates_, id, *text, spec::parse_template);
}

Result<spec::TaskType> SpecCatalog::find_task_type(const std::string& id) {
  ORBIT_TRY(check_name(id, "task"));
  const auto& built_in = spec::built_in_task_types();
  if (const auto it = built_in.find(id); it != built_in.end()) return it->second;
  auto text = platform::read_file(task_types_ / (id + ".yaml"), max_file_bytes);
  if (!text) {
    if (text.error().code != ErrorCode::not_found) return fail(std::move(text).error());
    std::vector<std::string> known = stems(task_types_);
    for (const auto& [name, type] : built_in) known.push_back(name);
    return unknown("task", id, known);
  }
  return parse_once(mutex_, parsed_task_types_, id, *text, spec::parse_task_type);
}

Result<std::map<std::string, Template>> SpecCatalog::templates() const {
  return spec::load_templates(templates_);
}

Result<std::map<std::string, spec::TaskType>> SpecCatalog::task_types() const {
  return spec::load_task_types(task_types_);
}

}  // namespace orbit::server
