#include "orbit/net/router.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "net_test_support.hpp"
#include "orbit/net/url.hpp"

namespace orbit::net {
namespace {

Route named(Method method, const std::string& pattern) {
  return test::route(method, pattern, [](const Request&) { return Response(); });
}

Router table() {
  return std::move(*Router::build({named(Method::get, "/"), named(Method::get, "/runs"), named(Method::post, "/runs"),
                                   named(Method::get, "/runs/{id}"), named(Method::delete_, "/runs/{run}"),
                                   named(Method::get, "/runs/latest"), named(Method::get, "/runs/{id}/logs"),
                                   named(Method::get, "/runs/{id}/artifacts/{path...}"), named(Method::head, "/health"),
                                   named(Method::get, "/health"), named(Method::get, "/{page...}")}));
}

std::string pattern_of(const Router& router, Method method, const std::string& path) {
  const auto match = router.match(method, decode_path(path).value());
  return match.route == nullptr ? "" : match.route->pattern;
}

TEST(Router, LiteralBeforeParameterBeforeRest) {
  const Router router = table();
  EXPECT_EQ(pattern_of(router, Method::get, "/"), "/");
  EXPECT_EQ(pattern_of(router, Method::get, "/runs"), "/runs");
  EXPECT_EQ(pattern_of(router, Method::get, "/runs/latest"), "/runs/latest");
  EXPECT_EQ(pattern_of(router, Method::get, "/runs/other"), "/runs/{id}");
  EXPECT_EQ(pattern_of(router, Method::get, "/runs/latest/logs"), "/runs/{id}/logs");  // goes back from the literal
  EXPECT_EQ(pattern_of(router, Method::get, "/runs/x/nothing"), "/{page...}");
  EXPECT_EQ(pattern_of(router, Method::get, "/panel/app.js"), "/{page...}");
}

TEST(Router, ParametersAreGivenByNameOfTheRouteTaken) {
  const Router router = table();
  EXPECT_EQ(router.match(Method::get, {"runs", "7"}).path_params, (std::map<std::string, std::string>{{"id", "7"}}));
  EXPECT_EQ(router.match(Method::delete_, {"runs", "7"}).path_params,
            (std::map<std::string, std::string>{{"run", "7"}}));
  EXPECT_EQ(router.match(Method::get, {"runs", "7", "artifacts", "a", "b.txt"}).path_params,
            (std::map<std::string, std::string>{{"id", "7"}, {"path", "a/b.txt"}}));
  EXPECT_EQ(router.match(Method::get, {"a", "b"}).path_params, (std::map<std::string, std::string>{{"page", "a/b"}}));
}

TEST(Router, HeadIsAnsweredFromGetUnlessItHasItsOwnRoute) {
  const Router router = table();
  EXPECT_EQ(router.match(Method::head, {"runs"}).route->method, Method::get);
  EXPECT_EQ(router.match(Method::head, {"health"}).route->method, Method::head);
}

TEST(Router, KnownPathWithOtherMethodsNamesThem) {
  const Router router = table();
  const auto match = router.match(Method::put, {"runs"});
  EXPECT_EQ(match.route, nullptr);
  EXPECT_EQ(match.allowed, (std::vector<Method>{Method::get, Method::head, Method::post}));
  // Never the parameter's route because the literal's lacks the method.
  EXPECT_EQ(router.match(Method::delete_, {"runs", "latest"}).route, nullptr);
  EXPECT_FALSE(router.match(std::nullopt, {"runs"}).allowed.empty());
}

TEST(Router, UnknownPathAllowsNothing) {
  const Router router = std::move(*Router::build({named(Method::get, "/a/{x}/c"), named(Method::get, "/f/{rest...}")}));
  for (const std::vector<std::string>& path :
       {std::vector<std::string>{}, {"a"}, {"a", "b"}, {"a", "b", "d"}, {"a", "b", "c", "d"}, {"f"}, {"A", "b", "c"}}) {
    const auto match = router.match(Method::get, path);
    EXPECT_EQ(match.route, nullptr);
    EXPECT_TRUE(match.allowed.empty());
  }
}

// X1: no route without a declared policy.
TEST(RouterX1, ARouteWithoutGuardIsNotBuilt) {
  Route route = named(Method::get, "/a");
  route.guard = nullptr;
  const auto router = Router::build({route});
  ASSERT_FALSE(router);
  EXPECT_EQ(router.error().field, "GET /a");
  EXPECT_NE(router.error().message.find("guard"), std::string::npos);
}

TEST(Router, RefusesBadTables) {
  for (const char* pattern : {"", "a", "/a/", "//", "/{", "/}", "/{}", "/a{b}", "/{a}b", "/{A}", "/{a b}", "/{...}",
                              "/{a...}/b", "/..", "/%61", "/a\\b", "/{a}/{a}", "/{a..}"})
    EXPECT_FALSE(Router::build({named(Method::get, pattern)})) << pattern;
  const auto twice = Router::build({named(Method::get, "/runs/{id}"), named(Method::get, "/runs/{name}")});
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("/runs/{id}"), std::string::npos);
  EXPECT_FALSE(Router::build({named(Method::get, "/{a...}"), named(Method::get, "/{b...}")}));

  Route without_handler = named(Method::get, "/a");
  without_handler.handler = nullptr;
  EXPECT_FALSE(Router::build({without_handler}));
  Route get_with_body = named(Method::get, "/a");
  get_with_body.options.body = BodyKind::memory;
  EXPECT_FALSE(Router::build({get_with_body}));
  Route unlimited = named(Method::post, "/a");
  unlimited.options = {BodyKind::memory, 0};
  EXPECT_FALSE(Router::build({unlimited}));
}

// X4, Grafana CVE-2021-39226: the text of a pattern is no way into its route.
RC_GTEST_PROP(RouterX4, TheTextOfAPatternIsOrdinaryInput, ()) {
  static const Router router = table();
  const auto segment =
      *rc::gen::element<std::string>("{id}", ":id", "{page...}", "*", "{", "latest", "runs", "..;", "%7Bid%7D");
  const auto match = router.match(Method::get, {"runs", segment});
  RC_ASSERT(match.route != nullptr);
  if (segment == "latest")
    RC_ASSERT(match.route->pattern == "/runs/latest");
  else
    RC_ASSERT(match.path_params.at("id") == segment);
}

}  // namespace
}  // namespace orbit::net
