#include <algorithm>

#include "orbit/base/json.hpp"
#include "orbit/base/text.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/bundle/paths.hpp"

namespace orbit::bundle {
namespace {

constexpr std::string_view code_prefix = "inputs/code/";
constexpr const char* entrypoint_path = "scripts/entrypoint.sh";
constexpr std::string_view artifacts_variable = "$ORBIT_ARTIFACTS";

const FileEntry* find_code(const std::vector<FileEntry>& files, std::string_view path) {
  const auto it = std::find_if(files.begin(), files.end(), [&](const FileEntry& file) {
    return file.path.size() == code_prefix.size() + path.size() &&
           file.path.compare(0, code_prefix.size(), code_prefix) == 0 &&
           std::string_view(file.path).substr(code_prefix.size()) == path;
  });
  return it == files.end() ? nullptr : &*it;
}

std::string_view without_dot_slash(std::string_view path) {
  while (path.substr(0, 2) == "./") path.remove_prefix(2);
  return path;
}

Result<void> check_program(const std::vector<FileEntry>& files, std::string_view path, const std::string& field) {
  ORBIT_TRY(check_path(path, field));
  const FileEntry* file = find_code(files, path);
  if (file == nullptr) {
    std::vector<std::string> known;
    for (const FileEntry& candidate : files)
      if (candidate.executable && candidate.path.compare(0, code_prefix.size(), code_prefix) == 0)
        known.push_back(candidate.path.substr(code_prefix.size()));
    const std::string near = nearest(path, known);
    return fail(ErrorCode::invalid_argument, fmt::format("there is no file '{}' in the code", path), field,
                near.empty() ? "the path is relative to the source folder; only files that git tracks are frozen"
                             : "did you mean '" + near + "'?");
  }
  if (!file->executable)
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not executable", path), field,
                fmt::format("chmod +x {} and commit that", shell_quote(path)));
  return {};
}

// A word of the command line, quoted for the shell. The one variable that is expanded is $ORBIT_ARTIFACTS, and only
// where a word begins with it, or with an option and it (--out=$ORBIT_ARTIFACTS/model.npz): where the outputs go is
// known on the machine alone.
std::string shell_word(std::string_view word) {
  std::size_t at = 0;
  if (word.substr(0, 1) == "-") {
    const std::size_t equals = word.find('=');
    const auto plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
             c == '.';
    };
    if (equals != std::string_view::npos &&
        std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), plain))
      at = equals + 1;
  }
  const std::string_view rest = word.substr(at);
  const bool expands = rest.substr(0, artifacts_variable.size()) == artifacts_variable &&
                       (rest.size() == artifacts_variable.size() || rest[artifacts_variable.size()] == '/');
  if (!expands) return shell_quote(word);
  std::string out = at == 0 ? "" : shell_quote(word.substr(0, at));
  out += "\"$ORBIT_ARTIFACTS\"";
  if (rest.size() > artifacts_variable.size()) out += shell_quote(rest.substr(artifacts_variable.size()));
  return out;
}

Result<std::string> entrypoint_text(const std::vector<std::string>& argv, const std::string& resume_argument) {
  for (std::size_t i = 0; i < argv.size(); ++i)
    if (argv[i].find('\0') != std::string::npos)
      return fail(ErrorCode::invalid_argument, "a word of a command line cannot hold a NUL",
                  fmt::format("argv[{}]", i));
  if (resume_argument.find('\0') != std::string::npos)
    return fail(ErrorCode::invalid_argument, "a word of a command line cannot hold a NUL", "resume_argument");
  std::string out =
      "#!/bin/sh\n"
      "# Generated. ORBIT_BUNDLE is the bundle's directory, ORBIT_ARTIFACTS where outputs go, ORBIT_RESUME_FROM the "
      "checkpoint to start from, if any.\n"
      "set -eu\n"
      ": \"${ORBIT_BUNDLE:?is not set}\" \"${ORBIT_ARTIFACTS:?is not set}\"\n"
      "cd \"$ORBIT_BUNDLE/inputs/code\"\n"
      "exec";
  for (const std::string& word : argv) out += " " + shell_word(word);
  if (!resume_argument.empty())
    out += " ${ORBIT_RESUME_FROM:+" + shell_quote(resume_argument) + " \"$ORBIT_RESUME_FROM\"}";
  return out + "\n";
}

Result<void> check_params(const std::map<std::string, std::string>& params) {
  for (const auto& [key, source] : params) {
    const std::string field = "params." + printable(key);
    if (!is_valid_utf8(key)) return fail(ErrorCode::invalid_argument, "the name is not valid UTF-8", field);
    if (auto parsed = json::parse(source); !parsed)
      return fail(ErrorCode::invalid_argument, fmt::format("'{}' is {}", printable(source), parsed.error().message),
                  field, "a number, true, false, null, a list, or a string in double quotes");
    if (source.find_first_of(" \t\r\n") == 0 || source.find_last_of(" \t\r\n") == source.size() - 1)
      return fail(ErrorCode::invalid_argument, "has white space around it", field);
  }
  return {};
}

FileEntry generated_entry(const std::string& path, const std::string& text, bool executable) {
  return FileEntry{path, executable, static_cast<std::int64_t>(text.size()), Sha256::of(text)};
}

}  // namespace

Result<Bundle> assemble(const JobSpec& job_given, const std::vector<std::string>& argv_given,
                        const std::string& resume_argument, const std::vector<FileEntry>& files) {
  JobSpec job = job_given;
  job.entry = entrypoint_path;
  std::vector<std::string> argv = argv_given;
  if (argv.empty() || argv[0].empty()) return fail(ErrorCode::invalid_argument, "the command line is empty", "command");
  if (argv[0][0] == '-')
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a program", printable(argv[0])), "command");

  for (const FileEntry& file : files)
    if (file.path.compare(0, 7, "inputs/") != 0)
      return fail(ErrorCode::invalid_argument, "only files below inputs/ can be given to a bundle",
                  printable(file.path));
  if (!job.code_entry.empty()) {
    job.code_entry = std::string(without_dot_slash(job.code_entry));
    ORBIT_TRY(check_program(files, job.code_entry, "entry"));
    // Without a slash the shell would look along PATH.
    if (argv[0] == job.code_entry) argv[0] = "./" + argv[0];
  }
  if (argv[0][0] != '/' && argv[0].find('/') != std::string::npos)
    ORBIT_TRY(check_program(files, without_dot_slash(argv[0]), "command"));
  ORBIT_TRY(check_params(job.params));

  Bundle bundle;
  bundle.generated["job.json"] = job_text(job);
  ORBIT_TRY_ASSIGN(bundle.generated[entrypoint_path], entrypoint_text(argv, resume_argument));
  bundle.generated[prechecks_path] = prechecks_text(prechecks_of(job));
  // What the runner would refuse is refused here, where somebody can still correct it.
  auto again = parse_job(bundle.generated["job.json"]);
  if (!again) {
    constexpr std::string_view file_prefix = "job.json: ";
    if (again.error().field.compare(0, file_prefix.size(), file_prefix) == 0)
      again.error().field.erase(0, file_prefix.size());
    return fail(std::move(again).error());
  }
  ORBIT_ASSERT(again->params == job.params);

  bundle.manifest.files = files;
  bundle.manifest.files.push_back(generated_entry("job.json", bundle.generated["job.json"], false));
  bundle.manifest.files.push_back(generated_entry(entrypoint_path, bundle.generated[entrypoint_path], true));
  bundle.manifest.files.push_back(generated_entry(prechecks_path, bundle.generated[prechecks_path], false));
  std::sort(bundle.manifest.files.begin(), bundle.manifest.files.end(),
            [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; });
  ORBIT_TRY(check_list(bundle.manifest.files, Limits{}));
  bundle.digest = manifest_digest(bundle.manifest);
  return bundle;
}

}  // namespace orbit::bundle
