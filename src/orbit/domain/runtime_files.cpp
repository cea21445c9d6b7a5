#include "orbit/domain/runtime_files.hpp"

namespace orbit {

std::string_view stream_name(Stream stream) {
  switch (stream) {
    case Stream::stdout_:
      return "stdout";
    case Stream::stderr_:
      return "stderr";
    case Stream::execution:
      return "execution";
  }
  return "?";
}

std::optional<Stream> parse_stream(std::string_view name) {
  for (const Stream stream : all_streams)
    if (stream_name(stream) == name) return stream;
  return std::nullopt;
}

}  // namespace orbit

namespace orbit::json {
ORBIT_RUNTIME_TYPES(ORBIT_JSON_INSTANTIATE)
}  // namespace orbit::json
