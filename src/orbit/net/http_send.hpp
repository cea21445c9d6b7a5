// Writes responses: in memory, from disk, or piece by piece from a source.
#pragma once

#include "orbit/net/http_connection.hpp"

namespace orbit::net {

// What the answer to one request must keep to.
struct Exchange {
  bool head_only = false;
  bool http_1_0 = false;
  bool keep_alive = true;
};

// The answer the server gives for itself. Never throws.
Response own_response(const ServerContext& context, int status, Error error);

// Clears exchange.keep_alive where the response ends the connection. False: it could not be sent whole; the connection
// is of no further use and may have been cut, since a body that cannot be completed must not look complete.
asio::awaitable<bool> send_response(Connection& connection, Response response, Exchange& exchange);

}  // namespace orbit::net
