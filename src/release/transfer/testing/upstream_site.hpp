#pragma once
/// @file
/// A web server with files, on a thread of its own, that does what a test tells it to.

#include <fmt/format.h>

#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/numbers.hpp"
#include "http/server.hpp"

namespace underway::transfer::testing {

/// What is wrong with a file. Counts are taken down by one each time.
struct Manners {
  int failures = 0;  ///< answers with `status` instead
  int status = 503;
  int broken = 0;          ///< ends after half of it, with the connection
  bool trickles = false;   ///< a byte now and then, for as long as it takes
  bool ranges = true;      ///< understands Range
  std::string redirect;    ///< to there
  bool validators = true;  ///< says when it has changed
};

class UpstreamSite {
 public:
  UpstreamSite() {
    std::promise<std::uint16_t> port;
    auto bound = port.get_future();
    thread_ = std::jthread([this, &port] { serve(port); });
    port_ = bound.get();
  }
  ~UpstreamSite() {
    loop_->post([this] { loop_->stop(); });
  }
  UpstreamSite(const UpstreamSite&) = delete;
  UpstreamSite& operator=(const UpstreamSite&) = delete;

  std::string url() const { return fmt::format("http://127.0.0.1:{}/up", port_); }
  void put(const std::string& path, std::string bytes, Manners manners = {}) {
    const std::lock_guard held(mutex_);
    files_[path] = {std::move(bytes), std::move(manners), ++version_};
  }
  void remove(const std::string& path) {
    const std::lock_guard held(mutex_);
    files_.erase(path);
  }
  /// "main/a.deb", "main/a.deb Range=bytes=5-", "main/a.deb 304" of each request since the last call.
  std::vector<std::string> asked() {
    const std::lock_guard held(mutex_);
    return std::exchange(asked_, {});
  }

 private:
  struct File {
    std::string bytes;
    Manners manners;
    int version = 0;
  };

  void serve(std::promise<std::uint16_t>& port) {
    async::Loop loop;
    loop_ = &loop;
    http::Router router;
    router.add("GET", "/up/*path", "files", [this](http::Request request) { return answer(std::move(request)); });
    http::Server server(loop.executor(), router);
    port.set_value(server.listen({.host = "127.0.0.1"}).port);
    loop.run();
    loop.context().restart();
    loop.run_until_done(server.stop({}));
  }

  asio::awaitable<http::Response> answer(http::Request request) {
    const std::string path = request.path.substr(std::string_view("/up/").size());
    const std::string range(request.headers.find("Range").value_or(""));
    const std::lock_guard held(mutex_);
    asked_.push_back(path + (range.empty() ? "" : " Range=" + range));
    const auto at = files_.find(path);
    if (at == files_.end()) co_return http::text(404, "no such file");
    auto& [bytes, manners, version] = at->second;
    if (manners.failures > 0 && manners.failures-- > 0) co_return http::text(manners.status, "not now");
    http::Response out;
    if (!manners.redirect.empty()) {
      out.status = 302;
      out.headers.set("Location", manners.redirect);
      co_return out;
    }
    if (manners.validators) out.headers.set("ETag", fmt::format("\"{}\"", version));
    if (manners.validators && request.headers.find("If-None-Match") == fmt::format("\"{}\"", version)) {
      asked_.back() += " 304";
      out.status = 304;
      co_return out;
    }
    out.body = bytes;
    if (manners.ranges && range.starts_with("bytes=")) {
      const auto from = parse_number<std::size_t>(std::string_view(range).substr(6, range.find('-') - 6)).value_or(0);
      if (from >= bytes.size()) co_return http::text(416, "there is no more");
      out.status = 206;
      out.headers.set("Content-Range", fmt::format("bytes {}-{}/{}", from, bytes.size() - 1, bytes.size()));
      out.body = bytes.substr(from);
    }
    if (manners.trickles) {
      out.stream = [all = std::exchange(out.body, {})](http::BodyWriter& writer) -> asio::awaitable<void> {
        for (const char byte : all) {
          co_await writer.write(std::string(1, byte));
          co_await async::sleep_for(std::chrono::milliseconds(20));
        }
      };
      co_return out;
    }
    if (manners.broken > 0 && manners.broken-- > 0) {
      const auto half = out.body.substr(0, out.body.size() / 2);
      out.body.clear();
      out.stream = [half](http::BodyWriter& writer) -> asio::awaitable<void> {
        co_await writer.write(half);
        throw Error(Code::unavailable, "the line breaks");
      };
    }
    co_return out;
  }

  std::mutex mutex_;
  std::map<std::string, File> files_;
  std::vector<std::string> asked_;
  int version_ = 0;
  async::Loop* loop_ = nullptr;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

}  // namespace underway::transfer::testing
