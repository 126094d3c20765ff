#include "http/websocket.hpp"

#include "async/group.hpp"
#include "http/detail/frames.hpp"
#include "serving.hpp"

namespace underway::http {
namespace {

using detail::Opcode;
using detail::Side;

awaitable<void> echo_all(std::shared_ptr<WebSocket> socket) {
  while (auto message = co_await socket->read()) co_await socket->write(std::move(*message));
}
/// Holds the socket and never reads.
awaitable<void> keep(std::shared_ptr<WebSocket>) { co_await async::sleep_for(1h); }
Handler upgrading(std::function<awaitable<void>(std::shared_ptr<WebSocket>)> serve) {
  return [serve](Request) {
    return [](std::function<awaitable<void>(std::shared_ptr<WebSocket>)> with) -> awaitable<Response> {
      Response response;
      response.upgrade = std::move(with);
      co_return response;
    }(serve);
  };
}
Router echo_socket_router() {
  Router router;
  router.add("GET", "/ws", "ws", upgrading(echo_all));
  router.add("GET", "/plain", "plain",
             [](Request) { return []() -> awaitable<Response> { co_return text(403, "Permission denied"); }(); });
  return router;
}

TEST(WebSocket, CarriesMessagesBothWays) {
  Serving serving(echo_socket_router());
  auto client = serving.client();
  const auto socket = serving.run(client.dial(request("GET", "/ws")));
  for (const std::size_t size : {0u, 1u, 125u, 126u, 65'535u, 65'536u, 3'000'000u}) {
    SCOPED_TRACE(size);
    const bool text = size % 2 == 0;
    std::string data(size, 'x');
    if (!text) data[0] = '\xff';
    serving.run(socket->write({data, text}));
    const auto answer = serving.run(socket->read());
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->data, data);
    EXPECT_EQ(answer->text, text);
  }
  serving.run(socket->close());
  EXPECT_FALSE(socket->is_open());
}

TEST(WebSocket, ClosesWithCodeAndReason) {
  std::shared_ptr<WebSocket> at_server;
  Router router;
  router.add("GET", "/ws", "ws", upgrading([&](std::shared_ptr<WebSocket> socket) {
               at_server = socket;
               return echo_all(socket);
             }));
  Serving serving(std::move(router));
  auto client = serving.client();
  const auto socket = serving.run(client.dial(request("GET", "/ws")));
  serving.run(socket->write({"x"}));
  serving.run(socket->read());
  serving.run(socket->close(CloseCode::going_away, "done here"));
  EXPECT_EQ(at_server->close_code(), CloseCode::going_away);
  EXPECT_EQ(at_server->close_reason(), "done here");
  EXPECT_THROW(serving.run(at_server->write({"late"})), Error);
  EXPECT_FALSE(at_server->try_write({"late"}));
  at_server.reset();
}

TEST(WebSocket, IsToldThatTheServerStops) {
  Serving serving(echo_socket_router());
  auto client = serving.client();
  const auto socket = serving.run(client.dial(request("GET", "/ws")));
  async::TaskGroup group(serving.loop.executor(), "test");
  group.spawn("stop", serving.server.stop(10s));
  EXPECT_EQ(serving.run(socket->read()), std::nullopt);
  EXPECT_EQ(socket->close_code(), CloseCode::going_away);
  serving.run(group.wait());
  EXPECT_EQ(serving.server.connections(), 0u);
}

TEST(WebSocket, ThatTheServerRefusesIsAnErrorWithItsText) {
  Serving serving(echo_socket_router());
  auto client = serving.client();
  try {
    serving.run(client.dial(request("GET", "/plain")));
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::denied);
    EXPECT_EQ(error.message(), "Permission denied");
  }
  EXPECT_EQ(serving.run(client.send(request("GET", "/ws"))).status, 426);
}

TEST(WebSocket, KeepsTheOrderOfConcurrentWritersWhole) {
  Serving serving(echo_socket_router());
  auto client = serving.client({.websocket = {.queue_limit = 1000}});
  const auto socket = serving.run(client.dial(request("GET", "/ws")));
  async::TaskGroup group(serving.loop.executor(), "test");
  const auto write_many = [](std::shared_ptr<WebSocket> to, char name) -> awaitable<void> {
    for (int i = 0; i < 100; ++i) co_await to->write({std::string(1, name) + std::to_string(i)});
  };
  for (const char name : {'a', 'b', 'c'}) group.spawn("writer", write_many(socket, name));
  std::map<char, int> next;
  for (int i = 0; i < 300; ++i) {
    const auto message = serving.run(socket->read());
    ASSERT_TRUE(message);
    EXPECT_EQ(message->data.substr(1), std::to_string(next[message->data[0]]++));
  }
  serving.run(group.wait());
  EXPECT_EQ(next, (std::map<char, int>{{'a', 100}, {'b', 100}, {'c', 100}}));
}

TEST(WebSocket, HoldsWritersBackWhileTheQueueIsFull) {
  Router router;
  router.add("GET", "/ws", "ws", upgrading(keep));
  Serving serving(std::move(router));
  auto client = serving.client({.websocket = {.queue_limit = 100'000, .ping_every = 0s, .send_timeout = 60ms}});
  const auto socket = serving.run(client.dial(request("GET", "/ws")));
  int written = 0;
  const auto flood = [](std::shared_ptr<WebSocket> to, int& count) -> awaitable<void> {
    while (true) {
      co_await to->write({std::string(100'000, 'x'), false});
      ++count;
    }
  };
  // Nobody reads there, so the flood stalls, and then the peer is given up.
  try {
    serving.run(flood(socket, written));
    FAIL() << "wrote for ever";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::timeout) << error.one_line();
  }
  EXPECT_GT(written, 1);
  EXPECT_LT(written, 1000);
  EXPECT_FALSE(socket->is_open());
  EXPECT_FALSE(socket->try_write({"x"}));
}

TEST(WebSocket, GivesUpAPeerThatIsSilent) {
  Router router;
  router.add("GET", "/ws", "ws", upgrading(keep));
  Serving serving(std::move(router), {.websocket = {.ping_every = 0s}});
  auto client = serving.client({.websocket = {.ping_every = 5ms, .dead_after = 20ms}});
  const auto socket = serving.run(client.dial(request("GET", "/ws")));
  try {
    serving.run(socket->read());
    FAIL() << "heard something";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::timeout);
  }
}

TEST(WebSocket, StaysOpenWhileItsPeerAnswersPings) {
  Serving serving(echo_socket_router());
  auto client = serving.client({.websocket = {.ping_every = 2ms, .dead_after = 100ms}});
  const auto socket = serving.run(client.dial(request("GET", "/ws")));
  async::TaskGroup group(serving.loop.executor(), "test");
  std::optional<Message> got;
  const auto read_one = [](std::shared_ptr<WebSocket> from, std::optional<Message>& into) -> awaitable<void> {
    into = co_await from->read();
  };
  group.spawn("reader", read_one(socket, got));
  serving.run(async::sleep_for(200ms));
  EXPECT_TRUE(socket->is_open());
  serving.run(socket->write({"still here"}));
  serving.run(group.wait());
  ASSERT_TRUE(got);
  EXPECT_EQ(got->data, "still here");
}

TEST(WebSocket, NoticesAPeerThatVanishes) {
  std::shared_ptr<WebSocket> at_server;
  Router router;
  router.add("GET", "/ws", "ws", upgrading([&](std::shared_ptr<WebSocket> socket) {
               at_server = socket;
               return echo_all(socket);
             }));
  Serving serving(std::move(router));
  auto client = serving.client();
  const auto socket = serving.run(client.dial(request("GET", "/ws")));
  socket->abort();
  EXPECT_THROW(serving.run(socket->read()), Error);
  serving.run([](Server& server) -> awaitable<void> {
    while (server.connections() > 0) co_await async::sleep_for(1ms);
  }(serving.server));
  EXPECT_FALSE(at_server->is_open());
  at_server.reset();
}

awaitable<std::string> offend(Serving& serving, std::string frames) {
  Raw raw(serving);
  co_await raw.send(
      "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  co_await raw.read_until("\r\n\r\n");
  co_await raw.send(std::move(frames));
  const std::string answer = co_await raw.read_to_end();
  detail::FrameDecoder decoder(Side::client, 1000);
  decoder.put(answer);
  const auto frame = decoder.next();
  if (!frame || frame->opcode != Opcode::close) co_return "no close frame";
  co_return std::to_string(static_cast<int>(detail::decode_close(frame->payload).first));
}

TEST(WebSocket, OfAPeerWithoutACertificateCarriesSmallMessages) {
  Serving serving(echo_socket_router(), {.uncertified_message_limit = 1000});
  auto client = serving.client();
  const auto socket = serving.run(client.dial(request("GET", "/ws")));
  serving.run(socket->write({std::string(1000, 'x')}));
  EXPECT_EQ(serving.run(socket->read())->data.size(), 1000u);
  serving.run(socket->write({std::string(1001, 'x')}));
  EXPECT_EQ(serving.run(socket->read()), std::nullopt);
  EXPECT_EQ(socket->close_code(), CloseCode::too_large);
}

TEST(WebSocket, AnswersViolationsWithTheirCode) {
  const auto from_client = [](Opcode opcode, std::string_view data) {
    return detail::encode_frame(opcode, data, Side::client, 7);
  };
  Serving serving(echo_socket_router(), {.websocket = {.message_limit = 1000}});
  struct Case {
    const char* name;
    std::string frames;
    const char* code;
  };
  for (const auto& c :
       {Case{"unmasked", detail::encode_frame(Opcode::text, "x", Side::server, 0), "1002"},
        Case{"too large", from_client(Opcode::text, std::string(1001, 'x')), "1009"},
        Case{"not UTF-8", from_client(Opcode::text, "\xff\xfe"), "1007"},
        Case{"a continuation of nothing", from_client(Opcode::continuation, "x"), "1002"},
        Case{"an unknown opcode", "\x83\x80" + std::string(4, '\0'), "1002"},
        Case{"reserved bits", "\xc1\x80" + std::string(4, '\0'), "1002"},
        Case{"a bad close code", from_client(Opcode::close, std::string("\x03\xed", 2)), "1002"},
        Case{"an orderly close", from_client(Opcode::close, detail::encode_close(CloseCode::normal, "")), "1000"}}) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(serving.run(offend(serving, c.frames)), c.code);
  }
}

TEST(FrameDecoder, CutsByteByByte) {
  const std::string wire = detail::encode_frame(Opcode::text, "hello", Side::client, 0x12345678) +
                           detail::encode_frame(Opcode::binary, std::string(70'000, 'z'), Side::client, 1);
  detail::FrameDecoder decoder(Side::server, 100'000);
  std::vector<std::string> payloads;
  for (const char c : wire) {
    decoder.put(std::string_view(&c, 1));
    while (auto frame = decoder.next()) payloads.push_back(frame->payload);
  }
  EXPECT_EQ(payloads, (std::vector<std::string>{"hello", std::string(70'000, 'z')}));
  EXPECT_FALSE(decoder.midway());
}

TEST(MessageAssembler, JoinsFragments) {
  detail::MessageAssembler assembler(10);
  EXPECT_FALSE(assembler.add({Opcode::text, false, "ab"}));
  EXPECT_FALSE(assembler.add({Opcode::continuation, false, "cd"}));
  const auto whole = assembler.add({Opcode::continuation, true, "ef"});
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->data, "abcdef");
  EXPECT_FALSE(assembler.add({Opcode::binary, false, "0123456789"}));
  EXPECT_THROW(assembler.add({Opcode::continuation, true, "x"}), detail::Violation);
}

TEST(CloseFrames, CutALongReasonAtACharacter) {
  const std::string payload = detail::encode_close(CloseCode::policy, std::string(121, 'x') + "éé");
  const auto [code, reason] = detail::decode_close(payload);
  EXPECT_EQ(code, CloseCode::policy);
  EXPECT_EQ(reason, std::string(121, 'x') + "é");
}

}  // namespace
}  // namespace underway::http
