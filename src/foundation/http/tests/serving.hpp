#pragma once
/// @file
/// A server on a loop of the test, a client for it, and a raw socket for what no client would send.

#include <gtest/gtest.h>
#include <unistd.h>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/write.hpp>

#include <filesystem>

#include "http/client.hpp"
#include "http/server.hpp"

namespace underway::http {

using namespace std::chrono_literals;

/// Answers with what came.
inline awaitable<Response> echo(Request request) {
  co_return text(200, request.method + " " + request.path + " " + request.query.encode() + " " + request.body);
}

/// Runs a router; every test ends with an orderly stop.
class Serving {
 public:
  explicit Serving(Router routes, ServerOptions options = {}, std::optional<TlsContext> tls = {})
      : router(std::move(routes)), server(loop.executor(), router, std::move(options)) {
    endpoint = server.listen(Endpoint{.host = "127.0.0.1"}, std::move(tls));
  }
  ~Serving() { loop.run_until_done(server.stop(0s)); }

  Url url() const { return Url{.endpoint = endpoint}; }
  Client client(ClientOptions options = {}) { return Client(loop.executor(), url(), std::move(options)); }
  template <class T>
  T run(awaitable<T> task) {
    return loop.run_until_done(async::within(20s, "the test", std::move(task)));
  }

  async::Loop loop;
  Router router;
  Server server;
  Endpoint endpoint;
};

/// A bare TCP connection to the server.
class Raw {
 public:
  explicit Raw(Serving& serving) : socket_(serving.loop.context()) {
    socket_.connect({asio::ip::make_address("127.0.0.1"), serving.endpoint.port});
  }
  awaitable<void> send(std::string data) {
    co_await asio::async_write(socket_, asio::buffer(data), asio::use_awaitable);
  }
  /// Reads until `marker` has come or the stream ends; returns all that came.
  awaitable<std::string> read_until(std::string marker) {
    std::array<char, 4096> piece{};
    while (got_.find(marker) == std::string::npos) {
      boost::system::error_code failed;
      const std::size_t size =
          co_await socket_.async_read_some(asio::buffer(piece), asio::redirect_error(asio::use_awaitable, failed));
      if (failed) break;
      got_.append(piece.data(), size);
    }
    co_return std::exchange(got_, {});
  }
  awaitable<std::string> read_to_end() { return read_until("\x01never"); }
  void close() { socket_.close(); }
  asio::ip::tcp::socket& socket() { return socket_; }

 private:
  asio::ip::tcp::socket socket_;
  std::string got_;
};

/// A directory of the test's own, removed at its end.
class Directory {
 public:
  Directory() {
    std::string pattern = "/tmp/underway-http-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace underway::http
