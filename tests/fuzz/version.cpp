// Any two texts as a wanted range and a found version.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orbit/domain/version.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t middle = text.find('\n');
  const std::string_view wanted = text.substr(0, middle);
  const std::string_view found = middle == std::string_view::npos ? std::string_view() : text.substr(middle + 1);
  const bool readable = orbit::check_version_range(wanted).has_value() && orbit::parse_version(found).has_value();
  ORBIT_ASSERT(!readable || orbit::version_matches(wanted, found).has_value());
  return 0;
}
