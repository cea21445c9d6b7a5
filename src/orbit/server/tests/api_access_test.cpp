// X1: every route authenticates as its table entry declares, and credentials go nowhere.
#include <sys/stat.h>
#include <unistd.h>

#include "api_fixture.hpp"

namespace orbit::server {
namespace {

class ApiAccess : public ApiFixture {
 protected:
  // A path that the route matches, with what exists where it can.
  std::string target_of(const Endpoint& endpoint, const RunView& run) const {
    const std::map<std::string, std::string> values{{"{run}", run.run.id.str()},
                                                    {"{n}", "1"},
                                                    {"{stream}", "stdout"},
                                                    {"{path...}", "job.json"},
                                                    {"{digest}", Sha256::of("x").hex()},
                                                    {"{project}", "digits"},
                                                    {"{name}", "lr"},
                                                    {"{id}", "01hzzzzzzzzzzzzzzzzzzzzzzz"}};
    std::string out = endpoint.pattern;
    for (const auto& [name, value] : values)
      if (const auto at = out.find(name); at != std::string::npos) out.replace(at, name.size(), value);
    return out;
  }
};

TEST_F(ApiAccess, EveryRouteForEveryRole) {
  const RunView run = submit_named("a");
  const RouteTable table = api_routes();
  ASSERT_GE(table.endpoints().size(), 40U);
  for (const Endpoint& endpoint : table.endpoints()) {
    const std::string target = target_of(endpoint, run);
    ASSERT_EQ(target.find('{'), std::string::npos) << target;
    SCOPED_TRACE(std::string(net::to_string(endpoint.method)) + " " + target);
    const auto without = call(endpoint.method, target, {});
    if (!endpoint.access.role()) {
      EXPECT_EQ(without.status, 200);
      continue;
    }
    EXPECT_EQ(without.status, 401);
    EXPECT_EQ(without.headers.at("www-authenticate"), "Bearer realm=\"orbit\"");
    EXPECT_EQ(problem_of(without).code, "unauthenticated");
    for (const Role role : roles) {
      const auto with = call(endpoint.method, target, as(role));
      if (role < *endpoint.access.role()) {
        EXPECT_EQ(with.status, 403) << role_name(role);
        EXPECT_EQ(problem_of(with).code, "refused");
      } else {
        EXPECT_NE(with.status, 401) << role_name(role);
        // The run and the project are somebody else's.
        const bool refused =
            endpoint.access.own_only() && role < Role::operator_ && with.status != 404 && with.status != 400;
        EXPECT_EQ(with.status == 403, refused) << role_name(role) << ": " << with.body;
        EXPECT_NE(with.status, 405) << role_name(role);
        EXPECT_LT(with.status, 500) << with.body;
      }
    }
  }
}

TEST_F(ApiAccess, OnlyHealthIsPublic) {
  const RouteTable table = api_routes();
  for (const Endpoint& endpoint : table.endpoints())
    EXPECT_EQ(!endpoint.access.role(), endpoint.pattern == "/healthz") << endpoint.pattern;
}

// Changes are for members and above; tokens for admins.
TEST_F(ApiAccess, ViewersChangeNothing) {
  const RouteTable table = api_routes();
  for (const Endpoint& endpoint : table.endpoints()) {
    if (endpoint.method != net::Method::get) {
      EXPECT_GE(*endpoint.access.role(), Role::member) << endpoint.pattern;
    }
    if (endpoint.pattern.find("/tokens") != std::string::npos) {
      EXPECT_EQ(endpoint.access.role(), Role::admin);
    }
  }
}

TEST_F(ApiAccess, MalformedCredentialsAreRefused) {
  const std::string good = tokens_.at(Role::viewer);
  for (const std::string& header :
       {std::string("Bearer"), std::string("Bearer "), std::string("Basic dTpw"), good, "Bearer x" + good,
        "Bearer " + good + "x", "Bearer " + good.substr(0, good.size() - 1), "Bearer " + std::string(5000, 'a')}) {
    const auto response = call(net::Method::get, "/api/v1/whoami", {{"Authorization", header}});
    EXPECT_EQ(response.status, 401) << header.substr(0, 60);
    EXPECT_EQ(response.body.find(good), std::string::npos) << "a credential came back";
  }
  EXPECT_EQ(call(net::Method::get, "/api/v1/whoami", {{"Authorization", "bEaReR " + good}}).status, 200);
}

// What the server marks a caller with cannot be sent by a client.
TEST_F(ApiAccess, IdentityCannotBeForged) {
  const auto response = client_->request(net::Method::get, "/api/v1/whoami",
                                         as(Role::viewer, {{"role", "admin"}, {"name", "root"}, {"token", "x"}}), "");
  ASSERT_TRUE(response);
  EXPECT_EQ(text_at(json_of(*response), "role"), "viewer");
  EXPECT_EQ(text_at(json_of(*response), "name"), "viewer-token");
}

TEST_F(ApiAccess, TokenLifeFromCreationToRevocation) {
  const auto made = post("/api/v1/tokens", R"({"name":"ci","role":"operator","expires_in_s":3600})", Role::admin);
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string text = text_at(json_of(made), "token");
  EXPECT_EQ(text.size(), 6U + 43U);
  EXPECT_TRUE(text.starts_with("orbit_"));
  const Headers with{{"Authorization", "Bearer " + text}};
  EXPECT_EQ(text_at(json_of(call(net::Method::get, "/api/v1/whoami", with)), "role"), "operator");

  const auto list = call(net::Method::get, "/api/v1/tokens", as(Role::admin));
  EXPECT_EQ(list.body.find(text), std::string::npos);
  EXPECT_EQ(list.body.find(Sha256::of(text).hex()), std::string::npos);
  EXPECT_EQ(post("/api/v1/tokens", R"({"name":"ci","role":"viewer"})", Role::admin).status, 409);

  const std::string id = text_at(json_of(made), "id");
  for (int i = 0; i < 2; ++i)  // twice is fine
    EXPECT_EQ(call(net::Method::delete_, "/api/v1/tokens/" + id, as(Role::admin)).status, 200);
  EXPECT_EQ(call(net::Method::get, "/api/v1/whoami", with).status, 401) << "the cache outlived the revocation";
  EXPECT_EQ(post("/api/v1/tokens", R"({"name":"ci","role":"viewer"})", Role::admin).status, 201) << "the name is free";
}

TEST_F(ApiAccess, BadTokenRequests) {
  for (const auto& [body, field] : std::vector<std::pair<std::string, std::string>>{
           {R"({"name":"x","role":"root"})", "role"},
           {R"({"name":"x","role":"operator_"})", "role"},
           {R"({"name":"orbit","role":"admin"})", "name"},
           {R"({"name":"../x","role":"admin"})", "name"},
           {R"({"name":"x","role":"admin","expires_in_s":0})", "expires_in_s"},
           {R"({"name":"x","role":"admin","expires_in_s":1e30})", "expires_in_s"},
           {R"({"name":"x","role":"admin","secret":"y"})", "secret"},
           {R"({"role":"admin"})", "name"}}) {
    const auto response = post("/api/v1/tokens", body, Role::admin);
    EXPECT_EQ(response.status, 400) << body;
    EXPECT_EQ(problem_of(response).field, field) << body;
  }
}

TEST_F(ApiAccess, LastAdminCannotLockEverybodyOut) {
  const auto tokens = json_of(call(net::Method::get, "/api/v1/tokens", as(Role::admin))).at("items").get_array();
  for (const auto& token : tokens) {
    if (token.at("role").get_string() != "admin") continue;
    const auto response =
        call(net::Method::delete_, "/api/v1/tokens/" + std::string(token.at("id").get_string()), as(Role::admin));
    EXPECT_EQ(response.status, 409);
  }
  EXPECT_EQ(call(net::Method::get, "/api/v1/tokens", as(Role::admin)).status, 200);
}

TEST_F(ApiAccess, ExpiredTokenIsRefused) {
  const std::string text = add_token("old", Role::admin, WallTime{clock_.now().wall.ms - 1});
  EXPECT_EQ(call(net::Method::get, "/api/v1/whoami", {{"Authorization", "Bearer " + text}}).status, 401);
}

TEST_F(ApiAccess, AnswersCarrySecurityHeaders) {
  for (const auto& response : {call(net::Method::get, "/healthz", {}), call(net::Method::get, "/api/v1/whoami", {}),
                               call(net::Method::get, "/nowhere", {}), get("/api/v1/runs/nosuch")}) {
    EXPECT_EQ(response.headers.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(response.headers.at("cache-control"), "no-store");
    EXPECT_EQ(response.headers.at("x-frame-options"), "DENY");
    EXPECT_NE(response.headers.at("content-security-policy").find("default-src 'none'"), std::string::npos);
  }
}

// A credential wherever people put one, on the way into every kind of error, is in no answer and in no log line.
TEST_F(ApiAccess, CredentialsAreNeverLoggedOrEchoed) {
  const std::string canary = "orbit_canary0123456789canary0123456789canary01234";
  const auto log_file = scratch_.path() / "stderr";
  std::fflush(stderr);
  const int saved = dup(STDERR_FILENO);
  ASSERT_NE(std::freopen(log_file.c_str(), "w", stderr), nullptr);
  std::string bodies;
  const auto collect = [&](const net::ClientResponse& response) {
    EXPECT_GE(response.status, 400);
    bodies += response.body;
    for (const auto& [name, value] : response.headers) bodies += value;
  };
  collect(call(net::Method::get, "/api/v1/whoami", {{"Authorization", "Bearer " + canary}}));
  collect(call(net::Method::get, "/api/v1/whoami", {{"Authorization", canary}}));
  collect(call(net::Method::get, "/api/v1/whoami?access_token=" + canary, as(Role::viewer)));
  collect(
      call(net::Method::get, "/api/v1/nowhere", {{"Authorization", "Bearer " + canary}, {"Cookie", "s=" + canary}}));
  collect(get("/api/v1/runs?limit=" + canary, {{"Cookie", "session=" + canary}}));
  collect(get("/api/v1/runs?cursor=" + canary, {{"Cookie", "session=" + canary}}));
  writer_->stop();  // provokes 503
  collect(get("/api/v1/server?", {{"Cookie", "session=" + canary}, {"X-Api-Key", canary}}));
  std::fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);
  const std::string log = must(platform::read_file(log_file, 1 << 20));
  EXPECT_NE(log.find("getServer"), std::string::npos) << "nothing was logged, so nothing was tested: " << log;
  EXPECT_EQ(log.find("canary"), std::string::npos) << log;
  EXPECT_EQ(bodies.find("canary"), std::string::npos) << bodies;
}

class ApiRateLimit : public ApiFixture {
 protected:
  ApiRateLimit() : ApiFixture(AuthLimits{5'000, 3, 3'600'000}) {}
};

TEST_F(ApiRateLimit, GuessingIsSlowedAndNobodyElseIsLockedOut) {
  EXPECT_EQ(get("/api/v1/whoami").status, 200);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(call(net::Method::get, "/api/v1/whoami", {{"Authorization", "Bearer guess" + std::to_string(i)}}).status,
              401);
  const auto limited = call(net::Method::get, "/api/v1/whoami", {{"Authorization", "Bearer guess"}});
  EXPECT_EQ(limited.status, 429);
  EXPECT_GE(std::stoi(limited.headers.at("retry-after")), 1);
  // From another port of the same address too.
  EXPECT_EQ(must(connect()->request(net::Method::get, "/api/v1/whoami", {{"Authorization", "Bearer x"}}, "")).status,
            429);
  EXPECT_EQ(get("/api/v1/whoami").status, 200) << "a token known to be good was locked out";
  for (int i = 0; i < 10; ++i) EXPECT_EQ(call(net::Method::get, "/api/v1/whoami", {}).status, 401) << "no credential";
}

class AdminToken : public RunFixture {};

TEST_F(AdminToken, FirstStartMakesOneAndOnlyOne) {
  StorePool readers(*store_);
  const fs::path keys = scratch_.path() / "keys";
  const auto made = must(ensure_admin_token(*writer_, readers, clock_, rng_, keys));
  ASSERT_TRUE(made);
  EXPECT_EQ(must(platform::read_file(keys / "admin.token", 1024)), *made + "\n");
  struct stat info{};
  ASSERT_EQ(stat((keys / "admin.token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_EQ(must(reader_->token_by_secret(Sha256::of(*made))).value().role, Role::admin);
  EXPECT_FALSE(must(ensure_admin_token(*writer_, readers, clock_, rng_, keys)));
  EXPECT_EQ(must(reader_->tokens()).size(), 1U);
}

TEST_F(AdminToken, FileThatCannotBeWrittenLeavesNoRecord) {
  StorePool readers(*store_);
  std::ofstream(scratch_.path() / "keys") << "a file in the way";
  EXPECT_FALSE(ensure_admin_token(*writer_, readers, clock_, rng_, scratch_.path() / "keys"));
  EXPECT_TRUE(must(reader_->tokens()).empty());
}

}  // namespace
}  // namespace orbit::server
