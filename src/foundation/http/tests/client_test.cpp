#include "http/client.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <thread>

#include "async/event.hpp"
#include "serving.hpp"

namespace underway::http {
namespace {

awaitable<Response> remote_port(Request request) { co_return text(200, request.remote.address); }
awaitable<Response> tell_header(Request request) {
  co_return text(200, std::string(request.headers.find("X-Token").value_or("none")));
}
awaitable<Response> sleep_an_hour(Request) {
  co_await async::sleep_for(1h);
  co_return text(200, "late");
}

/// A stream that the test advances.
struct Feed {
  async::Event changed;
  int released = 0;
  bool finished = false;
  awaitable<void> write(BodyWriter& writer) {
    for (int i = 0; !finished; ++i) {
      while (released <= i && !finished) co_await changed.wait();
      if (!finished) co_await writer.write(fmt::format("line {}\n", i));
    }
  }
  void release() {
    ++released;
    changed.notify_all();
  }
  void finish() {
    finished = true;
    changed.notify_all();
  }
};

awaitable<Response> follow(Feed& feed) {
  Response response = text(200, "");
  response.stream = [&feed](BodyWriter& writer) { return feed.write(writer); };
  co_return response;
}

Router routes() {
  Router router;
  router.add("GET|POST", "/port", "port", remote_port);
  router.add("GET", "/header", "header", tell_header);
  router.add("GET", "/hour", "hour", sleep_an_hour);
  return router;
}

TEST(Client, ReusesItsConnection) {
  Serving serving(routes());
  auto client = serving.client();
  const std::string first = serving.run(client.send(request("GET", "/port"))).body;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(serving.run(client.send(request("GET", "/port"))).body, first);
  EXPECT_EQ(serving.server.connections(), 1u);
}

TEST(Client, ComesBackAfterItsKeptConnectionWasClosed) {
  Serving serving(routes(), {.idle_timeout = 5ms});
  auto client = serving.client();
  const std::string first = serving.run(client.send(request("GET", "/port"))).body;
  serving.run([](Server& server) -> awaitable<void> {
    while (server.connections() > 0) co_await async::sleep_for(1ms);
  }(serving.server));
  EXPECT_NE(serving.run(client.send(request("POST", "/port"))).body, first);
}

TEST(Client, AddsItsHeadersUnlessTheRequestHasThem) {
  Serving serving(routes());
  auto client = serving.client({.headers = {{"X-Token", "standing"}}});
  EXPECT_EQ(serving.run(client.send(request("GET", "/header"))).body, "standing");
  Request own = request("GET", "/header");
  own.headers.set("x-token", "own");
  EXPECT_EQ(serving.run(client.send(own)).body, "own");
}

TEST(Client, ReturnsEveryStatus) {
  Serving serving(routes());
  auto client = serving.client();
  EXPECT_EQ(serving.run(client.send(request("GET", "/nowhere"))).status, 404);
}

TEST(Client, GivesUpAfterItsTimeout) {
  Serving serving(routes());
  auto client = serving.client();
  try {
    serving.run(client.send(request("GET", "/hour"), 10ms));
    FAIL() << "no deadline";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::timeout);
  }
  EXPECT_EQ(serving.run(client.send(request("GET", "/port"))).status, 200);
}

TEST(Client, SaysWhomItCannotReach) {
  async::Loop loop;
  asio::ip::tcp::acceptor unused(loop.context(), {asio::ip::make_address("127.0.0.1"), 0});
  const auto port = unused.local_endpoint().port();
  unused.close();
  Client client(loop.executor(), Url{.endpoint = {.host = "127.0.0.1", .port = port}});
  try {
    loop.run_until_done(client.send(request("GET", "/")));
    FAIL() << "connected to nobody";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unavailable);
    EXPECT_EQ(error.one_line(),
              fmt::format("cannot connect to http://127.0.0.1:{}: Connection refused (ECONNREFUSED)", port));
  }
  Client absent(loop.executor(), parse_url("unix:///nonexistent/underway.sock"));
  try {
    loop.run_until_done(absent.send(request("GET", "/")));
    FAIL() << "connected to nobody";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unavailable);
    EXPECT_NE(error.one_line().find("ENOENT"), std::string::npos);
  }
}

/// Accepts one connection, reads, answers what it is told and closes.
awaitable<void> answer_once(asio::ip::tcp::acceptor& acceptor, std::string answer) {
  auto socket = co_await acceptor.async_accept(asio::use_awaitable);
  std::array<char, 1000> piece{};
  co_await socket.async_read_some(asio::buffer(piece), asio::use_awaitable);
  co_await asio::async_write(socket, asio::buffer(answer), asio::use_awaitable);
  boost::system::error_code ignored;
  socket.shutdown(asio::socket_base::shutdown_send, ignored);
}

TEST(Client, RefusesWhatIsNoHttp) {
  struct Case {
    const char* name;
    std::string answer;
    Code code;
  };
  for (const auto& c :
       {Case{"a banner", "SSH-2.0-OpenSSH_9.2\r\n", Code::invalid}, Case{"nothing", "", Code::unavailable},
        Case{"half a head", "HTTP/1.1 200 OK\r\nX", Code::unavailable},
        Case{"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", Code::unavailable},
        Case{"endless 1xx",
             [] {
               std::string all;
               for (int i = 0; i < 99; ++i) all += "HTTP/1.1 102 P\r\n\r\n";
               return all;
             }(),
             Code::invalid},
        Case{"too large", "HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n", Code::too_large}}) {
    SCOPED_TRACE(c.name);
    async::Loop loop;
    asio::ip::tcp::acceptor acceptor(loop.context(), {asio::ip::make_address("127.0.0.1"), 0});
    asio::co_spawn(loop.context(), answer_once(acceptor, c.answer), asio::detached);
    const Url url{.endpoint = {.host = "127.0.0.1", .port = acceptor.local_endpoint().port()}};
    Client client(loop.executor(), url, {.body_limit = 1000});
    try {
      loop.run_until_done(client.send(request("POST", "/")));
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(to_string(error.code()), to_string(c.code)) << error.one_line();
    }
  }
}

TEST(Client, ReadsABodyThatEndsWithTheConnection) {
  async::Loop loop;
  asio::ip::tcp::acceptor acceptor(loop.context(), {asio::ip::make_address("127.0.0.1"), 0});
  asio::co_spawn(loop.context(), answer_once(acceptor, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nall of it"),
                 asio::detached);
  Client client(loop.executor(), Url{.endpoint = {.host = "127.0.0.1", .port = acceptor.local_endpoint().port()}});
  EXPECT_EQ(loop.run_until_done(client.send(request("GET", "/"))).body, "all of it");
}

TEST(ResponseStream, YieldsPiecesAsTheyCome) {
  Feed feed;
  Router router;
  router.add("GET", "/follow", "follow", [&feed](Request) { return follow(feed); });
  Serving serving(std::move(router));
  auto client = serving.client();
  const auto stream = serving.run(client.open(request("GET", "/follow")));
  EXPECT_EQ(stream->status(), 200);
  for (int i = 0; i < 3; ++i) {
    feed.release();
    EXPECT_EQ(serving.run(stream->read()), fmt::format("line {}\n", i));
  }
  EXPECT_THROW(serving.run(stream->read(5ms)), Error);
  feed.finish();
  EXPECT_EQ(serving.run(stream->read()), std::nullopt);
  EXPECT_EQ(serving.run(stream->read()), std::nullopt);
}

TEST(ResponseStream, EndsAtTheServerWhenItIsDropped) {
  Feed feed;
  Router router;
  router.add("GET", "/follow", "follow", [&feed](Request) { return follow(feed); });
  Serving serving(std::move(router));
  auto client = serving.client();
  {
    const auto stream = serving.run(client.open(request("GET", "/follow")));
    EXPECT_EQ(serving.server.connections(), 1u);
  }
  serving.run([](Server& server) -> awaitable<void> {
    while (server.connections() > 0) co_await async::sleep_for(1ms);
  }(serving.server));
  EXPECT_EQ(feed.changed.waiters(), 0u);
}

TEST(BlockingClient, ServesPlainPrograms) {
  Feed feed;
  feed.released = 2;
  Router router = routes();
  router.add("GET", "/follow", "follow", [&feed](Request) { return follow(feed); });
  async::Loop loop;
  Server server(loop.executor(), router);
  const Endpoint at = server.listen(Endpoint{.host = "localhost"});
  std::jthread serving([&loop] { loop.run(); });
  BlockingClient client(Url{.endpoint = at});
  EXPECT_EQ(client.send(request("GET", "/port")).status, 200);
  std::string lines;
  const int status = client.stream(
      request("GET", "/follow"),
      [](int code, const Headers& headers) { return code == 200 && headers.has("Content-Type"); },
      [&](std::string_view piece) {
        lines += piece;
        return lines.size() < 14;
      });
  EXPECT_EQ(status, 200);
  EXPECT_EQ(lines, "line 0\nline 1\n");
  EXPECT_EQ(
      client.stream(
          request("GET", "/nowhere"), [](int, const Headers&) { return false; }, [](std::string_view) { return true; }),
      404);
  loop.post([&] { asio::co_spawn(loop.context(), server.stop(0s), [&loop](std::exception_ptr) { loop.stop(); }); });
}

TEST(CodeOfStatus, IsWhatTheServerMeant) {
  for (const Code code : {Code::invalid, Code::denied, Code::not_found, Code::conflict, Code::too_large,
                          Code::exhausted, Code::unavailable, Code::timeout, Code::unsupported, Code::internal}) {
    EXPECT_EQ(to_string(code_of_status(http_status(code))), to_string(code));
  }
}

}  // namespace
}  // namespace underway::http
