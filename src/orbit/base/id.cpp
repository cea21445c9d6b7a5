#include "orbit/base/id.hpp"

namespace orbit {
namespace {
constexpr std::string_view alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
}

std::string make_ulid(WallTime now, const std::array<std::uint8_t, 10>& random) {
  std::string out(ulid_length, '0');
  auto ms = static_cast<std::uint64_t>(now.ms) & 0xffff'ffff'ffffULL;
  for (int i = 9; i >= 0; --i, ms >>= 5) out[static_cast<std::size_t>(i)] = alphabet[ms & 31];
  // 80 bits in 16 groups of five.
  for (std::size_t i = 0; i < 16; ++i) {
    const std::size_t bit = i * 5;
    const std::size_t byte = bit / 8;
    const unsigned pair = static_cast<unsigned>(random[byte]) << 8 | (byte + 1 < 10 ? random[byte + 1] : 0U);
    out[10 + i] = alphabet[(pair >> (11 - bit % 8)) & 31];
  }
  return out;
}

bool is_ulid(std::string_view text) {
  return text.size() == ulid_length && text[0] <= '7' && text.find_first_not_of(alphabet) == std::string_view::npos;
}

}  // namespace orbit
