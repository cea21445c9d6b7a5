// Bad input, pages, downloads: every refusal is a problem that names the field.
#include "api_fixture.hpp"

namespace orbit::server {
namespace {

class ApiRoutes : public ApiFixture {
 protected:
  void expect_problem(const net::ClientResponse& response, int status, const std::string& field) {
    EXPECT_EQ(response.status, status) << response.body;
    const wire::Problem problem = problem_of(response);
    EXPECT_EQ(problem.status, response.status);
    EXPECT_EQ(problem.field.value_or(""), field) << response.body;
    EXPECT_FALSE(problem.detail.empty());
  }
};

TEST_F(ApiRoutes, ErrorsOfTheServerItselfAreProblemsToo) {
  EXPECT_EQ(problem_of(get("/nowhere")).status, 404);
  EXPECT_EQ(problem_of(call(net::Method::delete_, "/api/v1/runs", as(Role::admin))).status, 405);
  EXPECT_EQ(problem_of(call(net::Method::get, "/api/v1/runs/%ZZ", as(Role::viewer))).status, 400);
  EXPECT_EQ(problem_of(post("/api/v1/runs", std::string((1 << 20) + 1, ' '))).status, 413);
}

TEST_F(ApiRoutes, BadBodiesNameTheField) {
  for (const auto& [body, field] : std::vector<std::pair<std::string, std::string>>{
           {"", "name"},
           {"null", ""},
           {"[]", ""},
           {"{\"name\":", ""},
           {R"({"name":"a b"})", "name"},
           {R"({"name":5})", "name"},
           {R"({"name":"x","nmae":"y"})", "nmae"},
           {R"({"name":"x","params":{"lr":0.1}})", "params.lr"},
           {R"({"name":"x","environment":{"any":true,"pyhton":"3"}})", "environment.pyhton"},
           {R"({"name":"x","key_files":[1]})", "key_files[0]"},
           {R"({"name":"x","version":1})", "version"},
           {R"({"name":"x","description":")" + std::string(20'000, 'a') + "\"}", "description"},
           {std::string(100, '[') + std::string(100, ']'), ""}})
    expect_problem(post("/api/v1/projects", body), 400, field);
  EXPECT_EQ(json_of(get("/api/v1/projects")).at("items").get_array().size(), 1U) << "something was created";
}

TEST_F(ApiRoutes, ProjectsChangeOnlyWhereSent) {
  ASSERT_EQ(post("/api/v1/projects", R"({"name":"p","description":"d","params":{"lr":"1"},"key_files":["a"]})").status,
            201);
  expect_problem(post("/api/v1/projects", R"({"name":"p"})"), 409, "name");
  const auto patch_p = [&](std::string_view body) {
    return call(net::Method::patch, "/api/v1/projects/p", as(Role::operator_), body);
  };
  auto changed = json_of(patch_p(R"({"source":"/src","version":1})"));
  EXPECT_EQ(text_at(changed, "description"), "d");
  EXPECT_EQ(changed.at("params").get_object().size(), 1U);
  changed = json_of(patch_p(R"({"params":{},"key_files":[]})"));
  EXPECT_TRUE(changed.at("params").get_object().empty());
  EXPECT_EQ(text_at(changed, "source"), "/src");
  expect_problem(patch_p(R"({"source":"/x","version":1})"), 409, "version");
  expect_problem(patch_p(R"({"name":"q"})"), 400, "name");
  expect_problem(call(net::Method::patch, "/api/v1/projects/nosuch", as(Role::member), "{}"), 404, "project");
}

TEST_F(ApiRoutes, R15_ProjectsRecordNoPasswordAndNoPathThatClimbs) {
  for (const auto& [body, field] : std::vector<std::pair<std::string, std::string>>{
           {R"({"name":"x","source":"https://user:secret@host/x.git"})", "source"},
           {R"({"name":"x","source":"a\nb"})", "source"},
           {R"({"name":"x","source":""})", "source"},
           {R"({"name":"x","entry":"../x"})", "entry"},
           {R"({"name":"x","key_files":["ok","../../*"]})", "key_files[1]"}})
    expect_problem(post("/api/v1/projects", body), 400, field);
  EXPECT_EQ(json_of(get("/api/v1/projects")).at("items").get_array().size(), 1U);
}

TEST_F(ApiRoutes, X1_MembersActOnTheirOwnAndOperatorsOnEverybodys) {
  const RunView run = submit(request());  // ada's
  const std::string at = "/api/v1/runs/" + run.run.id.str();
  for (const char* act : {"/stop", "/rerun", "/resume"}) expect_problem(post(at + act, "", Role::member), 403, "token");
  expect_problem(call(net::Method::patch, "/api/v1/projects/digits", as(Role::member), "{}"), 403, "token");
  EXPECT_EQ(json_of(get(at)).at("attempts").at(0).at("desired").get_string(), "run");
  EXPECT_EQ(post(at + "/stop", "", Role::operator_).status, 200);
  EXPECT_EQ(call(net::Method::patch, "/api/v1/projects/digits", as(Role::operator_), "{}").status, 200);

  ASSERT_EQ(
      post("/api/v1/projects/digits/experiments", R"({"name":"e","variable":"v","hypothesis":"h"})", Role::operator_)
          .status,
      201);
  expect_problem(post("/api/v1/projects/digits/experiments/e/conclude", R"({"conclusion":"c"})", Role::member), 403,
                 "token");
}

TEST_F(ApiRoutes, R3_TemplatesCarryTheDigestThatRunsRecord) {
  const RunView run = submit(request());
  EXPECT_EQ(text_at(json_of(get("/api/v1/templates/local-host")), "digest"), run.run.template_digest.hex());
  write_template("broken", "unknown_key: 1\n");
  expect_problem(get("/api/v1/templates/broken"), 500, "template");
  expect_problem(get("/api/v1/templates/brocken"), 404, "template");
  EXPECT_EQ(json_of(get("/api/v1/templates")).at("items").get_array().size(), 1U);
  std::ofstream(scratch_.path() / "task-types" / "bad.yaml") << "id: [";
  EXPECT_EQ(json_of(get("/api/v1/task-types")).at("items").get_array().size(), 4U);
  EXPECT_EQ(get("/api/v1/task-types/training").status, 200);
}

TEST_F(ApiRoutes, WhatIsForListsIsRefusedByStreams) {
  for (const char* key : {"limit", "newest"})
    expect_problem(get(std::string("/api/v1/events?") + key + "=3", {{"Accept", "text/event-stream"}}), 400, key);
}

TEST_F(ApiRoutes, FiltersByWhatDoesNotExistAreNoEmptyAnswers) {
  expect_problem(get("/api/v1/runs?project=digit"), 404, "project");
  expect_problem(get("/api/v1/runs?project=digits&experiment=none"), 404, "experiment");
}

TEST_F(ApiRoutes, ExperimentsConcludeOnce) {
  expect_problem(post("/api/v1/projects/nosuch/experiments", R"({"name":"e","variable":"","hypothesis":""})"), 404,
                 "project");
  ASSERT_EQ(post("/api/v1/projects/digits/experiments", R"({"name":"e","variable":"v","hypothesis":"h"})").status, 201);
  EXPECT_EQ(post("/api/v1/projects/digits/experiments", R"({"name":"e","variable":"v","hypothesis":"h"})").status, 409);
  const std::string at = "/api/v1/projects/digits/experiments/e/conclude";
  expect_problem(post(at, R"({"conclusion":""})"), 400, "conclusion");
  EXPECT_EQ(text_at(json_of(post(at, R"({"conclusion":"yes"})")), "conclusion"), "yes");
  EXPECT_EQ(post(at, R"({"conclusion":"no"})").status, 409);
}

TEST_F(ApiRoutes, QueryIsChecked) {
  for (const auto& [target, field] :
       std::vector<std::pair<std::string, std::string>>{{"/api/v1/runs?limit=0", "limit"},
                                                        {"/api/v1/runs?limit=1001", "limit"},
                                                        {"/api/v1/runs?limit=ten", "limit"},
                                                        {"/api/v1/runs?limit=1&limit=2", "limit"},
                                                        {"/api/v1/runs?cursor=!!", "cursor"},
                                                        {"/api/v1/runs?cursor=LTU", "cursor"},
                                                        {"/api/v1/runs?state=sleeping", "state"},
                                                        {"/api/v1/runs?project=A%20B", "project"},
                                                        {"/api/v1/runs?porject=x", "porject"},
                                                        {"/api/v1/events?after=-1", "after"},
                                                        {"/healthz?x=1", "x"}})
    expect_problem(get(target), 400, field);
}

TEST_F(ApiRoutes, PagesOfRunsAreWholeAndInOrder) {
  for (int i = 0; i < 5; ++i) submit_named("r" + std::to_string(i));
  std::vector<std::string> names;
  std::string cursor;
  for (int pages = 0; pages < 10; ++pages) {
    const auto page = json_of(get("/api/v1/runs?limit=2" + (cursor.empty() ? "" : "&cursor=" + cursor)));
    for (const auto& item : page.at("items").get_array()) names.push_back(text_at(item, "name"));
    if (page.at("next_cursor").is_null()) break;
    cursor = text_at(page, "next_cursor");
  }
  EXPECT_EQ(names, (std::vector<std::string>{"r4", "r3", "r2", "r1", "r0"}));
}

TEST_F(ApiRoutes, RunsByIdAndByName) {
  add_project("other");
  const RunView run = submit_named("same");
  auto wanted = request();
  wanted.submission.project = "other";
  wanted.submission.name = "same";
  submit(wanted);
  EXPECT_EQ(get("/api/v1/runs/" + run.run.id.str()).status, 200);
  expect_problem(get("/api/v1/runs/same"), 409, "run");
  EXPECT_EQ(text_at(json_of(get("/api/v1/runs/same?project=digits")), "id"), run.run.id.str());
  expect_problem(get("/api/v1/runs/" + run.run.id.str() + "?project=other"), 404, "run");
  expect_problem(get("/api/v1/runs/nosuch"), 404, "run");
  expect_problem(get("/api/v1/runs/NoSuch"), 400, "run");
}

TEST_F(ApiRoutes, ParamsAreShownAsFrozen) {
  const RunView run = submit_named("a", {{"lr", "0.5"}, {"steps", "3"}});
  const auto params = json_of(get("/api/v1/runs/a")).at("params").get_object();
  EXPECT_TRUE(params.at("lr").is_double());
  EXPECT_EQ(params.at("steps").as_int64(), 3);
}

TEST_F(ApiRoutes, StopRerunAndResumeKnowTheirTime) {
  const RunView run = submit_named("a");
  EXPECT_EQ(post("/api/v1/runs/a/rerun", "").status, 409) << "it lives";
  EXPECT_EQ(text_at(json_of(post("/api/v1/runs/a/stop", "")), "state"), "terminated") << "it was only queued";
  EXPECT_EQ(post("/api/v1/runs/a/stop", "").status, 409);
  expect_problem(post("/api/v1/runs/a/rerun", R"({"where":"x"})"), 400, "where");
  EXPECT_EQ(post("/api/v1/runs/a/resume", "").status, 404) << "there is no checkpoint";
  const auto again = post("/api/v1/runs/a/rerun", "");
  ASSERT_EQ(again.status, 201) << again.body;
  EXPECT_EQ(json_of(again).at("attempts").get_array().size(), 2U);
  EXPECT_EQ(get("/api/v1/runs/a/attempts/2/logs/stdout").status, 200);
  EXPECT_EQ(get("/api/v1/runs/a/attempts/3/logs/stdout").status, 404);
  expect_problem(get("/api/v1/runs/a/attempts/0/logs/stdout"), 400, "attempt");
  expect_problem(get("/api/v1/runs/a/attempts/1x/metrics"), 400, "attempt");
}

TEST_F(ApiRoutes, BlobsAreVerified) {
  const std::string text = "some code";
  const std::string hex = Sha256::of(text).hex();
  const auto ask = [&] {
    return json_of(post("/api/v1/blobs/missing", "{\"digests\":[\"" + hex + "\",\"" + hex + "\"]}"))
        .at("missing")
        .get_array();
  };
  EXPECT_EQ(ask().size(), 1U);
  expect_problem(call(net::Method::put, "/api/v1/blobs/" + hex, as(Role::member), "other bytes"), 400, "digest");
  expect_problem(call(net::Method::put, "/api/v1/blobs/abc", as(Role::member), text), 400, "digest");
  EXPECT_EQ(ask().size(), 1U);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(call(net::Method::put, "/api/v1/blobs/" + hex, as(Role::member), text).status, 201);
  EXPECT_TRUE(ask().empty());
  EXPECT_EQ(must(blobs_->get(Sha256::of(text), 100)), text);
  expect_problem(post("/api/v1/blobs/missing", R"({"digests":["xyz"]})"), 400, "digests[0]");
  expect_problem(post("/api/v1/blobs/missing", R"({"digests":[null]})"), 400, "digests");
  EXPECT_TRUE(fs::is_empty(scratch_.path() / "tmp")) << "a spooled body was left behind";
}

// X4: no way out of a run, by whatever spelling.
TEST_F(ApiRoutes, PathsThatClimbOutAreRefused) {
  const RunView run = submit_named("a");
  place(run, {{"model.npz", "model"}});
  std::ofstream(scratch_.path() / "attempts" / "secret") << "canary";
  fs::create_symlink(scratch_.path() / "attempts" / "secret", directory(run.attempts.back()) / "artifacts" / "link");
  fs::create_directory_symlink(scratch_.path(), directory(run.attempts.back()) / "artifacts" / "up");
  for (const char* path : {"../order.json",
                           "..%2forder.json",
                           "%2e%2e/order.json",
                           "%2e%2e%2forder.json",
                           "a/../../runtime/order.json",
                           "..%5corder.json",
                           "....//order.json",
                           "./model.npz",
                           "/etc/passwd",
                           "%2fetc%2fpasswd",
                           "model.npz%00",
                           "model.npz%0a",
                           "..;/x",
                           "%c0%ae%c0%ae/x",
                           "%252e%252e%252forder.json",
                           "link",
                           "up/orbit.db",
                           "up/attempts/secret",
                           "model.npz/",
                           "model.npz/x",
                           "~root",
                           "%ff%fe",
                           ".",
                           "..",
                           "C:%5cx",
                           "nosuch"})
    for (const char* route : {"/attempts/1/artifacts/", "/bundle/", "/attempts/1/logs/"}) {
      const auto response = get(std::string("/api/v1/runs/a") + route + path);
      EXPECT_GE(response.status, 400) << route << path;
      EXPECT_LT(response.status, 500) << route << path << response.body;
      EXPECT_EQ(response.body.find("canary"), std::string::npos) << route << path;
      problem_of(response);
    }
  EXPECT_EQ(get("/api/v1/runs/a/attempts/1/artifacts/model.npz").body, "model");
}

// Thousands of artifacts, one after the other: the manifest is read for the first one.
TEST_F(ApiRoutes, ManifestOfArtifactsIsReadOnce) {
  const RunView run = submit_named("a");
  place(run, {{"b", "bb"}, {"a", "aaa"}, {"c/d", ""}});
  succeed(run);
  const Digest digest = view(run.run.id).attempts.back().artifacts;
  EXPECT_EQ(get("/api/v1/runs/a/attempts/1/artifacts/a").body, "aaa");
  fs::remove(must(blobs_->path(digest)));
  EXPECT_EQ(get("/api/v1/runs/a/attempts/1/artifacts/b").body, "bb");
  EXPECT_EQ(get("/api/v1/runs/a/attempts/1/artifacts/bb").status, 404);
  EXPECT_EQ(json_of(get("/api/v1/runs/a/attempts/1/artifacts")).at("items").get_array().size(), 3U);
}

TEST_F(ApiRoutes, ManifestsUsedLastAreKept) {
  ArtifactManifests manifests;
  std::vector<Digest> digests;
  for (int i = 0; i < 9; ++i) {
    ArtifactManifest manifest;
    manifest.skipped = {std::to_string(i)};
    digests.push_back(put(bundle::artifact_manifest_text(manifest)));
  }
  const auto first = must(manifests.of(*blobs_, digests[0]));
  EXPECT_EQ(first->skipped.at(0), "0");
  for (int i = 1; i < 8; ++i) must(manifests.of(*blobs_, digests[static_cast<std::size_t>(i)]));
  EXPECT_EQ(must(manifests.of(*blobs_, digests[0])), first);
  must(manifests.of(*blobs_, digests[8]));  // takes the place of the second
  for (const Digest& digest : digests) fs::remove(must(blobs_->path(digest)));
  EXPECT_EQ(must(manifests.of(*blobs_, digests[0])), first);
  EXPECT_FALSE(manifests.of(*blobs_, digests[1]));
  EXPECT_FALSE(manifests.of(*blobs_, put("no manifest")));
}

TEST_F(ApiRoutes, ParamsAreShownAsTheyWereWritten) {
  submit_named("a", {{"lr", "0.003"}, {"momentum", "0.10"}, {"big", "1e3"}});
  const auto run = json_of(get("/api/v1/runs/a"));
  EXPECT_EQ(text_at(run.at("params_text"), "lr"), "0.003");
  EXPECT_EQ(text_at(run.at("params_text"), "momentum"), "0.10");
  EXPECT_EQ(text_at(run.at("params_text"), "big"), "1e3");
  EXPECT_EQ(run.at("params").at("lr").get_double(), 0.003);
}

TEST_F(ApiRoutes, ArtifactsWhileLivingAndAfterwards) {
  const RunView run = submit_named("a");
  const std::string big(300'000, 'b');
  place(run, {{"model.npz", "0123456789"}, {"big", big}, {"empty", ""}, {"page.html", "<script>alert(1)</script>"}});
  const std::string at = "/api/v1/runs/a/attempts/latest/artifacts";
  EXPECT_FALSE(json_of(get(at)).at("collected").get_bool());
  EXPECT_EQ(get(at + "/big").body, big);
  EXPECT_EQ(get(at + "/model.npz", {{"Range", "bytes=2-4"}}).body, "234");
  succeed(run);
  const auto list = json_of(get(at + "?limit=3"));
  EXPECT_TRUE(list.at("collected").get_bool());
  EXPECT_EQ(list.at("items").get_array().size(), 3U);
  EXPECT_EQ(json_of(get(at + "?cursor=" + text_at(list, "next_cursor"))).at("items").get_array().size(), 1U);

  const auto whole = get(at + "/big");
  EXPECT_EQ(whole.body, big);
  EXPECT_EQ(whole.headers.at("orbit-sha256"), Sha256::of(big).hex());
  EXPECT_EQ(get(at + "/empty").body, "");
  for (const auto& [range, body] : std::vector<std::pair<std::string, std::string>>{{"bytes=0-0", "0"},
                                                                                    {"bytes=7-", "789"},
                                                                                    {"bytes=-3", "789"},
                                                                                    {"bytes=-100", "0123456789"},
                                                                                    {"bytes=8-100", "89"}}) {
    const auto part = get(at + "/model.npz", {{"Range", range}});
    EXPECT_EQ(part.status, 206) << range;
    EXPECT_EQ(part.body, body) << range;
    EXPECT_TRUE(part.headers.at("content-range").ends_with("/10")) << range;
  }
  for (const char* ignored : {"bytes=0-1,3-4", "lines=1-2", "bytes=5-2", "bytes=x-"})
    EXPECT_EQ(get(at + "/model.npz", {{"Range", ignored}}).status, 200) << ignored;
  const auto behind = get(at + "/model.npz", {{"Range", "bytes=10-"}});
  EXPECT_EQ(behind.status, 416);
  EXPECT_EQ(behind.headers.at("content-range"), "bytes */10");
  EXPECT_EQ(get(at + "/model.npz", {{"Range", "bytes=0-1"}, {"If-Range", "\"other\""}}).status, 200);

  // Nothing a run wrote is ever rendered by a browser.
  const auto page = get(at + "/page.html");
  EXPECT_EQ(page.headers.at("content-type"), "application/octet-stream");
  EXPECT_TRUE(page.headers.at("content-disposition").starts_with("attachment;"));

  fs::remove(directory(run.attempts.back()) / "artifacts" / "empty");
  expect_problem(get(at + "/empty"), 500, "path");  // recorded, and gone: not the same as never made
  expect_problem(get(at + "/never"), 404, "path");

  // Shorter than its manifest says: an error or a cut, never a part that passes for the whole.
  fs::resize_file(directory(run.attempts.back()) / "artifacts" / "model.npz", 4);
  fs::resize_file(directory(run.attempts.back()) / "artifacts" / "big", 100'000);
  for (const char* name : {"/model.npz", "/big"}) {
    const auto cut = client_->request(net::Method::get, at + name, as(Role::viewer), "");
    EXPECT_TRUE(!cut || cut->status == 500) << name << " passed for whole";
  }
}

TEST_F(ApiRoutes, FrozenFilesComeFromTheirBlobs) {
  const RunView run = submit_named("a");
  const auto manifest = get("/api/v1/runs/a/bundle/bundle.json");
  EXPECT_EQ(Sha256::of(manifest.body), run.run.bundle);
  const auto code = get("/api/v1/runs/a/bundle/inputs/code/train.py");
  EXPECT_EQ(code.body, "#!/usr/bin/env python3\n");
  EXPECT_EQ(get("/api/v1/runs/a/bundle/inputs/code/train.py", {{"Range", "bytes=0-1"}}).body, "#!");
  expect_problem(get("/api/v1/runs/a/bundle/runtime/order.json"), 404, "path");
}

TEST_F(ApiRoutes, LogsByOffset) {
  const RunView run = submit_named("a");
  const std::string bytes = std::string("0123\0\xff\r456\n789", 14);
  log(run, Stream::stdout_, bytes);
  const std::string at = "/api/v1/runs/a/attempts/1/logs/stdout";
  auto response = get(at);
  EXPECT_EQ(response.body, bytes);
  EXPECT_EQ(response.headers.at("orbit-log-size"), "14");
  EXPECT_EQ(response.headers.at("orbit-log-end"), "false");
  EXPECT_EQ(response.headers.at("content-type"), "application/octet-stream");
  response = get(at + "?offset=-3");
  EXPECT_EQ(response.body, "789");
  EXPECT_EQ(response.headers.at("orbit-log-offset"), "11");
  EXPECT_EQ(get(at + "?offset=1&limit=2").body, "12");
  EXPECT_EQ(get(at + "?offset=-1000").body, bytes);
  EXPECT_EQ(get(at + "?offset=1000").body, "");
  EXPECT_EQ(get("/api/v1/runs/a/attempts/1/logs/stderr").body, "") << "nothing yet is no error";
  expect_problem(get("/api/v1/runs/a/attempts/1/logs/stdin"), 400, "stream");
  expect_problem(get(at + "?offset=x"), 400, "offset");
  post("/api/v1/runs/a/stop", "");
  EXPECT_EQ(get(at).headers.at("orbit-log-end"), "true");
  EXPECT_EQ(get(at + "?limit=2").headers.at("orbit-log-end"), "false");
}

TEST_F(ApiRoutes, PrometheusFiguresCount) {
  submit_named("a");
  const auto response = get("/metrics");
  for (const char* line :
       {"orbit_build_info{version=\"1.2.3\",database=\"sqlite\"} 1\n", "orbit_attempts{state=\"queued\"} 1\n",
        "orbit_live_attempts 1\n", "orbit_attempts{state=\"failed\"} 0\n"})
    EXPECT_NE(response.body.find(line), std::string::npos) << line << response.body;
}

}  // namespace
}  // namespace orbit::server
