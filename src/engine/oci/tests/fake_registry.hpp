#pragma once
/// @file
/// A registry that does what a test tells it to, on a thread of its own.
#include <future>
#include <mutex>
#include <thread>

#include "http/server.hpp"
#include "maker.hpp"

namespace underway::oci {

/// What is wrong with it. Counts are taken down by one each time.
struct Manners {
  std::string token;           ///< asks for this one, which its "/token" gives
  std::string user, password;  ///< asks for these: for the token, or (without one) for everything
  int failures = 0;            ///< answers with `status` instead
  int status = 503;
  int broken = 0;                           ///< bodies of layers that end in the middle
  int stalled = 0;                          ///< bodies of layers that stop in the middle, and the connection stays
  bool ranges = true;                       ///< understands Range
  std::string redirect_layers;              ///< to there
  std::map<std::string, std::string> lies;  ///< digest to what is sent for it
};

class FakeRegistry {
 public:
  explicit FakeRegistry(MadeImage image, Manners manners = {})
      : image_(std::move(image)), manners_(std::move(manners)) {
    std::promise<std::uint16_t> port;
    auto bound = port.get_future();
    thread_ = std::jthread([this, &port] { serve(port); });
    port_ = bound.get();
  }
  ~FakeRegistry() {
    loop_->post([this] { loop_->stop(); });
  }
  FakeRegistry(const FakeRegistry&) = delete;
  FakeRegistry& operator=(const FakeRegistry&) = delete;

  std::string host() const { return fmt::format("127.0.0.1:{}", port_); }
  /// "GET /v2/… Range=… Authorization=…" of each request.
  std::vector<std::string> seen() const {
    const std::lock_guard held(mutex_);
    return seen_;
  }

 private:
  void serve(std::promise<std::uint16_t>& port) {
    async::Loop loop;
    loop_ = &loop;
    http::Router router;
    router.fallback([this](http::Request request) { return answer(std::move(request)); });
    router.add("GET|POST", "/token", "token", [this](http::Request request) { return answer(std::move(request)); });
    {
      http::Server server(loop.executor(), router);
      port.set_value(server.listen({.host = "127.0.0.1"}).port);
      loop.run();
      loop.context().restart();
      loop.run_until_done(server.stop({}));
    }
  }

  static http::Response complain(int status, const std::string& code) {
    return http::json(R"({"errors":[{"code":")" + code + R"(","message":"as the test wants it"}]})", status);
  }

  asio::awaitable<http::Response> answer(http::Request request) {
    const std::string authorization(request.headers.find("Authorization").value_or(""));
    const std::string range(request.headers.find("Range").value_or(""));
    {
      const std::lock_guard held(mutex_);
      seen_.push_back(fmt::format("{} {} Range={} Authorization={} {}", request.method, request.target, range,
                                  authorization, request.body));
    }
    const std::string basic = "Basic " + base64_encode(manners_.user + ":" + manners_.password);
    if (request.path == "/token") {
      const bool known = manners_.user.empty() || authorization == basic ||
                         request.body.find("refresh_token=" + manners_.password) != std::string::npos;
      co_return known ? http::json(R"({"token":")" + manners_.token + "\"}") : complain(401, "UNAUTHORIZED");
    }
    if (request.path == "/v2/") co_return http::json("{}");
    const std::string wanted = !manners_.token.empty() ? "Bearer " + manners_.token : basic;
    if ((!manners_.token.empty() || !manners_.user.empty()) && authorization != wanted) {
      auto out = complain(401, "UNAUTHORIZED");
      out.headers.set("WWW-Authenticate",
                      manners_.token.empty()
                          ? std::string(R"(Basic realm="test")")
                          : fmt::format(R"(Bearer realm="http://{}/token",service="test",scope="x")", host()));
      co_return out;
    }
    if (manners_.failures > 0) {
      --manners_.failures;
      co_return complain(manners_.status, "TOOMANYREQUESTS");
    }
    const std::string what = request.path.substr(request.path.rfind('/') + 1);
    const std::string digest =
        request.path.find("/manifests/") != std::string::npos && !what.starts_with("sha256:") ? image_.manifest : what;
    const auto lie = manners_.lies.find(digest);
    const auto blob = image_.blobs.find(digest);
    if (blob == image_.blobs.end()) co_return complain(404, "MANIFEST_UNKNOWN");
    const std::string& bytes = lie != manners_.lies.end() ? lie->second : blob->second;
    if (std::ranges::find(image_.layers, digest) == image_.layers.end()) co_return http::json(bytes);
    co_return layer(bytes, request.path, range);
  }

  http::Response layer(const std::string& bytes, const std::string& path, const std::string& range) {
    http::Response out;
    if (!manners_.redirect_layers.empty()) {
      out.status = 307;
      out.headers.set("Location", manners_.redirect_layers + path);
      return out;
    }
    std::size_t from = 0;
    if (manners_.ranges && range.starts_with("bytes=")) {
      from = std::stoul(range.substr(6));
      out.status = 206;
      out.headers.set("Content-Range", fmt::format("bytes {}-{}/{}", from, bytes.size() - 1, bytes.size()));
    }
    const auto one_of = [](auto& left) {
      if (left <= 0) return false;
      --left;
      return true;
    };
    const bool broken = one_of(manners_.broken);
    const bool stalled = !broken && one_of(manners_.stalled);
    const std::string rest = bytes.substr(from);
    if (!broken && !stalled) {
      out.body = rest;
      return out;
    }
    out.stream = [half = rest.substr(0, rest.size() / 2), stalled](http::BodyWriter& writer) {
      return send_half(writer, half, stalled);
    };
    return out;
  }

  static asio::awaitable<void> send_half(http::BodyWriter& writer, std::string half, bool stalled) {
    co_await writer.write(half);
    if (stalled) co_await async::sleep_for(std::chrono::hours(1));
    throw Error(Code::unavailable, "as the test wants it");
  }

  MadeImage image_;
  Manners manners_;
  mutable std::mutex mutex_;
  std::vector<std::string> seen_;
  async::Loop* loop_ = nullptr;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

}  // namespace underway::oci
