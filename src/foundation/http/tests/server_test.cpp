#include "http/server.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include "async/event.hpp"
#include "serving.hpp"

namespace underway::http {
namespace {

awaitable<Response> big(Request) { co_return json("\"" + std::string(1'000'000, 'x') + "\""); }

/// A blocking query: waits for the event or for its client's end, and counts both.
struct Blocking {
  async::Event changed;
  int waiting = 0;
  int answered = 0;
  int cancelled = 0;

  Handler handler() {
    return [this](Request) { return wait(); };
  }
  awaitable<Response> wait() {
    ++waiting;
    try {
      co_await changed.wait_for(1h);
    } catch (const async::Cancelled&) {
      ++cancelled;
      throw;
    }
    ++answered;
    co_return text(200, "changed");
  }
};

awaitable<void> until(const int& counter, int value) {
  while (counter < value) co_await asio::post(asio::use_awaitable);
}

Router echo_router() {
  Router router;
  router.add("GET|PUT|POST", "/echo/*rest", "echo", echo);
  router.add("GET", "/big", "big", big);
  router.add("PUT", "/upload", "upload", echo, {.body_limit = 2'000'000});
  return router;
}

TEST(Server, AnswersOverTcp) {
  Serving serving(echo_router());
  auto client = serving.client();
  const Response response = serving.run(client.send(request("PUT", "/echo/a%20b", {{"x", "1"}}, "body")));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "PUT /echo/a b x=1 body");
  EXPECT_EQ(response.headers.find("Server"), "underway");
}

TEST(Server, AnswersOverAUnixSocketWithItsMode) {
  const Directory directory;
  Serving serving(echo_router());
  const Endpoint at = serving.server.listen(Endpoint{.socket_path = directory / "api.sock", .socket_mode = 0660});
  struct stat info{};
  ASSERT_EQ(::stat(at.socket_path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660u);
  Client client(serving.loop.executor(), parse_url("unix://" + at.socket_path));
  EXPECT_EQ(serving.run(client.send(request("GET", "/echo/x"))).body, "GET /echo/x  ");
  serving.run(serving.server.stop(0s));
  EXPECT_NE(::stat(at.socket_path.c_str(), &info), 0) << "the socket file was left behind";
}

awaitable<Response> tell_uid(Request request) {
  co_return text(200, std::to_string(request.remote.uid.value_or(99999)));
}

TEST(Server, KnowsTheUserAtTheOtherEndOfAUnixSocket) {
  const Directory directory;
  Router router;
  router.add("GET", "/", "uid", tell_uid);
  Serving serving(std::move(router));
  serving.server.listen(Endpoint{.socket_path = directory / "s"});
  Client client(serving.loop.executor(), parse_url("unix://" + (directory / "s")));
  EXPECT_EQ(serving.run(client.send(request("GET", "/"))).body, std::to_string(::getuid()));
}

TEST(Server, CancelsWhatAnAdoptedSocketAskedForWhenItEnds) {
  Blocking blocking;
  Router router;
  router.add("GET", "/", "wait", blocking.handler());
  Serving serving(std::move(router));
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  asio::local::stream_protocol::socket client(serving.loop.context(), asio::local::stream_protocol(), ends[0]);
  serving.server.adopt(ends[1], Peer{.address = "a task"});
  asio::write(client, asio::buffer(std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n")));
  serving.run(until(blocking.waiting, 1));
  client.close();
  serving.run(until(blocking.cancelled, 1));
}

TEST(Server, RefusesBeforeARouteIsLookedFor) {
  Router router = echo_router();
  router.add("PUT", "/streamed", "streamed", {}, {.streamed = [](Request, BodyReader& body) -> awaitable<Response> {
               co_return text(200, co_await body.read());
             }});
  router.fallback(echo);
  ServerOptions options;
  options.refuse = [](const Request& request) -> std::optional<Response> {
    if (request.headers.has("X-Pass")) return std::nullopt;
    return text(401, "who are you");
  };
  Serving serving(std::move(router), std::move(options));
  auto client = serving.client();
  const std::pair<const char*, const char*> all[] = {
      {"GET", "/echo/x"}, {"GET", "/nowhere"}, {"DELETE", "/echo/x"}, {"PUT", "/upload"}, {"PUT", "/streamed"}};
  for (const auto& [method, path] : all) {
    SCOPED_TRACE(fmt::format("{} {}", method, path));
    auto plain = request(method, path, {}, method == std::string("PUT") ? "body" : "");
    auto passing = plain;
    passing.headers.set("X-Pass", "yes");
    EXPECT_EQ(serving.run(client.send(std::move(plain))).status, 401);
    EXPECT_NE(serving.run(client.send(std::move(passing))).status, 401);
  }
}

TEST(Server, SaysHowToFindWhoHasThePort) {
  Serving serving(echo_router());
  try {
    serving.server.listen(serving.endpoint);
    FAIL() << "two listeners on one port";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::conflict);
    EXPECT_EQ(error.message(), fmt::format("cannot listen on 127.0.0.1:{}", serving.endpoint.port));
    EXPECT_NE(error.advice().find(fmt::format("ss -ltnp 'sport = :{}'", serving.endpoint.port)), std::string::npos);
  }
}

TEST(Server, ReplacesAStaleSocketButNoLivingOne) {
  const Directory directory;
  const Endpoint at{.socket_path = directory / "s"};
  Serving serving(echo_router());
  serving.server.listen(at);
  EXPECT_THROW(serving.server.listen(at), Error);
  const int stale = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (directory / "stale").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(stale, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(stale);
  EXPECT_EQ(serving.server.listen(Endpoint{.socket_path = directory / "stale"}).socket_path, directory / "stale");
}

TEST(Server, RefusesAFileThatIsNoSocket) {
  const Directory directory;
  ASSERT_EQ(::mkdir((directory / "d").c_str(), 0700), 0);
  Serving serving(echo_router());
  EXPECT_THROW(serving.server.listen(Endpoint{.socket_path = directory / "d"}), Error);
}

awaitable<std::string> exchange(Serving& serving, std::string data) {
  Raw raw(serving);
  co_await raw.send(std::move(data));
  co_return co_await raw.read_to_end();
}

TEST(Server, RefusesWhatIsNoHttp) {
  struct Case {
    const char* sent;
    const char* status;
  };
  Serving serving(echo_router());
  for (const auto& c : {Case{"nonsense\r\n\r\n", " 400 "}, Case{"GET /echo/%zz HTTP/1.1\r\nHost: x\r\n\r\n", " 400 "},
                        Case{"GET echo HTTP/1.1\r\nHost: x\r\n\r\n", " 400 "},
                        Case{"PUT /echo/x HTTP/1.1\r\nContent-Length: -5\r\n\r\n", " 400 "},
                        Case{"PUT /echo/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", " 400 "},
                        Case{"GET / HTTP/3.0\r\n\r\n", " 505 "}}) {
    SCOPED_TRACE(c.sent);
    const std::string answer = serving.run(exchange(serving, c.sent));
    EXPECT_EQ(answer.substr(0, 8), "HTTP/1.1");
    EXPECT_NE(answer.find(c.status), std::string::npos) << answer;
  }
}

TEST(Server, RefusesLargeHeaders) {
  Serving serving(echo_router(), {.header_limit = 4096});
  const std::string answer =
      serving.run(exchange(serving, "GET /echo/x HTTP/1.1\r\nX: " + std::string(10'000, 'a') + "\r\n\r\n"));
  EXPECT_NE(answer.find(" 431 "), std::string::npos) << answer;
}

TEST(Server, RefusesLargeBodiesUnlessTheRouteTakesThem) {
  Serving serving(echo_router(), {.body_limit = 1'000'000});
  auto client = serving.client();
  const std::string body(1'500'000, 'x');
  EXPECT_EQ(serving.run(client.send(request("PUT", "/upload", {}, body))).status, 200);
  EXPECT_EQ(serving.run(client.send(request("PUT", "/upload", {}, body + body))).status, 413);
  EXPECT_EQ(serving.run(client.send(request("PUT", "/echo/x", {}, body))).status, 413);
  // The same without a declared length.
  std::string chunks = "PUT /echo/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 20; ++i) chunks += "10000\r\n" + std::string(0x10000, 'y') + "\r\n";
  EXPECT_NE(serving.run(exchange(serving, chunks + "0\r\n\r\n")).find(" 413 "), std::string::npos);
}

TEST(Server, ReadsAChunkedBody) {
  Serving serving(echo_router());
  const std::string answer = serving.run(exchange(serving,
                                                  "PUT /echo/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: "
                                                  "close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"));
  EXPECT_NE(answer.find("abcde"), std::string::npos) << answer;
}

awaitable<std::string> drip(Serving& serving, std::string data, Duration pause) {
  Raw raw(serving);
  try {
    for (const char c : data) {
      co_await raw.send(std::string(1, c));
      co_await async::sleep_for(pause);
    }
  } catch (const boost::system::system_error&) {  // the server has had enough: what did it say?
  }
  co_return co_await raw.read_to_end();
}

TEST(Server, DropsAClientThatDripsItsHeaders) {
  Serving serving(echo_router(), {.header_timeout = 50ms});
  EXPECT_EQ(serving.run(drip(serving, "GET /echo/x HTTP/1.1\r\nX: " + std::string(1000, 'a'), 5ms)), "");
  EXPECT_EQ(serving.server.connections(), 0u);
}

TEST(Server, DropsAClientThatDripsItsBody) {
  Serving serving(echo_router(), {.body_timeout = 50ms});
  const std::string head = "PUT /echo/x HTTP/1.1\r\nContent-Length: 1000\r\n\r\n";
  EXPECT_EQ(serving.run(drip(serving, head + std::string(1000, 'a'), 2ms)), "");
}

TEST(Server, DropsAnIdleConnection) {
  Serving serving(echo_router(), {.idle_timeout = 30ms});
  const std::string answer = serving.run(exchange(serving, "GET /echo/x HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_NE(answer.find(" 200 "), std::string::npos);
  EXPECT_NE(answer.find("keep-alive"), std::string::npos);
}

TEST(Server, AnswersPipelinedRequestsInOrder) {
  Serving serving(echo_router());
  std::string sent;
  for (int i = 0; i < 50; ++i) sent += fmt::format("GET /echo/{} HTTP/1.1\r\nHost: x\r\n\r\n", i);
  sent += "GET /echo/last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const std::string answers = serving.run(exchange(serving, sent));
  std::size_t at = 0;
  for (int i = 0; i < 50; ++i) {
    at = answers.find(fmt::format("GET /echo/{} ", i), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_NE(answers.find("/echo/last", at), std::string::npos);
}

awaitable<std::string> converse(Serving& serving, std::string first, std::string marker, std::string second) {
  Raw raw(serving);
  co_await raw.send(std::move(first));
  std::string got = co_await raw.read_until(std::move(marker));
  co_await raw.send(std::move(second));
  co_return got + co_await raw.read_to_end();
}

TEST(Server, InvitesABodyThatIsAnnounced) {
  Serving serving(echo_router());
  const std::string answer = serving.run(converse(
      serving, "PUT /echo/x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n\r\n",
      "Continue\r\n\r\n", "body"));
  EXPECT_EQ(answer.substr(0, 25), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_NE(answer.find("/echo/x  body"), std::string::npos);
}

TEST(Server, DoesNotInviteABodyThatIsTooLarge) {
  Serving serving(echo_router(), {.body_limit = 10});
  const std::string answer = serving.run(
      converse(serving, "PUT /echo/x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n", "\r\n\r\n", ""));
  EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 413");
}

TEST(Server, AnswersHeadWithoutABody) {
  Serving serving(echo_router());
  const std::string answer =
      serving.run(exchange(serving, "HEAD /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  EXPECT_NE(answer.find("Content-Length: 1000002\r\n"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST(Server, CompressesForThoseWhoAccept) {
  Serving serving(echo_router());
  const std::string packed =
      serving.run(exchange(serving, "GET /big HTTP/1.1\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"));
  EXPECT_NE(packed.find("Content-Encoding: gzip\r\n"), std::string::npos);
  EXPECT_LT(packed.size(), 10'000u);
  const std::string plain = serving.run(exchange(serving, "GET /big HTTP/1.1\r\nConnection: close\r\n\r\n"));
  EXPECT_EQ(plain.find("Content-Encoding"), std::string::npos);
  EXPECT_GT(plain.size(), 1'000'000u);
  auto client = serving.client();
  EXPECT_EQ(serving.run(client.send(request("GET", "/big"))).body.size(), 1'000'002u);
}

TEST(Server, CompressesLargeBodiesOnThePool) {
  async::Pool pool(1);
  Serving serving(echo_router(), {.pool = &pool});
  auto client = serving.client();
  EXPECT_EQ(serving.run(client.send(request("GET", "/big"))).body.size(), 1'000'002u);
}

TEST(Server, SpeaksHttp10) {
  Serving serving(echo_router());
  const std::string answer = serving.run(exchange(serving, "GET /echo/x HTTP/1.0\r\n\r\n"));
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("GET /echo/x  "));
}

TEST(Server, CancelsTheHandlerOfAClientThatWentAway) {
  Blocking blocking;
  Router router;
  router.add("GET", "/wait", "wait", blocking.handler());
  Serving serving(std::move(router));
  Raw raw(serving);
  serving.run(raw.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n"));
  serving.run(until(blocking.waiting, 1));
  EXPECT_EQ(blocking.changed.waiters(), 1u);
  raw.close();
  serving.run(until(blocking.cancelled, 1));
  EXPECT_EQ(blocking.changed.waiters(), 0u);
  EXPECT_EQ(blocking.answered, 0);
}

TEST(Server, KeepsTheNextRequestWhileAHandlerWaits) {
  Blocking blocking;
  Router router;
  router.add("GET", "/wait", "wait", blocking.handler());
  router.add("GET", "/echo/*rest", "echo", echo);
  Serving serving(std::move(router));
  Raw raw(serving);
  serving.run(raw.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n"));
  serving.run(until(blocking.waiting, 1));
  serving.run(raw.send("GET /echo/next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  for (int i = 0; i < 20; ++i) serving.loop.context().poll();
  EXPECT_EQ(blocking.cancelled, 0);
  blocking.changed.notify_all();
  const std::string answers = serving.run(raw.read_to_end());
  EXPECT_NE(answers.find("changed"), std::string::npos);
  EXPECT_NE(answers.find("/echo/next"), std::string::npos);
}

TEST(Server, StopLetsARunningRequestEnd) {
  Blocking blocking;
  Router router;
  router.add("GET", "/wait", "wait", blocking.handler());
  Serving serving(std::move(router));
  Raw busy(serving);
  const Raw idle(serving);
  serving.run(busy.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n"));
  serving.run(until(blocking.waiting, 1));
  serving.loop.post([&] { blocking.changed.notify_all(); });
  serving.run(serving.server.stop(1h));
  EXPECT_EQ(serving.server.connections(), 0u);
  const std::string answer = serving.run(busy.read_to_end());
  EXPECT_NE(answer.find("changed"), std::string::npos);
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
}

TEST(Server, StopCancelsWhatOutlastsItsGrace) {
  Blocking blocking;
  Router router;
  router.add("GET", "/wait", "wait", blocking.handler());
  Serving serving(std::move(router));
  Raw raw(serving);
  serving.run(raw.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n"));
  serving.run(until(blocking.waiting, 1));
  serving.run(serving.server.stop(10ms));
  EXPECT_EQ(blocking.cancelled, 1);
  EXPECT_EQ(serving.server.connections(), 0u);
}

TEST(Server, RefusesClientsBeyondItsLimit) {
  Serving serving(echo_router(), {.connection_limit = 1});
  Raw first(serving);
  serving.run(first.send("GET /echo/x HTTP/1.1\r\nHost: x\r\n\r\n"));
  serving.run(first.read_until("/echo/x"));
  testing::internal::CaptureStderr();
  const std::string answer = serving.run(exchange(serving, ""));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("further clients are refused"), std::string::npos);
  EXPECT_NE(answer.find(" 503 "), std::string::npos);
}

awaitable<void> count_up(BodyWriter& writer, int pieces, std::size_t size) {
  for (int i = 0; i < pieces; ++i) co_await writer.write(fmt::format("{:<{}}", i, size));
}
awaitable<void> break_off(BodyWriter& writer) {
  co_await writer.write("half");
  throw Error(Code::internal, "the log is gone");
}
Handler streaming(std::function<awaitable<void>(BodyWriter&)> stream) {
  return [stream](Request) {
    return [](std::function<awaitable<void>(BodyWriter&)> body) -> awaitable<Response> {
      Response response = text(200, "");
      response.stream = std::move(body);
      co_return response;
    }(stream);
  };
}

TEST(Stream, IsChunkedAndKeepsTheConnection) {
  Router router;
  router.add("GET", "/s", "s", streaming([](BodyWriter& writer) { return count_up(writer, 3, 2); }));
  Serving serving(std::move(router));
  auto client = serving.client();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(serving.run(client.send(request("GET", "/s"))).body, "0 1 2 ");
  EXPECT_EQ(serving.server.connections(), 1u);
  EXPECT_TRUE(serving.run(exchange(serving, "GET /s HTTP/1.0\r\n\r\n")).ends_with("\r\n\r\n0 1 2 "));
}

TEST(Stream, ThatBreaksOffIsSeenByTheClient) {
  Router router;
  router.add("GET", "/s", "s", streaming(break_off));
  Serving serving(std::move(router));
  auto client = serving.client();
  try {
    serving.run(client.send(request("GET", "/s")));
    FAIL() << "half a body passed for a whole one";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unavailable);
  }
}

TEST(Stream, DropsAClientThatReadsNothing) {
  bool ended = false;
  Router router;
  router.add("GET", "/s", "s", streaming([&ended](BodyWriter& writer) {
               return [](BodyWriter& to, bool& flag) -> awaitable<void> {
                 try {
                   co_await count_up(to, 1000, 1 << 20);
                 } catch (const Error& error) {
                   flag = error.code() == Code::timeout;
                   throw;
                 }
               }(writer, ended);
             }));
  Serving serving(std::move(router), {.send_timeout = 30ms});
  Raw raw(serving);
  serving.run(raw.send("GET /s HTTP/1.1\r\nHost: x\r\n\r\n"));
  serving.run([](bool& flag) -> awaitable<void> {
    while (!flag) co_await async::sleep_for(1ms);
  }(ended));
  EXPECT_TRUE(ended);
}

TEST(Stream, IsCancelledWhenItsClientGoesAway) {
  Blocking blocking;
  Router router;
  router.add("GET", "/s", "s", streaming([&blocking](BodyWriter&) {
               return [](Blocking& b) -> awaitable<void> { co_await b.wait(); }(blocking);
             }));
  Serving serving(std::move(router));
  Raw raw(serving);
  serving.run(raw.send("GET /s HTTP/1.1\r\nHost: x\r\n\r\n"));
  serving.run(until(blocking.waiting, 1));
  raw.close();
  serving.run(until(blocking.cancelled, 1));
  EXPECT_EQ(blocking.cancelled, 1);
}

}  // namespace
}  // namespace underway::http
