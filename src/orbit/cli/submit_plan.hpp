// From flags and a run file to a submission: flags win. Pure but for reading the run file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/bundle/source.hpp"
#include "orbit/domain/records.hpp"

namespace orbit::cli {

struct SubmitOptions {
  std::optional<std::string> file;
  std::optional<std::string> project;
  std::optional<std::string> name;
  std::optional<std::string> task;
  std::optional<std::string> template_id;
  std::optional<std::string> experiment;
  std::optional<std::string> entry;
  std::optional<std::string> source;
  std::optional<std::string> revision;
  std::optional<std::string> resume_argument;
  std::optional<std::string> environment;  // "any", or a profile file
  std::vector<std::string> params;         // key=value
  std::vector<std::string> overrides;
  std::vector<std::string> inputs;
  std::vector<std::string> tags;
  std::vector<std::string> key_files;
  std::optional<std::string> gpus;  // as typed: the server types them, and its errors name them
  std::optional<std::string> gpu_memory;
  std::optional<std::string> cpus;
  std::optional<std::string> memory;
  std::optional<std::string> disk;
  std::optional<std::string> time_limit;
  bool allow_dirty = false;
  bool create_project = false;
  bool dry_run = false;
  bool follow = false;
};

struct SubmitPlan {
  Submission submission;
  std::optional<std::string> source;  // folder (absolute) or repository URL; absent: the project's
  std::optional<std::string> revision;
  bool allow_dirty = false;
  bool create_project = false;  // if there is none of its name
  std::vector<bundle::KeyPattern> key_files;
};

// `command`: what followed "--". `current`: the current directory, which relative paths of flags start from.
Result<SubmitPlan> plan_submission(const SubmitOptions& options, const std::vector<std::string>& command,
                                   const std::filesystem::path& current);

// "key=value" -> its parts; the value may be empty and may hold more '='.
Result<std::pair<std::string, std::string>> parse_assignment(const std::string& text, const std::string& flag);
// https://…, ssh://…, file://… or git@host:path.
bool is_repository_url(const std::string& source);
// A folder as an absolute path without "." and ".."; URLs as they are.
std::string absolute_source(const std::string& source, const std::filesystem::path& base);
// "any", or a profile file.
Result<EnvironmentProfile> read_environment(const std::string& text, const std::filesystem::path& current);

}  // namespace orbit::cli
