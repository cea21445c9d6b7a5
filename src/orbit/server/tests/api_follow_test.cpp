// R12, U4: followers lose and repeat nothing, whatever cuts them, and tell the end from a cut.
#include <atomic>
#include <chrono>

#include "api_fixture.hpp"
#include "orbit/server/sse_events.hpp"
#include "orbit/server/sse_guarded.hpp"

namespace orbit::server {
namespace {

class ApiFollow : public ApiFixture {
 protected:
  // Reads events until `enough` says so or the stream ends; at most a generous while.
  std::vector<net::SseEvent> follow(const std::string& target, const std::string& last_id,
                                    const std::function<bool(const std::vector<net::SseEvent>&)>& enough,
                                    const std::function<void()>& opened = {}) {
    Headers headers = as(Role::viewer, {{"Accept", "text/event-stream"}});
    if (!last_id.empty()) headers.emplace_back("Last-Event-ID", last_id);
    std::vector<net::SseEvent> events;
    net::SseParser parser;
    bool first = true;
    const auto client = connect();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto response = client->stream(net::Method::get, target, headers, [&](std::string_view bytes) {
      if (std::exchange(first, false) && opened) opened();
      for (auto& event : parser.feed(bytes)) events.push_back(std::move(event));
      return !enough(events) && std::chrono::steady_clock::now() < deadline;
    });
    if (response) {
      EXPECT_EQ(response->status, 200) << response->body;
    }
    return events;
  }
  static std::string text_of(const std::vector<net::SseEvent>& events) {
    std::string out;
    for (const auto& event : events) {
      if (event.event != "log") continue;
      const auto chunk = must(json::decode<wire::LogChunk>(event.data, json::From::user));
      EXPECT_EQ(chunk.offset + static_cast<std::int64_t>(must(wire::base64_decode(chunk.bytes_base64)).size()),
                std::stoll(event.id));
      out += must(wire::base64_decode(chunk.bytes_base64));
    }
    return out;
  }
};

TEST_F(ApiFollow, LogIsFollowedToItsEnd) {
  const RunView run = submit_named("a");
  const std::string first = std::string("\0\xff first\r\n", 10) + std::string(200'000, 'x');
  log(run, Stream::stdout_, first);
  std::atomic<bool> opened{false};
  std::thread writer([&] {
    while (!opened) std::this_thread::yield();
    for (int i = 0; i < 20; ++i) log(run, Stream::stdout_, "line " + std::to_string(i) + "\n");
    must(writer_->run(
        [&](const World& world, Now now) { return decide::request_stop(world, run.attempts.back().id, "ada", now); }));
  });
  const auto events =
      follow("/api/v1/runs/a/attempts/1/logs/stdout", "", [](const auto&) { return false; }, [&] { opened = true; });
  writer.join();
  std::string wanted = first;
  for (int i = 0; i < 20; ++i) wanted += "line " + std::to_string(i) + "\n";
  EXPECT_EQ(text_of(events), wanted);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().event, "end");
  EXPECT_EQ(events.back().data, fmt::format("{{\"size_bytes\":{}}}", wanted.size()));
  EXPECT_EQ(std::count_if(events.begin(), events.end(), [](const auto& event) { return event.event == "end"; }), 1);
}

TEST_F(ApiFollow, LogGoesOnAfterCuts) {
  const RunView run = submit_named("a");
  std::string wanted;
  for (int i = 0; i < 40'000; ++i) wanted += std::to_string(i) + ",";
  log(run, Stream::stderr_, wanted);
  end(run);
  std::string got;
  std::string last_id;
  for (int cuts = 0; cuts < 100; ++cuts) {
    const auto events =
        follow("/api/v1/runs/a/attempts/1/logs/stderr", last_id, [](const auto& seen) { return !seen.empty(); });
    ASSERT_FALSE(events.empty());
    got += text_of(events);
    last_id = events.back().id;
    if (events.back().event == "end") break;
  }
  EXPECT_EQ(got, wanted);
  EXPECT_EQ(text_of(follow("/api/v1/runs/a/attempts/1/logs/stderr?offset=-3", "", [](const auto&) { return false; })),
            wanted.substr(wanted.size() - 3));
}

TEST_F(ApiFollow, EventsGoOnWhereTheyWereCut) {
  submit_named("a");
  const auto list = json_of(get("/api/v1/events?limit=1000")).at("items").get_array();
  ASSERT_GE(list.size(), 3U);
  std::vector<std::int64_t> wanted;
  for (const auto& item : list) wanted.push_back(item.at("seq").as_int64());
  std::vector<std::int64_t> got;
  std::string last_id = "0";
  while (got.size() < wanted.size()) {
    const auto events = follow("/api/v1/events", last_id, [](const auto& seen) { return !seen.empty(); });
    ASSERT_FALSE(events.empty());
    for (const auto& event : events) got.push_back(std::stoll(event.id));
    last_id = events.back().id;
  }
  EXPECT_EQ(got, wanted);
}

TEST_F(ApiFollow, NewFollowerHearsWhatHappensFromNowOn) {
  submit_named("old");
  std::atomic<bool> opened{false};
  std::thread submitter([&] {
    while (!opened) std::this_thread::yield();
    submit_named("new");
  });
  const auto events = follow(
      "/api/v1/events", "",
      [](const auto& seen) {
        return std::any_of(seen.begin(), seen.end(), [](const auto& event) { return event.event == "run_submitted"; });
      },
      [&] { opened = true; });
  submitter.join();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(
      std::count_if(events.begin(), events.end(), [](const auto& event) { return event.event == "run_submitted"; }), 1);
}

// A follower of one run gets its whole story and nothing of others.
TEST_F(ApiFollow, StoryOfOneRun) {
  const RunView run = submit_named("a");
  submit_named("b");
  end(run);
  const auto events = follow("/api/v1/runs/a/events", "", [](const auto& seen) {
    return !seen.empty() && seen.back().data.find("terminated") != std::string::npos;
  });
  ASSERT_GE(events.size(), 3U);
  for (const auto& event : events) EXPECT_NE(event.data.find(run.run.id.str()), std::string::npos) << event.data;
  EXPECT_EQ(events.front().event, "run_submitted");
}

TEST_F(ApiFollow, StreamsThatDoNotExistAreProblems) {
  const Headers headers{{"Accept", "text/event-stream"}};
  EXPECT_EQ(get("/api/v1/runs/nosuch/events", headers).status, 404);
  EXPECT_EQ(problem_of(get("/api/v1/events", {{"Accept", "text/event-stream"}, {"Last-Event-ID", "x"}})).field,
            "Last-Event-ID");
}

// X1: a stream does not outlive the token that opened it, and nothing that comes afterwards is told.
TEST_F(ApiFollow, RevokedTokenLosesItsStreams) {
  for (const auto& [name, what] : {std::pair("a", "/events"), std::pair("b", "/attempts/1/logs/stdout")}) {
    const RunView run = submit_named(name);
    log(run, Stream::stdout_, "before");
    const std::string target = std::string("/api/v1/runs/") + name + what;
    const auto made =
        json_of(post("/api/v1/tokens", fmt::format(R"({{"name":"{}","role":"viewer"}})", name), Role::admin));
    const Headers headers{{"Accept", "text/event-stream"}, {"Authorization", "Bearer " + text_at(made, "token")}};
    std::string got;
    bool opened = false;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto response = connect()->stream(net::Method::get, target, headers, [&](std::string_view bytes) {
      got += bytes;
      if (!std::exchange(opened, true)) {
        EXPECT_EQ(call(net::Method::delete_, "/api/v1/tokens/" + text_at(made, "id"), as(Role::admin)).status, 200);
        log(run, Stream::stdout_, "behind");
        end(run);
      }
      return std::chrono::steady_clock::now() < deadline;
    });
    EXPECT_TRUE(opened);
    EXPECT_FALSE(response) << "ended as if it were whole";
    EXPECT_LT(std::chrono::steady_clock::now(), deadline);
    EXPECT_EQ(got.find("event: end"), std::string::npos) << got;
    EXPECT_EQ(got.find("terminated"), std::string::npos) << got;
    EXPECT_EQ(got.find(wire::base64_encode("behind")), std::string::npos) << got;
  }
}

struct HandClock : Clock {
  Now now() const override { return {WallTime{at_ms}, MonoTime{at_ms}, {}}; }
  std::int64_t at_ms = 1'000'000;
};

TEST_F(ApiFollow, TokenIsAskedForAgain) {
  HandClock clock;
  Authenticator authenticator(*readers_, clock);
  add_token("short", Role::viewer, WallTime{clock.at_ms + 3'000});
  add_token("long", Role::viewer);
  std::map<std::string, TokenId> ids;
  for (const Token& token : must(reader_->tokens())) ids[token.name] = token.id;
  EXPECT_TRUE(must(authenticator.still_good(ids.at("short"))));
  EXPECT_TRUE(must(authenticator.still_good(ids.at("long"))));
  clock.at_ms += 3'000;
  EXPECT_FALSE(must(authenticator.still_good(ids.at("short")))) << "expired, though it is in the cache";
  EXPECT_FALSE(must(authenticator.still_good(make_id<TokenId>(rng_, WallTime{1})))) << "there is no such token";

  EventHub hub;
  GuardedSource source(std::make_shared<EventFollower>(*readers_, hub, RunId(), 1'000'000), authenticator,
                       ids.at("long"));
  EXPECT_EQ(source.next(1000, [] {}).bytes, net::sse_keep_alive);
  // By other means than this server: noticed once the cache is too old.
  for (const Token& token : must(reader_->tokens()))
    if (token.name == "long")
      must(writer_->run([&](const World&, Now now) { return decide::revoke_token(token, "ada", now); }));
  clock.at_ms += AuthLimits{}.cache_ms;
  EXPECT_THROW(source.next(1000, [] {}), std::runtime_error);
}

Event numbered(std::int64_t seq) {
  Event out;
  out.seq = seq;
  return out;
}

TEST(EventHubTest, RingSaysWhatItNoLongerHas) {
  EventHub hub(3);
  EXPECT_FALSE(hub.recent(0, 10)) << "empty: the store knows";
  hub.publish({numbered(5), numbered(6)});
  EXPECT_FALSE(hub.recent(3, 10)) << "4 may be missing";
  EXPECT_EQ(hub.recent(4, 10)->size(), 2U);
  EXPECT_EQ(hub.recent(4, 1)->front().seq, 5);
  EXPECT_TRUE(hub.recent(6, 10)->empty());
  hub.publish({numbered(8), numbered(9)});
  EXPECT_FALSE(hub.recent(4, 10)) << "5 fell out";
  EXPECT_EQ(hub.recent(5, 10)->front().seq, 6);
  EXPECT_EQ(hub.last_seq(), 9);
}

TEST(EventHubTest, WakesThoseConcernedOnce) {
  EventHub hub;
  platform::SystemRng rng;
  const auto run = make_id<RunId>(rng, WallTime{1});
  const auto attempt = make_id<AttemptId>(rng, WallTime{1});
  EventHub::Subscription all(hub, {});
  EventHub::Subscription one(hub, {run, {}});
  EventHub::Subscription logs(hub, {{}, attempt});
  int of_all = 0, of_one = 0, of_logs = 0;
  const auto arm = [&] {
    all.arm([&] { ++of_all; });
    one.arm([&] { ++of_one; });
    logs.arm([&] { ++of_logs; });
  };
  arm();
  hub.publish({numbered(1)});
  hub.publish({numbered(2)});
  EXPECT_EQ(of_all, 1) << "once after each arm()";
  hub.logs_grew(attempt);
  EXPECT_EQ(of_logs, 1);
  EXPECT_EQ(of_one, 0);
  arm();
  Event concerned = numbered(3);
  concerned.run = run;
  concerned.attempt = attempt;
  hub.publish({concerned});
  EXPECT_EQ(of_all, 2);
  EXPECT_EQ(of_one, 1);
  EXPECT_EQ(of_logs, 2);
}

// However slow a follower is, and though the ring forgot long ago what it has not read.
TEST_F(ApiFollow, SlowFollowerReadsFromTheStore) {
  for (int i = 0; i < 10; ++i) submit_named("r" + std::to_string(i));
  EventHub tiny(2);
  const auto all = must(reader_->events(0, 1000, RunId()));
  tiny.publish({all.end() - 4, all.end()});
  EventFollower follower(*readers_, tiny, RunId(), 0);
  net::SseParser parser;
  std::vector<std::int64_t> got;
  for (int i = 0; i < 1000 && got.size() < all.size(); ++i)
    for (const auto& one : parser.feed(follower.next(300, [] {}).bytes)) got.push_back(std::stoll(one.id));
  ASSERT_EQ(got.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(got[i], all[i].seq);
}

TEST_F(ApiFollow, NewestSeqIsFoundWithoutTheHub) {
  const EventHub idle;
  EXPECT_EQ(must(newest_seq(*reader_, idle)), must(reader_->events(0, 1000, RunId())).back().seq);
  for (int i = 0; i < 3; ++i) submit_named("r" + std::to_string(i));
  EXPECT_EQ(must(newest_seq(*reader_, idle)), must(reader_->events(0, 1000, RunId())).back().seq);
}

}  // namespace
}  // namespace orbit::server
