#include "orbit/server/auth.hpp"

#include <algorithm>
#include <array>

#include "orbit/decide/catalog.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/wire/base64.hpp"

namespace orbit::server {
namespace {

constexpr std::size_t max_cached = 4096;
constexpr std::size_t max_addresses = 10'000;
constexpr std::size_t max_token_bytes = 256;

// "10.0.0.1:4711" -> "10.0.0.1", "[::1]:4711" -> "[::1]"
std::string address_of(const std::string& remote) {
  return remote.substr(0, remote.rfind(':'));
}

// The credential of an Authorization header: the scheme is case-insensitive (RFC 9110).
std::optional<std::string_view> bearer(std::string_view header) {
  constexpr std::string_view scheme = "bearer ";
  if (header.size() <= scheme.size()) return std::nullopt;
  for (std::size_t i = 0; i < scheme.size(); ++i) {
    const char c = header[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c) != scheme[i]) return std::nullopt;
  }
  header.remove_prefix(scheme.size());
  while (header.starts_with(' ')) header.remove_prefix(1);
  return header;
}

bool is_good(const Token& token, WallTime now) {
  return !token.revoked_at && (!token.expires_at || now.ms < token.expires_at->ms);
}

constexpr const char* how_to_sign_in = "send `Authorization: Bearer <token>`; an admin makes tokens";

Authenticator::Refusal refusal(std::string message, std::string hint) {
  return {401, Error{ErrorCode::unauthenticated, std::move(message), "Authorization", std::move(hint)}, 0};
}

}  // namespace

std::string make_token_text(Rng& rng) {
  std::array<std::uint8_t, 32> random{};
  rng.fill(random);
  return "orbit_" +
         wire::base64url_encode(std::string_view(reinterpret_cast<const char*>(random.data()), random.size()));
}

Authenticator::Authenticator(StorePool& readers, Clock& clock, AuthLimits limits)
    : readers_(readers), clock_(clock), limits_(limits) {}

std::int32_t Authenticator::tries_left(const Failures& failures, MonoTime now) const {
  const std::int64_t refilled = std::max<std::int64_t>(0, now.ms - failures.since.ms) / limits_.failed_refill_ms;
  return static_cast<std::int32_t>(std::min<std::int64_t>(limits_.failed_burst, failures.left + refilled));
}

bool Authenticator::may_try(const std::string& address, MonoTime now) const {
  const std::lock_guard lock(mutex_);
  const auto it = failures_.find(address);
  return it == failures_.end() || tries_left(it->second, now) > 0;
}

void Authenticator::note_failure(const std::string& address, MonoTime now) {
  const std::lock_guard lock(mutex_);
  const auto it = failures_.find(address);
  if (it != failures_.end()) {
    const std::int32_t left = tries_left(it->second, now);
    it->second = {std::max(0, left - 1), now};
    return;
  }
  if (failures_.size() >= max_addresses) {
    std::erase_if(failures_, [&](const auto& entry) { return tries_left(entry.second, now) >= limits_.failed_burst; });
    if (failures_.size() >= max_addresses) failures_.erase(failures_.begin());
  }
  failures_.emplace(address, Failures{limits_.failed_burst - 1, now});
}

Result<std::optional<Token>> Authenticator::look_up(const Digest& secret, MonoTime now) {
  std::uint64_t generation = 0;
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = cache_.find(secret); it != cache_.end() && now < it->second.until) return it->second.token;
    generation = generation_;
  }
  ORBIT_TRY_ASSIGN(const auto reader, readers_.reader());
  ORBIT_TRY_ASSIGN(std::optional<Token> token, reader->token_by_secret(secret));
  const std::lock_guard lock(mutex_);
  if (token && generation == generation_) {
    if (cache_.size() >= max_cached) cache_.clear();
    cache_[secret] = {*token, MonoTime{now.ms + limits_.cache_ms}};
  }
  return token;
}

tl::expected<Identity, Authenticator::Refusal> Authenticator::authenticate(const net::Request& request) {
  const auto header = request.headers.find("authorization");
  if (header == request.headers.end()) return tl::unexpected(refusal("a credential is needed", how_to_sign_in));

  const Now now = clock_.now();
  const std::string address = address_of(request.remote);
  const auto text = bearer(header->second);
  if (!text || text->size() > max_token_bytes) {
    note_failure(address, now.mono);
    return tl::unexpected(refusal("the Authorization header is not of the form `Bearer <token>`", how_to_sign_in));
  }

  const Digest secret = Sha256::of(*text);
  bool known = false;
  {
    const std::lock_guard lock(mutex_);
    known = good_once_.contains(secret);
  }
  if (!known && !may_try(address, now.mono)) {
    const std::int64_t wait_s = std::max<std::int64_t>(1, limits_.failed_refill_ms / 1000);
    return tl::unexpected(Refusal{429,
                                  Error{ErrorCode::unavailable, "too many bad credentials came from this address",
                                        "Authorization", "wait a little and try again with a valid token"},
                                  wait_s});
  }

  const auto token = look_up(secret, now.mono);
  if (!token)
    return tl::unexpected(Refusal{
        503, Error{ErrorCode::unavailable, "credentials cannot be checked now", {}, "try again; see the server's log"},
        1});
  const bool good = *token && is_good(**token, now.wall);
  {
    const std::lock_guard lock(mutex_);
    if (!good) {
      good_once_.erase(secret);
    } else if (!known) {
      if (good_once_.size() >= max_cached) good_once_.clear();
      good_once_.insert(secret);
    }
  }
  if (good) return Identity{(*token)->id, (*token)->name, (*token)->role};
  note_failure(address, now.mono);
  return tl::unexpected(refusal("the token is not valid", "it may be revoked, expired or mistyped; log in again"));
}

Result<bool> Authenticator::still_good(const TokenId& token) {
  const Now now = clock_.now();
  std::uint64_t generation = 0;
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = by_id_.find(token); it != by_id_.end() && now.mono < it->second.until)
      return is_good(it->second.token, now.wall);
    generation = generation_;
  }
  ORBIT_TRY_ASSIGN(const auto reader, readers_.reader());
  ORBIT_TRY_ASSIGN(const std::vector<Token> tokens, reader->tokens());
  const auto found = std::find_if(tokens.begin(), tokens.end(), [&](const Token& one) { return one.id == token; });
  if (found == tokens.end()) return false;
  const std::lock_guard lock(mutex_);
  if (generation == generation_) {
    if (by_id_.size() >= max_cached) by_id_.clear();
    by_id_[token] = {*found, MonoTime{now.mono.ms + limits_.cache_ms}};
  }
  return is_good(*found, now.wall);
}

void Authenticator::forget(const TokenId& token) {
  const std::lock_guard lock(mutex_);
  ++generation_;
  by_id_.erase(token);
  std::erase_if(cache_, [&](const auto& entry) { return entry.second.token.id == token; });
}

Result<std::optional<std::string>> ensure_admin_token(control::Writer& writer, StorePool& readers, Clock& clock,
                                                      Rng& rng, const std::filesystem::path& keys) {
  ORBIT_TRY_ASSIGN(const auto reader, readers.reader());
  ORBIT_TRY_ASSIGN(const std::vector<Token> tokens, reader->tokens());
  if (std::any_of(tokens.begin(), tokens.end(), [](const Token& token) { return token.role == Role::admin; }))
    return std::optional<std::string>();

  const std::string text = make_token_text(rng);
  ORBIT_TRY(platform::make_directories(keys, 0700));
  ORBIT_TRY(platform::write_file_durably(keys / "admin.token", text + "\n", 0600));
  Token token;
  const WallTime now = clock.now().wall;
  token.id = make_id<TokenId>(rng, now);
  token.name = "admin";
  token.role = Role::admin;
  token.secret = Sha256::of(text);
  token.created_at = now;
  token.created_by = "orbit";
  ORBIT_TRY(writer.run([token](const World&, Now at) -> Result<Effects> { return decide::create_token(token, at); }));
  return std::optional(text);
}

}  // namespace orbit::server
