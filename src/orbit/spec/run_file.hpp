// run.yaml: a submission as a file (see examples/digits/run.yaml).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/domain/records.hpp"

namespace orbit::spec {

struct RunFile {
  Submission submission;     // template_id and task are empty where the file names none
  std::string source = ".";  // relative to the file's folder
  std::optional<std::string> revision;
  bool allow_dirty = false;
  bool create_project = false;
  std::vector<std::string> key_files;
};
Result<RunFile> parse_run_file(std::string_view text, const std::string& file_name);

}  // namespace orbit::spec
