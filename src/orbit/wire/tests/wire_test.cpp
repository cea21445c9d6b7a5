#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <set>

#include "orbit/wire/base64.hpp"
#include "orbit/wire/convert.hpp"
#include "orbit/wire/openapi.hpp"
#include "orbit/wire/problem.hpp"

namespace orbit::wire {
namespace {

constexpr ErrorCode codes[] = {ErrorCode::invalid_argument, ErrorCode::not_found,   ErrorCode::conflict,
                               ErrorCode::unauthenticated,  ErrorCode::refused,     ErrorCode::too_large,
                               ErrorCode::unavailable,      ErrorCode::exhausted,   ErrorCode::io,
                               ErrorCode::corrupt,          ErrorCode::unsupported, ErrorCode::internal};

TEST(Base64, KnownAnswersOfRfc4648) {
  EXPECT_EQ(base64_encode(""), "");
  EXPECT_EQ(base64_encode("f"), "Zg==");
  EXPECT_EQ(base64_encode("fo"), "Zm8=");
  EXPECT_EQ(base64_encode("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64url_encode("\xff\xfe\xfd"), "__79");
  EXPECT_EQ(base64url_encode("f"), "Zg");
}

TEST(Base64, RefusesWhatIsNot) {
  for (const char* bad : {"Z", "Zg=", "Zg", "Z===", "Zh==", "Zm9v!mFy", "Zm9v\nYmFy", "===="})
    EXPECT_FALSE(base64_decode(bad)) << bad;
  for (const char* bad : {"Z", "Zg==", "Zh", "a b"}) EXPECT_FALSE(base64url_decode(bad)) << bad;
}

RC_GTEST_PROP(Base64, RoundTripsAnyBytes, (const std::string& bytes)) {
  RC_ASSERT(base64_decode(base64_encode(bytes)).value() == bytes);
  RC_ASSERT(base64url_decode(base64url_encode(bytes)).value() == bytes);
}

TEST(ProblemTest, EveryErrorSurvivesTheWayToTheClient) {
  for (const ErrorCode code : codes) {
    const Error sent{code, "the name is taken", "name", "choose another"};
    const Problem problem = to_problem(sent);
    EXPECT_EQ(problem.status, http_status(code));
    EXPECT_GE(problem.status, 400);
    EXPECT_FALSE(problem.title.empty());
    const Error got = error_of_response(problem.status, json::encode(problem));
    EXPECT_EQ(got.code, sent.code);
    EXPECT_EQ(got.text(), sent.text());
    EXPECT_GE(exit_code(code), 1);
    EXPECT_LE(exit_code(code), 6);
  }
}

TEST(ProblemTest, AnswerOfAProxyIsDescribedByItsStatus) {
  EXPECT_EQ(error_of_response(502, "<html>bad gateway</html>").code, ErrorCode::unavailable);
  EXPECT_EQ(error_of_response(404, "").code, ErrorCode::not_found);
  EXPECT_EQ(error_of_response(418, "{}").code, ErrorCode::invalid_argument);
  EXPECT_EQ(error_of_response(599, "{}").code, ErrorCode::internal);
}

TEST(ProblemTest, InvalidUtf8NeverReachesJson) {
  const Problem problem = to_problem({ErrorCode::invalid_argument, "bad \xff name", "na\xc0me", "\xfe"});
  EXPECT_TRUE(is_valid_utf8(json::encode(problem)));
}

TEST(ProblemTest, ExitCodesAreThoseOfTheHandbook) {
  EXPECT_EQ(exit_code(ErrorCode::invalid_argument), 2);
  EXPECT_EQ(exit_code(ErrorCode::not_found), 3);
  EXPECT_EQ(exit_code(ErrorCode::refused), 4);
  EXPECT_EQ(exit_code(ErrorCode::unauthenticated), 4);
  EXPECT_EQ(exit_code(ErrorCode::conflict), 5);
  EXPECT_EQ(exit_code(ErrorCode::unavailable), 6);
  EXPECT_EQ(exit_code(ErrorCode::corrupt), 1);
}

Attempt attempt(std::int32_t number, AttemptState state) {
  Attempt out;
  out.number = number;
  out.state = state;
  return out;
}

// R6: a run shows the state of its latest attempt, and which attempt last succeeded.
TEST(Convert, RunShowsLatestAttemptAndLastSuccess) {
  const orbit::Run run;
  auto failed = attempt(3, AttemptState::failed);
  failed.reason = Reason::exit_nonzero;
  const auto out =
      run_object(run, {attempt(1, AttemptState::succeeded), attempt(2, AttemptState::succeeded), failed}, WallTime{});
  EXPECT_EQ(out.state, AttemptState::failed);
  EXPECT_EQ(out.reason, Reason::exit_nonzero);
  EXPECT_EQ(out.succeeded_attempt, 2);
  EXPECT_EQ(out.attempts.at(2).blame, Blame::user);
  EXPECT_FALSE(run_object(run, {attempt(1, AttemptState::running)}, WallTime{}).succeeded_attempt);
}

TEST(Convert, DurationCountsWhileTheWorkloadLives) {
  auto live = attempt(1, AttemptState::running);
  EXPECT_FALSE(attempt_object(live, WallTime{9000}).duration_s);
  live.started_at = WallTime{1000};
  EXPECT_EQ(attempt_object(live, WallTime{9999}).duration_s, 8);
  EXPECT_EQ(attempt_object(live, WallTime{0}).duration_s, 0) << "the clock was set back";
  live.state = AttemptState::interrupted;
  EXPECT_FALSE(attempt_object(live, WallTime{9999}).duration_s) << "nobody knows when it ended";
  live.ended_at = WallTime{4000};
  EXPECT_EQ(attempt_object(live, WallTime{9999}).duration_s, 3);
}

TEST(Convert, ParamsAreTypedAndBareTextStandsForItself) {
  const auto out =
      run_object(orbit::Run{}, {}, {{"lr", "0.5"}, {"on", "true"}, {"who", "a \xff b"}, {"n", "7"}}, WallTime{});
  EXPECT_TRUE(out.params.at("lr").is_double());
  EXPECT_TRUE(out.params.at("on").is_bool());
  EXPECT_TRUE(out.params.at("n").is_int64());
  EXPECT_EQ(out.params.at("who").get_string(), "a \xEF\xBF\xBD b");
  EXPECT_EQ(out.params_text.at("who"), "a \xEF\xBF\xBD b");
}

TEST(Convert, ParamsKeepTheTextTheyWereWrittenAs) {
  const std::map<std::string, std::string> written{{"lr", "0.003"}, {"m", "0.10"}, {"n", "1e3"}, {"s", "\"x\""}};
  EXPECT_EQ(run_object(orbit::Run{}, {}, written, WallTime{}).params_text, written);
}

TEST(Convert, MetricThatIsNoNumberIsNull) {
  EXPECT_EQ(metric_object({"loss", 1, 0.5, {}}).value, 0.5);
  EXPECT_FALSE(metric_object({"loss", 1, std::numeric_limits<double>::quiet_NaN(), {}}).value);
  EXPECT_FALSE(metric_object({"loss", 1, std::numeric_limits<double>::infinity(), {}}).value);
}

TEST(Convert, SecretOfATokenIsNotInItsObject) {
  Token token;
  token.name = "ci";
  token.role = Role::operator_;
  token.secret = Sha256::of("orbit_secret");
  const std::string text = json::encode(token_object(token));
  EXPECT_EQ(text.find(token.secret.hex()), std::string::npos);
  EXPECT_NE(text.find("\"operator\""), std::string::npos);
}

TEST(Schema, IsThatOfTheMapping) {
  Schemas schemas;
  EXPECT_EQ(json::canonical(schemas.of<List<TokenObject>>()), R"({"$ref":"#/components/schemas/TokenObjectList"})");
  const auto components = schemas.components();
  EXPECT_EQ(
      json::canonical(components.at("TokenObjectList")),
      R"({"properties":{"items":{"items":{"$ref":"#/components/schemas/TokenObject"},"type":"array"},"next_cursor":{"type":["string","null"]}},"type":"object"})");
  EXPECT_EQ(
      json::canonical(components.at("TokenObject")),
      R"({"properties":{"created_at":{"format":"date-time","type":"string"},"created_by":{"type":"string"},"expires_at":{"format":"date-time","type":["string","null"]},"id":{"type":"string"},"name":{"type":"string"},"revoked_at":{"format":"date-time","type":["string","null"]},"role":{"type":"string"},"token":{"type":["string","null"]}},"required":["id","name","role","created_at","created_by"],"type":"object"})");
}

TEST(Schema, NestsEnumsMapsAndNullables) {
  Schemas schemas;
  schemas.of<RunObject>();
  const auto components = schemas.components();
  const auto& run = components.at("RunObject").get_object().at("properties").get_object();
  EXPECT_EQ(json::canonical(run.at("reason")), R"({"anyOf":[{"$ref":"#/components/schemas/Reason"},{"type":"null"}]})");
  EXPECT_EQ(json::canonical(run.at("params")), R"({"additionalProperties":{},"type":"object"})");
  EXPECT_EQ(json::canonical(run.at("params_text")), R"({"additionalProperties":{"type":"string"},"type":"object"})");
  EXPECT_EQ(json::canonical(run.at("bundle_digest")), R"({"pattern":"^[0-9a-f]{64}$","type":["string","null"]})");
  EXPECT_EQ(json::canonical(components.at("Desired")), R"({"enum":["run","stop"],"type":"string"})");
  EXPECT_TRUE(components.contains("AttemptObject"));
}

TEST(OpenApi, DocumentsWhatTheTableSays) {
  Schemas schemas;
  OperationDoc doc;
  doc.method = "get";
  doc.pattern = "/api/v1/runs/{run}/bundle/{path...}";
  doc.operation_id = "getBundleFile";
  doc.tag = "runs";
  doc.role = "viewer";
  doc.query = {{"project", "of the name", json::Object{{"type", "string"}}}};
  doc.answers = {{200, "The bytes", {{"application/octet-stream", nullptr}}}};
  doc.errors = {404};
  const auto document = openapi_document(schemas, {doc}, "1.2.3");
  const auto& operation = document.at("paths").at("/api/v1/runs/{run}/bundle/{path}").at("get").get_object();
  std::set<std::string> names;
  for (const auto& parameter : operation.at("parameters").get_array())
    names.insert(std::string(parameter.at("in").get_string()) + " " + std::string(parameter.at("name").get_string()));
  EXPECT_EQ(names, (std::set<std::string>{"path run", "path path", "query project"}));
  EXPECT_EQ(json::canonical(operation.at("security")), R"([{"bearer":[]}])");
  for (const char* status : {"200", "400", "401", "403", "404", "429", "500", "503"})
    EXPECT_TRUE(operation.at("responses").get_object().contains(status)) << status;
  EXPECT_FALSE(operation.at("responses").get_object().contains("413"));
  EXPECT_TRUE(document.at("components").at("schemas").get_object().contains("Problem"));
}

TEST(OpenApi, PatternsOfTheServerBecomePaths) {
  EXPECT_EQ(openapi_path("/a/{b}/{c...}"), "/a/{b}/{c}");
  EXPECT_EQ(path_parameters("/a/{b}/{c...}"), (std::vector<std::string>{"b", "c"}));
  EXPECT_TRUE(path_parameters("/a").empty());
}

}  // namespace
}  // namespace orbit::wire
