// YAML into described structs with errors that name file, line, key and the nearest allowed key.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "orbit/base/json.hpp"

namespace orbit::spec {

// Scalars that look like JSON booleans, null or numbers become those (YAML 1.2 core schema), everything else strings; a value's source text is
// kept where a struct member is a string or a map of strings (1.0 stays "1.0", 007 stays "007"). Anchors and aliases are refused (bombs), as
// are duplicate keys, more than 64 levels and more than 1 MiB.
class YamlDocument {
 public:
  static Result<YamlDocument> parse(std::string_view text, std::string file_name);
  static Result<YamlDocument> load(const std::filesystem::path& file);
  ~YamlDocument();
  YamlDocument(YamlDocument&&) noexcept;

  // As JSON with all scalars as strings in source text where `text_scalars`, typed otherwise.
  json::Value to_json(bool text_scalars) const;
  // Line (1-based) of the node at a path such as "defaults.resources.gpus" or "items[2]"; 0 when there is none.
  int line_of(const std::string& path) const;
  const std::string& file_name() const;
  // "FILE:LINE" put in front of the error's field.
  Error locate(Error error) const;

 private:
  struct State;
  explicit YamlDocument(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace orbit::spec
