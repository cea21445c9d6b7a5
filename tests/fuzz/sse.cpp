// Any bytes in any two pieces give the same events as in one.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orbit/base/result.hpp"
#include "orbit/net/sse.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t cut = text.empty() ? 0 : data[0] % (text.size() + 1);
  orbit::net::SseParser whole;
  orbit::net::SseParser pieces;
  const auto expected = whole.feed(text);
  auto got = pieces.feed(text.substr(0, cut));
  for (auto& event : pieces.feed(text.substr(cut))) got.push_back(std::move(event));
  ORBIT_ASSERT(got == expected);
  return 0;
}
