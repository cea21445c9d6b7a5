// Any bytes: an error or a value that survives being written and read again.
#include <cstddef>
#include <cstdint>

#include "orbit/base/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = orbit::json::parse(text);
  if (value) {
    const auto again = orbit::json::parse(orbit::json::dump(*value));
    ORBIT_ASSERT(again.has_value() && orbit::json::dump(*again) == orbit::json::dump(*value));
  }
  return 0;
}
