// The API over a real server, on a loopback port, with a real store, writer and placement behind it.
#pragma once

#include <thread>

#include "orbit/net/sse.hpp"
#include "orbit/server/api_server.hpp"
#include "orbit/wire/base64.hpp"
#include "orbit/wire/problem.hpp"
#include "run_fixture.hpp"

namespace orbit::server {

class ApiFixture : public RunFixture {
 protected:
  using Headers = net::HttpClient::Headers;

  explicit ApiFixture(AuthLimits limits = {}) {
    writer_->stop();
    writer_ = std::make_unique<control::Writer>(
        *engine_, [](const Intent&, const LiveAttempt&) {},
        [this](const std::vector<Event>& events) { hub_.publish(events); });
    writer_->start();
    restart_service(false);
    readers_ = std::make_unique<StorePool>(*store_);
    authenticator_ = std::make_unique<Authenticator>(*readers_, clock_, limits);
    for (const Role role : roles) tokens_[role] = add_token(std::string(role_name(role)) + "-token", role);
    net::ServerOptions options;
    options.spool_directory = scratch_.path() / "tmp";
    must(platform::make_directories(options.spool_directory));
    ApiContext context{*writer_,
                       *readers_,
                       *blobs_,
                       *logs_,
                       backends_,
                       clock_,
                       rng_,
                       hub_,
                       *authenticator_,
                       *service_,
                       *attempts_,
                       "1.2.3",
                       "sqlite",
                       engine_->leader_epoch(),
                       clock_.now().wall};
    server_ = must(ApiServer::listen(context, options));
    client_ = connect();
  }
  ~ApiFixture() override { server_->stop(1000); }

  static constexpr Role roles[] = {Role::viewer, Role::member, Role::operator_, Role::admin};

  std::unique_ptr<net::HttpClient> connect() {
    return must(net::HttpClient::connect(fmt::format("http://127.0.0.1:{}", server_->port())));
  }

  std::string add_token(const std::string& name, Role role, std::optional<WallTime> expires = {}) {
    const std::string text = make_token_text(rng_);
    Token token;
    token.id = make_id<TokenId>(rng_, clock_.now().wall);
    token.name = name;
    token.role = role;
    token.secret = Sha256::of(text);
    token.created_at = clock_.now().wall;
    token.created_by = "test";
    token.expires_at = expires;
    must(writer_->run([&](const World&, Now now) -> Result<Effects> { return decide::create_token(token, now); }));
    return text;
  }

  Headers as(Role role, Headers more = {}) const {
    more.emplace_back("Authorization", "Bearer " + tokens_.at(role));
    return more;
  }
  net::ClientResponse call(net::Method method, const std::string& target, const Headers& headers,
                           std::string_view body = {}) {
    return must(client_->request(method, target, headers, body));
  }
  net::ClientResponse get(const std::string& target, const Headers& more = {}) {
    return call(net::Method::get, target, as(Role::viewer, more));
  }
  net::ClientResponse post(const std::string& target, std::string_view body, Role role = Role::operator_) {
    return call(net::Method::post, target, as(role, {{"Content-Type", "application/json"}}), body);
  }

  static wire::Problem problem_of(const net::ClientResponse& response) {
    EXPECT_EQ(response.headers.at("content-type"), "application/problem+json") << response.body;
    auto problem = json::decode<wire::Problem>(response.body, json::From::user);
    EXPECT_TRUE(problem) << response.body;
    return problem.value_or(wire::Problem{});
  }
  static json::Value json_of(const net::ClientResponse& response) {
    EXPECT_LT(response.status, 300) << response.body;
    return must(json::parse(response.body));
  }
  static std::string text_at(const json::Value& value, const char* key) {
    return std::string(value.at(key).get_string());
  }

  // Brings the run's latest attempt to `change`d, as the circle would.
  void update(const RunView& run, const std::function<void(Attempt&)>& change) {
    must(writer_->run([&](const World& world, Now) -> Result<Effects> {
      const LiveAttempt* live = world.find(run.attempts.back().id);
      if (live == nullptr) return fail(ErrorCode::not_found, "the attempt does not live");
      UpdateAttempt update{live->record, live->record.version, live->record.state};
      change(update.attempt);
      ++update.attempt.version;
      Event event;
      event.at = clock_.now().wall;
      event.actor = "test";
      event.run = run.run.id;
      event.attempt = update.attempt.id;
      event.from = update.seen_state;
      event.to = update.attempt.state;
      return Effects{{update}, {event}};
    }));
  }
  // Its place is made and holds these files below artifacts/.
  void place(const RunView& run, const std::map<std::string, std::string>& artifacts) {
    Attempt copy = run.attempts.back();
    finish(copy, artifacts);
    update(run, [&](Attempt& attempt) {
      attempt.handle = copy.handle;
      attempt.state = AttemptState::running;
      attempt.started_at = clock_.now().wall;
    });
  }
  // The end, with the verified manifest.
  void succeed(const RunView& run) {
    const RunView now = view(run.run.id);
    const std::string manifest = must(placement_->read_manifest(now.attempts.back().handle));
    update(run, [](Attempt& attempt) { attempt.state = AttemptState::collecting; });
    update(run, [&](Attempt& attempt) {
      attempt.state = AttemptState::succeeded;
      attempt.reason = Reason::completed;
      attempt.exit_code = 0;
      attempt.ended_at = clock_.now().wall;
      attempt.artifacts = put(manifest);
      attempt.archive = ArchiveState::verified;
    });
  }
  void log(const RunView& run, Stream stream, std::string_view bytes) {
    const AttemptId& id = run.attempts.back().id;
    const auto size = logs_->size(id, stream);
    must(logs_->append(id, stream, size.value_or(0), bytes));
    must(logs_->sync(id));
    hub_.logs_grew(id);
  }

  EventHub hub_;
  std::unique_ptr<StorePool> readers_;
  std::unique_ptr<Authenticator> authenticator_;
  std::map<Role, std::string> tokens_;
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<net::HttpClient> client_;
};

}  // namespace orbit::server
