// Any bytes as bundle.json, job.json and artifacts.json. What is accepted is canonical: written again it has the same
// digest.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orbit/bundle/bundle.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto manifest = orbit::bundle::parse_manifest(text)) {
    const auto again = orbit::bundle::parse_manifest(orbit::bundle::manifest_text(*manifest));
    ORBIT_ASSERT(again.has_value() &&
                 orbit::bundle::manifest_digest(*again) == orbit::bundle::manifest_digest(*manifest));
  }
  (void)orbit::bundle::parse_job(text);
  (void)orbit::bundle::parse_artifact_manifest(text);
  return 0;
}
