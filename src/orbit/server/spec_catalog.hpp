// Templates and task types as their files are now: looked at on each use, parsed again when the content changed. A file
// that cannot be used spoils only its own id.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "orbit/base/digest.hpp"
#include "orbit/spec/task_type.hpp"
#include "orbit/spec/template.hpp"

namespace orbit::server {

// Thread-safe.
class SpecCatalog {
 public:
  SpecCatalog(std::filesystem::path templates, std::filesystem::path task_types);

  // not_found, with the nearest name, when there is none; corrupt when its file cannot be used.
  Result<Template> find_template(const std::string& id);
  Result<spec::TaskType> find_task_type(const std::string& id);

  template <class T>
  struct Loaded {
    std::map<std::string, T> good;
    std::map<std::string, Error> bad;  // files that cannot be used, by the id their name promises
  };
  Loaded<Template> templates();
  Loaded<spec::TaskType> task_types();

 private:
  std::filesystem::path templates_;
  std::filesystem::path task_types_;
  std::mutex mutex_;  // guards what follows: by id, with the digest of the text it was parsed from
  std::map<std::string, std::pair<Digest, Template>> parsed_templates_;
  std::map<std::string, std::pair<Digest, spec::TaskType>> parsed_task_types_;
};

}  // namespace orbit::server
