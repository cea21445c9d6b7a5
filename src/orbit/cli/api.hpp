// The API as the commands see it: a path and a body in, a body or an Error out.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orbit/base/json.hpp"
#include "orbit/cli/config.hpp"
#include "orbit/net/http.hpp"

namespace orbit::cli {

// "/api/v1/runs/NAME/why": each segment encoded.
std::string api_path(const std::vector<std::string>& segments);
// "?key=value&…" of those that have a value.
std::string query(const std::vector<std::pair<std::string, std::optional<std::string>>>& parameters);

class Api {
 public:
  // Does not talk to the server yet, or fails with `unavailable`.
  static Result<std::unique_ptr<Api>> open(Connection connection);

  Result<std::string> get(const std::string& target);
  Result<std::string> send(net::Method method, const std::string& target, const std::string& body);
  // 2xx answers with their headers.
  Result<net::ClientResponse> request(net::Method method, const std::string& target, std::string_view body = {},
                                      net::HttpClient::Headers headers = {});
  Result<void> upload(const std::string& target, const std::filesystem::path& file,
                      const std::function<void(std::int64_t)>& progress);
  Result<net::ClientResponse> stream(const std::string& target, net::HttpClient::Headers headers,
                                     const std::function<bool(std::string_view)>& sink);

  const Connection& connection() const { return connection_; }

  template <class T>
  Result<T> get_as(const std::string& target) {
    ORBIT_TRY_ASSIGN(const std::string body, get(target));
    return decode<T>(body);
  }
  // An answer that cannot be read is the server's fault (or no Orbit answers there), never the user's input.
  template <class T>
  static Result<T> decode(const std::string& body) {
    auto value = json::decode<T>(body, json::From::ours);
    if (!value) return fail(unreadable(std::move(value).error()));
    return value;
  }

 private:
  Api(Connection connection, std::unique_ptr<net::HttpClient> client)
      : connection_(std::move(connection)), client_(std::move(client)) {}
  static Error unreadable(Error error);
  net::HttpClient::Headers with_token(net::HttpClient::Headers headers) const;
  Result<net::ClientResponse> checked(Result<net::ClientResponse> response) const;

  Connection connection_;
  std::unique_ptr<net::HttpClient> client_;
};

}  // namespace orbit::cli
