// A stream that lasts no longer than the credential it was opened with (X1).
#pragma once

#include <memory>

#include "orbit/net/http.hpp"
#include "orbit/server/auth.hpp"

namespace orbit::server {

// Asks for each piece, so at the latest with the next keep-alive, whether the token is still good. When it is not, the
// stream is cut: what was not sent must not look like the end.
class GuardedSource : public net::BodySource {
 public:
  GuardedSource(std::shared_ptr<net::BodySource> source, Authenticator& authenticator, TokenId token);
  Piece next(std::size_t max_bytes, std::function<void()> wake) override;

 private:
  const std::shared_ptr<net::BodySource> source_;
  Authenticator& authenticator_;
  const TokenId token_;
};

}  // namespace orbit::server
