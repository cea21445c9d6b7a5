// All *.yaml of a directory by id, where the file's stem must be the id.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/base/text.hpp"
#include "orbit/spec/yaml.hpp"

namespace orbit::spec {

Result<std::vector<std::filesystem::path>> list_yaml_files(const std::filesystem::path& directory);  // sorted

template <class T, class Read>
Result<std::map<std::string, T>> load_directory(const std::filesystem::path& directory, Read read) {
  std::map<std::string, T> out;
  ORBIT_TRY_ASSIGN(const auto files, list_yaml_files(directory));
  for (const auto& file : files) {
    ORBIT_TRY_ASSIGN(const YamlDocument document, YamlDocument::load(file));
    Result<T> item = read(document);
    if (item && item->id != file.stem().string())
      item =
          fail(ErrorCode::invalid_argument,
               fmt::format("'{}' is not what the file is called ('{}')", item->id, to_valid_utf8(file.stem().string())),
               "id", fmt::format("name the file {}.yaml, or change the id", item->id));
    if (!item) return fail(document.locate(std::move(item).error()));
    out.insert_or_assign(item->id, std::move(*item));
  }
  return out;
}

}  // namespace orbit::spec
