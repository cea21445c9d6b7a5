#include "orbit/cli/api.hpp"

#include "orbit/wire/problem.hpp"

namespace orbit::cli {

namespace {

// The API's hints are for any client; where they name neither a command nor a near name, the client's command is
// better.
bool names_command(const std::string& hint) {
  return hint.find("orbit ") != std::string::npos || hint.starts_with("did you mean");
}

}  // namespace

std::string api_path(const std::vector<std::string>& segments) {
  std::string out = "/api/v1";
  for (const std::string& segment : segments) out += "/" + net::url_encode(segment);
  return out;
}

std::string query(const std::vector<std::pair<std::string, std::optional<std::string>>>& parameters) {
  std::string out;
  for (const auto& [key, value] : parameters)
    if (value) out += (out.empty() ? "?" : "&") + net::url_encode(key) + "=" + net::url_encode(*value);
  return out;
}

Result<std::unique_ptr<Api>> Api::open(Connection connection) {
  auto client = net::HttpClient::connect(connection.server);
  if (!client) {
    Error error = std::move(client).error();
    if (error.code == ErrorCode::unavailable)
      error.hint = "is the server running? orbit server --data DIR; or name another one with --server URL";
    if (error.field.empty()) error.field = connection.server;
    if (error.code == ErrorCode::unsupported) error.code = ErrorCode::invalid_argument;  // an https:// URL: wrong use
    return fail(std::move(error));
  }
  return std::unique_ptr<Api>(new Api(std::move(connection), std::move(*client)));
}

Error Api::unreadable(Error error) {
  error.message = "the server's answer cannot be read: " + error.message;
  error.code = ErrorCode::internal;
  error.hint = "do the versions of orbit here and there fit? see orbit doctor";
  return error;
}

net::HttpClient::Headers Api::with_token(net::HttpClient::Headers headers) const {
  if (connection_.token) headers.emplace_back("Authorization", "Bearer " + *connection_.token);
  return headers;
}

Result<net::ClientResponse> Api::checked(Result<net::ClientResponse> response) const {
  if (!response) {
    Error error = std::move(response).error();
    if (error.code == ErrorCode::unavailable) {
      if (error.field.empty()) error.field = connection_.server;
      error.hint = "is the server running? orbit server --data DIR; or name another one with --server URL";
    }
    return fail(std::move(error));
  }
  if (response->status >= 200 && response->status < 300) return response;
  Error error = wire::error_of_response(response->status, response->body);
  if (error.code == ErrorCode::unauthenticated && !connection_.token)
    error.hint = "no token was sent: orbit login " + connection_.server + ", or set ORBIT_TOKEN";
  if (error.code == ErrorCode::not_found && !names_command(error.hint)) {
    if (error.field == "run" || error.field == "with")
      error.hint = "orbit run ls lists runs by id and name";
    else if (error.field == "experiment")
      error.hint = "orbit experiment ls lists them, orbit experiment create makes one";
    else if (error.field == "id")
      error.hint = "orbit token ls lists them";
  }
  return fail(std::move(error));
}

Result<net::ClientResponse> Api::request(net::Method method, const std::string& target, std::string_view body,
                                         net::HttpClient::Headers headers) {
  return checked(client_->request(method, target, with_token(std::move(headers)), body));
}

Result<std::string> Api::get(const std::string& target) {
  ORBIT_TRY_ASSIGN(net::ClientResponse response, request(net::Method::get, target));
  return std::move(response.body);
}

Result<std::string> Api::send(net::Method method, const std::string& target, const std::string& body) {
  net::HttpClient::Headers headers;
  if (!body.empty()) headers.emplace_back("Content-Type", "application/json");
  ORBIT_TRY_ASSIGN(net::ClientResponse response, request(method, target, body, std::move(headers)));
  return std::move(response.body);
}

Result<void> Api::upload(const std::string& target, const std::filesystem::path& file,
                         const std::function<void(std::int64_t)>& progress) {
  net::HttpClient::Headers headers{{"Content-Type", "application/octet-stream"}};
  ORBIT_TRY(checked(client_->upload(net::Method::put, target, with_token(std::move(headers)), file, progress)));
  return {};
}

Result<net::ClientResponse> Api::stream(const std::string& target, net::HttpClient::Headers headers,
                                        const std::function<bool(std::string_view)>& sink) {
  return checked(client_->stream(net::Method::get, target, with_token(std::move(headers)), sink));
}

}  // namespace orbit::cli
