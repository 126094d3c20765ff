#include "http/router.hpp"

#include <gtest/gtest.h>

namespace underway::http {
namespace {

awaitable<Response> tell_params(Request request) {
  std::string told;
  for (const auto& [name, value] : request.params) told += name + "=" + value + ";";
  co_return text(200, told);
}
Handler named(std::string name) {
  return [name](Request request) -> awaitable<Response> {
    std::string told = name;
    for (const auto& [key, value] : request.params) told += " " + key + "=" + value;
    return [](std::string answer) -> awaitable<Response> { co_return text(200, answer); }(told);
  };
}
template <class Failure>
Handler failing(Failure failure) {
  return [failure](Request) {
    return [](Failure f) -> awaitable<Response> {
      throw f;
      co_return Response{};
    }(failure);
  };
}

Response ask(const Router& router, std::string method, std::string target) {
  async::Loop loop;
  Request request;
  request.method = std::move(method);
  request.target = target;
  request.path = target;
  return loop.run_until_done(router.handle(std::move(request)));
}

TEST(Router, LeadsPathsToHandlers) {
  Router router;
  router.add("GET", "/", "root", named("root"));
  router.add("GET", "/v1/jobs", "jobs", named("jobs"));
  router.add("GET", "/v1/jobs/statuses", "statuses", named("statuses"));
  router.add("GET", "/v1/job/:id", "job", named("job"));
  router.add("GET", "/v1/job/:id/summary", "summary", named("summary"));
  router.add("GET", "/v1/job/*id/allocations", "allocations", named("allocations"));
  router.add("GET", "/ui/*path", "ui", named("ui"));
  struct Case {
    const char* target;
    const char* answer;
  };
  for (const auto& c :
       {Case{"/", "root"}, Case{"/v1/jobs?prefix=x", "jobs"}, Case{"/v1/jobs/statuses", "statuses"},
        Case{"/v1/job/web", "job id=web"}, Case{"/v1/job/a%2Fb/summary", "summary id=a/b"},
        Case{"/v1/job/web/allocations", "allocations id=web"}, Case{"/v1/job/a/b/allocations", "allocations id=a/b"},
        Case{"/ui/js/app.js", "ui path=js/app.js"}, Case{"/v1/%6Aobs", "jobs"}}) {
    SCOPED_TRACE(c.target);
    EXPECT_EQ(ask(router, "GET", c.target).body, c.answer);
  }
  for (const char* unknown :
       {"/v1", "/v1/job", "/v1/job/", "/v1/jobs/", "/v2/jobs", "/ui", "/v1/job/a/b", "/v1/job//allocations", "/ui//"}) {
    SCOPED_TRACE(unknown);
    EXPECT_EQ(ask(router, "GET", unknown).status, 404);
  }
}

TEST(Router, TellsAWrongMethodFromAWrongPath) {
  Router router;
  router.add("PUT|POST", "/v1/jobs", "register", tell_params);
  router.add("GET", "/v1/jobs", "jobs", tell_params);
  EXPECT_EQ(ask(router, "POST", "/v1/jobs").status, 200);
  EXPECT_EQ(ask(router, "HEAD", "/v1/jobs").status, 200);
  const Response refused = ask(router, "DELETE", "/v1/jobs");
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.headers.find("Allow"), "GET, POST, PUT");
}

TEST(Router, PrefersTheMethodThatAnotherPatternHas) {
  Router router;
  router.add("GET", "/v1/acl/token/self", "self", named("self"));
  router.add("PUT", "/v1/acl/token/:id", "token", named("token"));
  EXPECT_EQ(ask(router, "PUT", "/v1/acl/token/self").body, "token id=self");
}

TEST(Router, TurnsErrorsIntoAnswers) {
  Router router;
  router.add("GET", "/lost", "lost", failing(Error(Code::not_found, "job not found").because("no 'x' in 'default'")));
  router.add("GET", "/odd", "odd", failing(std::runtime_error("secret detail")));
  EXPECT_EQ(ask(router, "GET", "/lost").status, 404);
  EXPECT_EQ(ask(router, "GET", "/lost").body, "job not found: no 'x' in 'default'");
  Request asking = request("GET", "/lost");
  asking.headers.set("Accept", "application/problem+json");
  async::Loop loop;
  EXPECT_EQ(loop.run_until_done(router.handle(asking)).headers.find("Content-Type"), "application/problem+json");
  testing::internal::CaptureStderr();
  const Response odd = ask(router, "GET", "/odd");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("secret detail"), std::string::npos);
  EXPECT_EQ(odd.status, 500);
  EXPECT_EQ(odd.body, "internal error");
  router.on_error([](const Error& error) { return text(499, "mapped " + error.message()); });
  EXPECT_EQ(ask(router, "GET", "/lost").body, "mapped job not found");
  EXPECT_EQ(ask(router, "GET", "/lost").status, 499);
}

TEST(Router, LetsACancellationPass) {
  Router router;
  router.add("GET", "/", "root", failing(async::Cancelled(asio::error::operation_aborted)));
  int seen = -1;
  router.observe([&](const Access& access) { seen = access.status; });
  EXPECT_THROW(ask(router, "GET", "/"), async::Cancelled);
  EXPECT_EQ(seen, 0);
}

TEST(Router, AnswersABadEscapeInAParameter) {
  Router router;
  router.add("GET", "/job/:id", "job", tell_params);
  EXPECT_EQ(ask(router, "GET", "/job/%zz").status, 400);
}

TEST(Router, ListsItsRoutesAndObservesItsRequests) {
  Router router;
  router.add("PUT|POST", "/a", "set_a", tell_params);
  ASSERT_EQ(router.routes().size(), 2u);
  EXPECT_EQ(router.routes()[1].method, "POST");
  EXPECT_EQ(router.routes()[1].pattern, "/a");
  EXPECT_EQ(router.routes()[1].name, "set_a");
  std::vector<std::string> seen;
  router.observe(
      [&](const Access& a) { seen.push_back(fmt::format("{} {} {} {}", a.method, a.target, a.route, a.status)); });
  ask(router, "PUT", "/a?x");
  ask(router, "GET", "/b");
  EXPECT_EQ(seen, (std::vector<std::string>{"PUT /a?x set_a 200", "GET /b  404"}));
}

TEST(Router, UsesTheFallbackForUnknownPagesOnly) {
  Router router;
  router.add("PUT", "/a", "a", tell_params);
  router.fallback(named("page"));
  EXPECT_EQ(ask(router, "GET", "/anything").body, "page");
  EXPECT_EQ(ask(router, "PUT", "/anything").status, 404);
  EXPECT_EQ(ask(router, "GET", "/a").status, 405);
}

TEST(Router, FindsTheBodyLimitOfARoute) {
  Router router;
  router.add("PUT", "/upload/:name", "upload", tell_params, {.body_limit = 99});
  EXPECT_EQ(router.body_limit("PUT", "/upload/x?y", 7), 99u);
  EXPECT_EQ(router.body_limit("PUT", "/other", 7), 7u);
}

TEST(Router, RefusesRoutesThatCannotBeMeant) {
  Router router;
  router.add("GET", "/a/:x", "a", tell_params);
  EXPECT_THROW(router.add("GET", "/a/:y", "b", tell_params), Error);
  EXPECT_THROW(router.add("GET", "a", "c", tell_params), Error);
  EXPECT_THROW(router.add("GET", "/a/:", "d", tell_params), Error);
}

TEST(Router, SpendsLittleOnHostilePaths) {
  Router router;
  router.add("GET", "/*a/x/*b/x/*c/x/*d/end", "deep", tell_params);
  std::string path;
  for (int i = 0; i < 60; ++i) path += "/x";
  EXPECT_EQ(ask(router, "GET", path).status, 404);
  for (int i = 0; i < 10'000; ++i) path += "/x";
  EXPECT_EQ(ask(router, "GET", path).status, 404);
}

}  // namespace
}  // namespace underway::http
