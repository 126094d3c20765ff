#include <sys/socket.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "http/server.hpp"
#include "serving.hpp"

namespace underway::http {
namespace {

awaitable<Response> tell_peer(Request request) {
  co_return text(200, request.remote.address + (request.remote.uid ? ", a user of this machine" : ""));
}

/// What comes out of a socket until its end. The other end is served on the loop.
awaitable<std::string> read_to_end(asio::local::stream_protocol::socket& socket) {
  std::string all;
  boost::system::error_code ended;
  co_await asio::async_read(socket, asio::dynamic_buffer(all), asio::redirect_error(asio::use_awaitable, ended));
  co_return all;
}

TEST(Server, AdoptsASocketWhosePeerIsWhoItWasToldToBe) {
  Router router;
  router.add("GET", "/", "peer", tell_peer);
  Serving serving(std::move(router));
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  asio::local::stream_protocol::socket client(serving.loop.context(), asio::local::stream_protocol(), ends[0]);
  serving.server.adopt(ends[1], Peer{.address = "a task"});
  EXPECT_EQ(serving.server.connections(), 1U);
  const std::string both = "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  asio::write(client, asio::buffer(both));
  const std::string answers = serving.run(read_to_end(client));
  const std::string body = "\r\n\r\na task";
  const auto first = answers.find(body);
  ASSERT_NE(first, std::string::npos) << answers;
  EXPECT_NE(answers.find(body, first + 1), std::string::npos) << "it is kept alive: " << answers;
  EXPECT_TRUE(answers.ends_with(body)) << answers;
}

}  // namespace
}  // namespace underway::http
