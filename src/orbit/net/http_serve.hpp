// The life of one connection: requests in, responses out, until either side ends it.
#pragma once

#include "orbit/net/http_connection.hpp"
#include "orbit/net/router.hpp"

namespace orbit::net {

asio::awaitable<void> serve(std::shared_ptr<Connection> connection, const Router& router);

// For a connection beyond the limit: 503 and a close.
asio::awaitable<void> turn_away(std::shared_ptr<Connection> connection);

}  // namespace orbit::net
