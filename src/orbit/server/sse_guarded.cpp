#include "orbit/server/sse_guarded.hpp"

#include <stdexcept>

namespace orbit::server {

GuardedSource::GuardedSource(std::shared_ptr<net::BodySource> source, Authenticator& authenticator, TokenId token)
    : source_(std::move(source)), authenticator_(authenticator), token_(std::move(token)) {}

net::BodySource::Piece GuardedSource::next(std::size_t max_bytes, std::function<void()> wake) {
  const auto good = authenticator_.still_good(token_);
  if (!good) throw std::runtime_error(good.error().text());
  if (!*good) throw std::runtime_error("the token that opened the stream is revoked or expired");
  return source_->next(max_bytes, std::move(wake));
}

}  // namespace orbit::server
