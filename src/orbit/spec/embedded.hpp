// Files of the source tree compiled in (cmake/EmbedFiles.cmake): examples/templates/*.yaml and task-types/*.yaml.
#pragma once

#include <span>

namespace orbit::spec {

struct EmbeddedFile {
  const char* stem;
  const char* text;
};
std::span<const EmbeddedFile> embedded_templates();
std::span<const EmbeddedFile> embedded_task_types();

}  // namespace orbit::spec
