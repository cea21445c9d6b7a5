// A file of the source tree compiled in (cmake/EmbedFiles.cmake).
#pragma once

namespace orbit {

struct EmbeddedFile {
  const char* stem;
  const char* text;
};

}  // namespace orbit
