// SHA-256, always written as 64 lowercase hexadecimal digits.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "orbit/base/result.hpp"

namespace orbit {

class Digest {
 public:
  Digest() = default;  // empty: "no digest"
  static Result<Digest> parse(std::string_view hex);
  const std::string& hex() const { return hex_; }
  bool empty() const { return hex_.empty(); }
  auto operator<=>(const Digest&) const = default;

 private:
  friend class Sha256;
  std::string hex_;
};

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text.data(), text.size()))); }
  Digest finish();  // once

  static Digest of(std::string_view text);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace orbit

template <>
struct std::hash<orbit::Digest> {
  std::size_t operator()(const orbit::Digest& digest) const { return std::hash<std::string>{}(digest.hex()); }
};
