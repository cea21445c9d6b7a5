// A real server on a free port, for clients that must live with real connections.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "orbit/cli/context.hpp"
#include "orbit/net/http.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::cli {

class TestServer {
 public:
  explicit TestServer(std::vector<net::Route> routes)
      : spool_(*platform::TempDirectory::make(std::filesystem::temp_directory_path(), "orbit-cli-")) {
    net::ServerOptions options;
    options.spool_directory = spool_.path();
    auto server = net::HttpServer::listen(std::move(options), std::move(routes));
    EXPECT_TRUE(server) << server.error().text();
    server_ = std::move(*server);
  }
  ~TestServer() { server_->stop(1000); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  Connection connection() const {
    Connection out;
    out.server = url();
    out.token = "secret-token";
    return out;
  }

 private:
  platform::TempDirectory spool_;
  std::unique_ptr<net::HttpServer> server_;
};

// What a command wrote, and the context to run it in.
struct TestContext {
  std::ostringstream out, err;
  Context context{out, err, {}, [](const char*) { return std::optional<std::string>(); }, {}, {}};
  explicit TestContext(const std::string& server = {}) {
    if (!server.empty()) context.options.server = server;
    context.options.token = "secret-token";
  }
};

inline net::Route route(net::Method method, std::string pattern, net::Handler handler,
                        net::BodyKind body = net::BodyKind::none) {
  net::Route out;
  out.method = method;
  out.pattern = std::move(pattern);
  out.options.body = body;
  out.options.max_body_bytes = 64 << 20;
  out.guard = [](net::Request&) { return std::optional<net::Response>(); };
  out.handler = std::move(handler);
  return out;
}

inline net::Response json_answer(std::string body, int status = 200) {
  net::Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

}  // namespace orbit::cli
