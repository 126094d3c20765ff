#include "cli/job/url.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "base/redact.hpp"
#include "base/text.hpp"
#include "http/server.hpp"

namespace underway::cli {
namespace {

using async::awaitable;

/// What a site's web server answers, on a thread of its own.
class JobUrl : public ::testing::Test {
 protected:
  JobUrl() {
    router_.add("GET", "/*path", "all", [this](http::Request request) { return answer(std::move(request)); });
    endpoint_ = server_.listen(http::Endpoint{.host = "127.0.0.1"});
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~JobUrl() override {
    loop_.stop();
    thread_.join();
    loop_.context().restart();
    loop_.run_until_done(server_.stop(Duration{0}));
  }

  awaitable<http::Response> answer(http::Request request) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(request.target);
    authorization_ = request.headers.find("Authorization").value_or("");
    token_ = request.headers.has("X-Nomad-Token");
    http::Response response;
    response.status = status_;
    response.body = body_;
    if (const auto to = redirects_.find(request.path); to != redirects_.end()) {
      response.status = 302;
      response.headers.set("Location", to->second);
    }
    co_return response;
  }
  std::string url(const std::string& rest, const std::string& user = "") const {
    return fmt::format("http://{}127.0.0.1:{}{}", user, endpoint_.port, rest);
  }
  static Error refusal(const std::string& url, const FetchLimits& limits = {}) {
    try {
      fetch_text(url, limits);
    } catch (const Error& error) {
      return error;
    }
    return Error(Code::internal, "it was fetched");
  }

  std::mutex mutex_;
  int status_ = 200;
  std::string body_ = "job \"web\" {}", authorization_;
  std::map<std::string, std::string> redirects_;
  std::vector<std::string> asked_;
  bool token_ = false;
  async::Loop loop_;
  http::Router router_;
  http::Server server_{loop_.executor(), router_};
  http::Endpoint endpoint_;
  std::thread thread_;
};

TEST_F(JobUrl, IsFetchedWithNothingOfTheCaller) {
  ::setenv("NOMAD_TOKEN", "00000000-0000-4000-8000-00000000cafe", 1);
  EXPECT_EQ(fetch_text(url("/jobs/web.hcl?ref=main#part")), body_);
  ::unsetenv("NOMAD_TOKEN");
  EXPECT_EQ(asked_, std::vector<std::string>{"/jobs/web.hcl?ref=main"});
  EXPECT_FALSE(token_);
  EXPECT_EQ(authorization_, "");
  EXPECT_EQ(read_job_file(url("/web.hcl")), body_);
}

TEST_F(JobUrl, SendsThePasswordThatIsInItToItsHostAloneAndTellsItToNobody) {
  EXPECT_EQ(fetch_text(url("/web.hcl", "anna:p%40ss@")), body_);
  EXPECT_EQ(authorization_, "Basic " + base64_encode("anna:p@ss"));
  redirects_["/web.hcl"] = fmt::format("http://localhost:{}/other", endpoint_.port);
  EXPECT_EQ(fetch_text(url("/web.hcl", "anna:p%40ss@")), body_);
  EXPECT_EQ(authorization_, "");
  status_ = 403;
  const auto error = refusal(url("/no.hcl", "anna:p%40ss@"));
  EXPECT_EQ(error.code(), Code::denied);
  EXPECT_EQ(error.text().find("p%40ss"), std::string::npos) << error.text();
  EXPECT_EQ(redact_url("https://anna:secret@git/x", UrlUser::absent), "https://git/x");
  EXPECT_EQ(redact_url("jobs/web.hcl", UrlUser::absent), "jobs/web.hcl");
}

TEST_F(JobUrl, FollowsRedirectsAsFarAsTheyAreToBeTrusted) {
  redirects_ = {{"/a/b", "../c"}, {"/a/../c", "/d?x=1"}, {"/d", url("/e")}};
  EXPECT_EQ(fetch_text(url("/a/b")), body_);
  EXPECT_EQ(asked_, (std::vector<std::string>{"/a/b", "/a/../c", "/d?x=1", "/e"}));
  for (const std::string to : {"file:///etc/passwd", "ftp://127.0.0.1/x", "git::https://x/y"}) {
    redirects_["/away"] = to;
    EXPECT_EQ(refusal(url("/away")).code(), Code::unsupported) << to;
  }
  redirects_["/round"] = "/round";
  asked_.clear();
  EXPECT_EQ(refusal(url("/round")).code(), Code::unavailable);
  EXPECT_EQ(asked_.size(), 11u);
}

TEST_F(JobUrl, ThatLeadsNowhereIsNamedWithWhatTheServerSaid) {
  status_ = 404;
  const auto missing = refusal(url("/no.hcl"));
  EXPECT_EQ(missing.code(), Code::not_found);
  EXPECT_EQ(missing.one_line().find(fmt::format("'{}' cannot be fetched", url("/no.hcl"))), 0u) << missing.one_line();
  EXPECT_NE(missing.one_line().find("the server answered 404"), std::string::npos) << missing.one_line();
  status_ = 200;
  body_.assign(2000, 'x');
  EXPECT_EQ(refusal(url("/large.hcl"), {.bytes = 1000}).code(), Code::too_large);
  EXPECT_EQ(refusal("http://127.0.0.1:1/x").code(), Code::unavailable);
  for (const char* other : {"git::https://x/y.git//web.hcl", "s3://bucket/web.hcl", "file:///etc/web.hcl",
                            "https://x/web.hcl?checksum=md5:1", "https://x/web.tgz?a=b&archive=tgz"})
    EXPECT_EQ(refusal(other).code(), Code::unsupported) << other;
  EXPECT_EQ(refusal("http://127.0.0.1:1/a b").code(), Code::invalid);
  EXPECT_EQ(refusal("http://127.0.0.1:1/a\r\nX: y").code(), Code::invalid);
}

TEST(IsUrl, TellsItFromAPath) {
  for (const char* url : {"http://x", "https://x/y.hcl", "HTTPS://x", "git::https://x/y", "s3://b/k"})
    EXPECT_TRUE(is_url(url)) << url;
  for (const char* path : {"-", "web.hcl", "jobs/web.hcl", "/srv/a://b", "://x", ""})
    EXPECT_FALSE(is_url(path)) << path;
}

}  // namespace
}  // namespace underway::cli
