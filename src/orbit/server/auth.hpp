// Who is asking, and may he (X1).
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "orbit/base/result.hpp"
#include "orbit/control/writer.hpp"
#include "orbit/domain/records.hpp"
#include "orbit/net/http.hpp"
#include "orbit/ports/clock.hpp"
#include "orbit/ports/rng.hpp"
#include "orbit/server/store_pool.hpp"

namespace orbit::server {

// What a route declares. There is no default: a route without it does not compile.
class Access {
 public:
  static constexpr Access anybody() { return Access(std::nullopt); }
  static constexpr Access at_least(Role role) { return Access(role); }
  // A member on what is his own, an operator on everybody's: the handler calls check_may_act_on() once it knows whose
  // it is.
  static constexpr Access own_or_operator() { return Access(Role::member, true); }
  constexpr std::optional<Role> role() const { return role_; }  // nothing: no credential needed
  constexpr bool own_only() const { return own_only_; }         // below operator

 private:
  explicit constexpr Access(std::optional<Role> role, bool own_only = false) : role_(role), own_only_(own_only) {}
  std::optional<Role> role_;
  bool own_only_;
};

struct Identity {
  TokenId token;
  std::string name;  // recorded as actor
  Role role = Role::viewer;
};

// "orbit_" and 32 random bytes as base64url. Only its SHA-256 is ever stored.
std::string make_token_text(Rng& rng);

struct AuthLimits {
  std::int64_t cache_ms =
      5'000;  // how long a revocation by other means may go unnoticed; through this server: not at all
  std::int32_t failed_burst = 20;         // bad credentials from one address before it has to wait
  std::int64_t failed_refill_ms = 1'000;  // and how often one more is allowed
};

// Thread-safe.
class Authenticator {
 public:
  Authenticator(StorePool& readers, Clock& clock, AuthLimits limits = {});

  struct Refusal {
    int status = 401;
    Error error;
    std::int64_t retry_after_s = 0;
  };
  // The identity behind `Authorization: Bearer …`, or why there is none. Nothing of the credential is in the error.
  tl::expected<Identity, Refusal> authenticate(const net::Request& request);

  // Whether an identity that was given may go on: its token is neither revoked nor expired. For answers that last.
  Result<bool> still_good(const TokenId& token);

  // To be called after a revocation is durable: from here on the token is refused.
  void forget(const TokenId& token);

 private:
  struct Cached {
    Token token;
    MonoTime until;
  };
  struct Failures {
    std::int32_t left = 0;
    MonoTime since;
  };
  Result<std::optional<Token>> look_up(const Digest& secret, MonoTime now);
  bool may_try(const std::string& address, MonoTime now) const;
  void note_failure(const std::string& address, MonoTime now);
  std::int32_t tries_left(const Failures& failures, MonoTime now) const;

  StorePool& readers_;
  Clock& clock_;
  const AuthLimits limits_;
  mutable std::mutex mutex_;  // guards what follows; never held during a look-up
  std::unordered_map<Digest, Cached> cache_;
  std::unordered_map<TokenId, Cached> by_id_;  // of still_good()
  std::uint64_t generation_ = 0;               // grows with each forget(): a look-up begun before it is not cached
  // Secrets that were good once: they pass the limit (and are looked up), so that a stranger behind the same address,
  // or a script with an old token, locks nobody out.
  std::unordered_set<Digest> good_once_;
  std::map<std::string, Failures> failures_;  // by address without port
};

// The first start's way in: makes an admin token, writes it to keys/admin.token (0600) and then records it. Nothing
// when an admin token was ever recorded. A crash in between leaves a file without a record: the next start makes a new
// one.
Result<std::optional<std::string>> ensure_admin_token(control::Writer& writer, StorePool& readers, Clock& clock,
                                                      Rng& rng, const std::filesystem::path& keys);

}  // namespace orbit::server
