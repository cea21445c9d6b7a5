// YAML into described structs with errors that name file, line, key and the nearest allowed key.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orbit/base/json.hpp"

namespace orbit::spec {

// Plain scalars that are JSON booleans (also True, TRUE …), null (also ~, and nothing at all) or numbers become those,
// everything else, and whatever is quoted, strings; a value's source text is kept where a struct member is a string or
// a map of strings (1.0 stays "1.0", 007 stays "007"). Anchors, aliases and tags are refused (bombs), as are duplicate
// keys, more than 64 levels, more than 1 MiB and a second document.
class YamlDocument {
 public:
  static Result<YamlDocument> parse(std::string_view text, std::string file_name);
  static Result<YamlDocument> load(const std::filesystem::path& file);
  ~YamlDocument();
  YamlDocument(YamlDocument&&) noexcept;

  // As JSON with all scalars as strings in source text where `text_scalars`, typed otherwise.
  json::Value to_json(bool text_scalars) const;
  // The members of the map at a path, in the file's order, each value as somebody would have typed it: a plain scalar's
  // own text (0.10 stays 0.10), a quoted one as a JSON string, lists and maps as JSON with their numbers as written.
  // Empty where there is no such map.
  std::vector<std::pair<std::string, std::string>> source_texts(const std::string& path) const;
  // Line (1-based) of the node at a path such as "defaults.resources.gpus" or "items[2]"; 0 when there is none.
  int line_of(const std::string& path) const;
  const std::string& file_name() const;
  // "FILE:LINE" put in front of the error's field. The line of something missing is that of what it is missing from.
  Error locate(Error error) const;

 private:
  struct State;
  explicit YamlDocument(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace orbit::spec
