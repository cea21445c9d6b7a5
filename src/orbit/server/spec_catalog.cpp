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
    if (it->path().extension() == ".yaml" && !it->path().filename().string().starts_with('.'))
      out.push_back(it->path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

Failure unknown(const char* field, const char* what, const std::string& id, const std::vector<std::string>& known) {
  const std::string near = nearest(id, known);
  const std::string there_are = known.empty() ? "the server has none" : "there are: " + join(known, ", ");
  return fail(ErrorCode::not_found, fmt::format("there is no {} '{}'", what, id), field,
              near.empty() ? there_are : fmt::format("did you mean '{}'?", near));
}

// Whoever asks did nothing wrong: the fault lies in a file of the server.
Failure unusable(const char* what, const std::string& id, const Error& error) {
  return fail(ErrorCode::corrupt,
              fmt::format("the server's file of {} '{}' cannot be used: {}", what, id, error.text()), what,
              "an administrator corrects it");
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
  ORBIT_TRY(check_name(id, "template"));
  auto text = platform::read_file(templates_ / (id + ".yaml"), max_file_bytes);
  if (!text && text.error().code == ErrorCode::not_found) return unknown("template", "template", id, stems(templates_));
  auto found = text ? parse_once(mutex_, parsed_templates_, id, *text, spec::parse_template) : fail(text.error());
  if (!found) return unusable("template", id, found.error());
  return found;
}

Result<spec::TaskType> SpecCatalog::find_task_type(const std::string& id) {
  ORBIT_TRY(check_name(id, "task"));
  const auto& built_in = spec::built_in_task_types();
  if (const auto it = built_in.find(id); it != built_in.end()) return it->second;
  auto text = platform::read_file(task_types_ / (id + ".yaml"), max_file_bytes);
  if (!text && text.error().code == ErrorCode::not_found) {
    std::vector<std::string> known = stems(task_types_);
    for (const auto& [name, type] : built_in) known.push_back(name);
    return unknown("task", "task type", id, known);
  }
  auto found = text ? parse_once(mutex_, parsed_task_types_, id, *text, spec::parse_task_type) : fail(text.error());
  if (!found) return unusable("task type", id, found.error());
  return found;
}

SpecCatalog::Loaded<Template> SpecCatalog::templates() {
  Loaded<Template> out;
  for (const std::string& id : stems(templates_)) {
    auto found = find_template(id);
    if (found)
      out.good.emplace(id, std::move(*found));
    else
      out.bad.emplace(id, std::move(found).error());
  }
  return out;
}

SpecCatalog::Loaded<spec::TaskType> SpecCatalog::task_types() {
  Loaded<spec::TaskType> out;
  out.good = spec::built_in_task_types();
  for (const std::string& id : stems(task_types_)) {
    if (out.good.contains(id)) continue;  // what is built in cannot be replaced
    auto found = find_task_type(id);
    if (found)
      out.good.emplace(id, std::move(*found));
    else
      out.bad.emplace(id, std::move(found).error());
  }
  return out;
}

}  // namespace orbit::server
