#include "orbit/base/digest.hpp"

#include <openssl/evp.h>

#include <array>

namespace orbit {

Result<Digest> Digest::parse(std::string_view hex) {
  if (hex.size() != 64 || hex.find_first_not_of("0123456789abcdef") != std::string_view::npos)
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a SHA-256 digest", hex.substr(0, 80)), {},
                "64 lowercase hexadecimal digits");
  Digest digest;
  digest.hex_ = hex;
  return digest;
}

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() { ORBIT_ASSERT(context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1); }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  ORBIT_ASSERT(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

Digest Sha256::finish() {
  std::array<unsigned char, 32> raw{};
  unsigned size = 0;
  ORBIT_ASSERT(EVP_DigestFinal_ex(state_->context, raw.data(), &size) == 1 && size == raw.size());
  constexpr std::string_view digits = "0123456789abcdef";
  Digest digest;
  digest.hex_.reserve(64);
  for (const unsigned char byte : raw) {
    digest.hex_ += digits[byte >> 4];
    digest.hex_ += digits[byte & 15];
  }
  return digest;
}

Digest Sha256::of(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.finish();
}

}  // namespace orbit
