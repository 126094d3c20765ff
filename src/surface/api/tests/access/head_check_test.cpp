// Bodies over real connections: strangers send nothing, and what is held for all is bounded.
#include "api/access/head_check.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/write.hpp>

#include <fstream>

#include "async/group.hpp"
#include "tests/access.hpp"

namespace underway::api::testing {
namespace {

using server::testing::run_until;
using tcp = asio::ip::tcp;

std::size_t resident_bytes() {
  std::size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// One client: sends a head and then of its body what is taken; keeps the connection open.
struct Client {
  explicit Client(async::Loop& loop) : socket(loop.context()) {}
  tcp::socket socket;
  std::size_t sent = 0;
  std::string answer;
  bool ended = false;
};

awaitable<void> read_answer(Client& client) {
  std::array<char, 4096> piece{};
  boost::system::error_code failed;
  while (!failed) {
    const std::size_t size =
        co_await client.socket.async_read_some(asio::buffer(piece), asio::redirect_error(asio::use_awaitable, failed));
    client.answer.append(piece.data(), size);
  }
  client.ended = true;
}

/// All but the last byte, so that the request is under way until its end.
awaitable<void> send_held(Client& client, std::string head, std::size_t length) {
  static const std::string kPiece(1 << 20, ' ');
  boost::system::error_code failed;
  co_await asio::async_write(client.socket, asio::buffer(head), asio::redirect_error(asio::use_awaitable, failed));
  while (!failed && client.sent + 1 < length) {
    const std::size_t size = std::min(kPiece.size(), length - 1 - client.sent);
    client.sent += co_await asio::async_write(client.socket, asio::buffer(kPiece.data(), size),
                                              asio::redirect_error(asio::use_awaitable, failed));
  }
}

class HeadCheckTest : public AccessTest {
 protected:
  HeadCheckTest() : head_check(world.routes, world.api), tasks(world.loop.executor(), "test") {
    http::ServerOptions options;
    options.admit = [this](http::Request head) { return head_check.admit(std::move(head)); };
    options.bodies_limit = 64 << 20;
    options.strangers_limit = 1 << 20;
    served.emplace(world.loop.executor(), world.router, options);
    port = served->listen(http::Endpoint{.host = "127.0.0.1"}).port;
  }
  ~HeadCheckTest() override {
    for (auto& client : clients) client->socket.close();
    world.loop.run_until_done(served->stop(Duration{0}));
    world.loop.run_until_done(tasks.stop());
  }

  static std::string head(const std::string& method, const std::string& target, const std::string& token,
                          const std::string& more) {
    return method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" +
           (token.empty() ? "" : "X-Nomad-Token: " + token + "\r\n") + more + "\r\n";
  }
  Client& connect() {
    clients.push_back(std::make_unique<Client>(world.loop));
    clients.back()->socket.connect({asio::ip::make_address("127.0.0.1"), port});
    return *clients.back();
  }
  /// Begins a body of `length` bytes and never ends it.
  Client& hold(const std::string& token, const std::string& target, std::size_t length) {
    Client& client = connect();
    std::string text = head("PUT", target, token, fmt::format("Content-Length: {}\r\n", length));
    tasks.spawn("sending", send_held(client, std::move(text), length));
    tasks.spawn("reading", read_answer(client));
    return client;
  }

  HeadCheck head_check;
  async::TaskGroup tasks;
  std::optional<http::Server> served;
  std::uint16_t port = 0;
  std::vector<std::unique_ptr<Client>> clients;
};

constexpr std::size_t kLarge = 64 << 20;

TEST_F(HeadCheckTest, TwentyStrangersWhoHoldLargeBodiesCostNothing) {
  const std::size_t before = resident_bytes();
  std::size_t most = 0;
  for (int i = 0; i < 20; ++i) hold(i % 2 == 0 ? "" : "a-guess", "/v1/underway/cluster/demo", kLarge);
  run_until(world.loop, [&] {
    most = std::max(most, served->held_bytes());
    return std::all_of(clients.begin(), clients.end(), [](const auto& client) { return client->ended; });
  });
  EXPECT_EQ(most, 0U) << "nothing of a body was taken";
  EXPECT_LT(resident_bytes(), before + (32U << 20));
  for (const auto& client : clients) EXPECT_EQ(client->answer.substr(0, 12), "HTTP/1.1 403") << client->answer;
}

TEST_F(HeadCheckTest, BodiesOfThoseWithARightAreBoundedTogether) {
  make_token("boss", "");
  make_token("other", "");
  for (int i = 0; i < 20; ++i) hold("boss", "/v1/underway/cluster/demo", 20 << 20);
  const auto refused = [&] {
    return std::count_if(clients.begin(), clients.end(), [](const auto& client) { return client->ended; });
  };
  run_until(world.loop, [&] { return refused() >= 18; });
  EXPECT_LE(served->held_bytes(), 32U << 20) << "half of it, and the others keep the rest";
  for (const auto& client : clients) {
    if (!client->ended) continue;
    EXPECT_EQ(client->answer.substr(0, 12), "HTTP/1.1 503") << client->answer;
    EXPECT_NE(client->answer.find("Retry-After"), std::string::npos);
    EXPECT_NE(client->answer.find("no room for this request's body"), std::string::npos) << client->answer;
  }
  Client& other = hold("other", "/v1/underway/cluster/demo", 10 << 20);
  run_until(world.loop, [&] { return other.ended || other.sent + 1 == (10U << 20); });
  EXPECT_FALSE(other.ended) << "another caller is not kept out: " << other.answer;
}

TEST_F(HeadCheckTest, RoutesForStrangersHoldLittleOfTheirs) {
  for (int i = 0; i < 40; ++i) hold("", "/v1/acl/login", 128 << 10);
  std::size_t most = 0;
  run_until(world.loop, [&] {
    most = std::max(most, served->held_bytes());
    return std::count_if(clients.begin(), clients.end(), [](const auto& client) { return client->ended; }) >= 36;
  });
  EXPECT_LE(most, 512U << 10) << "one address has half of what is for strangers";
}

TEST_F(HeadCheckTest, ARefusalOfASmallBodyKeepsTheConnection) {
  make_token("user", "node { policy = \"read\" }");
  Client& client = connect();
  const std::string text = head("PUT", "/v1/jobs", "user", "Content-Length: 4\r\n") + "{}  " +
                           head("GET", "/v1/nodes", "user", "Connection: close\r\n");
  asio::write(client.socket, asio::buffer(text));
  tasks.spawn("reading", read_answer(client));
  run_until(world.loop, [&] { return client.ended; });
  EXPECT_EQ(client.answer.substr(0, 12), "HTTP/1.1 403") << client.answer;
  EXPECT_NE(client.answer.find("HTTP/1.1 200", 12), std::string::npos) << client.answer;
}

TEST_F(HeadCheckTest, WhoAsksFirstIsToldBeforeItSends) {
  make_token("user", "node { policy = \"read\" }");
  Client& client = connect();
  asio::write(client.socket,
              asio::buffer(head("PUT", "/v1/jobs", "user", "Content-Length: 1000000\r\nExpect: 100-continue\r\n")));
  tasks.spawn("reading", read_answer(client));
  run_until(world.loop, [&] { return client.ended; });
  EXPECT_EQ(client.answer.substr(0, 12), "HTTP/1.1 403") << client.answer;
}

TEST_F(HeadCheckTest, ABodyThatWasNotReadIsNeverServed) {
  make_token("boss", "");
  world.token = "boss";
  http::Request request = World::request("PUT", "/v1/system/gc");
  request.headers.set("X-Nomad-Token", "boss");
  request.headers.set(http::kUnreadBody, "1");
  EXPECT_EQ(world.loop.run_until_done(world.router.handle(std::move(request))).status, 503);
}

}  // namespace
}  // namespace underway::api::testing
