#include "link/relay.hpp"

#include <sys/socket.h>

#include "base/random.hpp"
#include "link/testing/socket_pair.hpp"

namespace underway::link {
namespace {

/// A stream of a link whose ends are both here, and at each end a socket pair that it is relayed to: client() is the
/// outer end of the pair at the side that opened it, server() that of the other one.
class RelayTest : public testing::Test {
 protected:
  RelayTest() : tasks_(loop_.executor(), "test") {
    std::tie(socket_, other_socket_) = FakeSocket::pair();
    Handlers handlers;
    handlers.stream = [this](std::string method, boost::json::value, std::shared_ptr<Stream> stream) {
      return serve(std::move(method), std::move(stream));
    };
    there_ = Connection::make(loop_.executor(), other_socket_, Side::acceptor, std::move(handlers));
    here_ = Connection::make(loop_.executor(), socket_, Side::dialler, {});
    for (const auto& link : {here_, there_}) tasks_.spawn("link", run(link));
    std::tie(client_, near_) = pair();
    std::tie(server_, far_) = pair();
  }
  ~RelayTest() override {
    here_->abort();
    loop_.run_until_done(tasks_.wait());
    here_.reset();
    there_.reset();
    loop_.context().restart();
    loop_.context().poll();
  }

  std::pair<std::shared_ptr<Socket>, std::shared_ptr<Socket>> pair() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    return {unix_socket(loop_.executor(), ends[0]), unix_socket(loop_.executor(), ends[1])};
  }
  static awaitable<void> run(std::shared_ptr<Connection> link) {
    try {
      co_await link->run();
    } catch (const Error&) {  // the test is over
    }
  }
  awaitable<void> serve(std::string method, std::shared_ptr<Stream> stream) {
    if (method == "refuse") throw Error(Code::denied, "not for you");
    far_end_ = co_await relay(std::move(stream), far_);
    far_->close();
  }
  /// Begins to relay. `near_end_` is there when it is over.
  void begin(const std::string& method = "relay") { tasks_.spawn("near", relay_near(method)); }
  awaitable<void> relay_near(std::string method) {
    const auto stream = co_await here_->open(std::move(method), {});
    near_end_ = co_await relay(stream, near_);
    near_->close();
  }

  template <class Condition>
  void until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) throw Error(Code::timeout, "the condition never came to hold");
      loop_.context().restart();
      loop_.context().run_one_for(std::chrono::milliseconds(20));
    }
  }
  /// Writes all of it while the other end is read.
  static awaitable<void> write(std::shared_ptr<Socket> to, std::string bytes) {
    std::string_view rest = bytes;
    while (!rest.empty()) {
      const auto sent = ::send(to->native_handle(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0)
        rest.remove_prefix(static_cast<std::size_t>(sent));
      else
        co_await to->async_wait(Socket::wait_write, asio::use_awaitable);
    }
    ::shutdown(to->native_handle(), SHUT_WR);
  }
  /// What is there; `ended` when there will be no more.
  static std::string read(Socket& from, bool* ended = nullptr) {
    std::string all(1 << 20, '\0');
    const auto got = ::recv(from.native_handle(), all.data(), all.size(), MSG_DONTWAIT);
    if (ended != nullptr && got == 0) *ended = true;
    all.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return all;
  }
  std::string read_to_end(Socket& from) {
    std::string all;
    bool ended = false;
    until([&] {
      all += read(from, &ended);
      return ended;
    });
    return all;
  }

  async::Loop loop_;
  async::TaskGroup tasks_;
  std::shared_ptr<FakeSocket> socket_, other_socket_;
  std::shared_ptr<Connection> here_, there_;
  std::shared_ptr<Socket> client_, near_, server_, far_;
  std::optional<Relayed> near_end_, far_end_;
};

TEST_F(RelayTest, CarriesBothDirectionsUnchangedAndEndsEachInItsTime) {
  const std::string question = "a question" + std::string("\0\r\n", 3), answer = random_bytes(1 << 20);
  begin();
  tasks_.spawn("question", write(client_, question));
  EXPECT_EQ(read_to_end(*server_), question) << "the end of one direction is passed on";
  EXPECT_FALSE(near_end_) << "and the other one goes on";
  tasks_.spawn("answer", write(server_, answer));
  EXPECT_EQ(read_to_end(*client_), answer);
  until([&] { return near_end_ && far_end_; });
  EXPECT_TRUE(near_end_->delivered);
  EXPECT_FALSE(near_end_->broken_off);
  EXPECT_FALSE(far_end_->broken_off);
}

TEST_F(RelayTest, HoldsBackWhoWritesMoreThanIsRead) {
  begin();
  constexpr std::size_t kMuch = 64U << 20;
  std::size_t written = 0;
  // Whatever the sockets and the window hold, it is far from all of it.
  for (int quiet = 0; quiet < 50; ++quiet) {
    const std::string piece(64 << 10, 'x');
    while (written < kMuch) {
      const auto sent = ::send(server_->native_handle(), piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0) break;
      written += static_cast<std::size_t>(sent);
      quiet = 0;
    }
    loop_.context().restart();
    loop_.context().run_one_for(std::chrono::milliseconds(2));
  }
  EXPECT_LT(written, 4U << 20) << "it was buffered without a bound";
  ::shutdown(server_->native_handle(), SHUT_WR);
  EXPECT_EQ(read_to_end(*client_).size(), written);
}

TEST_F(RelayTest, TellsWhyNothingCame) {
  begin("refuse");
  until([&] { return near_end_.has_value(); });
  EXPECT_FALSE(near_end_->delivered);
  ASSERT_TRUE(near_end_->broken_off);
  EXPECT_EQ(near_end_->broken_off->code(), Code::denied);
}

TEST_F(RelayTest, EndsWithTheLink) {
  begin();
  ::send(client_->native_handle(), "x", 1, MSG_NOSIGNAL);
  until([&] { return read(*server_) == "x"; });
  here_->abort();
  until([&] { return near_end_.has_value(); });
  ASSERT_TRUE(near_end_->broken_off);
  EXPECT_EQ(near_end_->broken_off->code(), Code::unavailable);
  bool ended = false;
  until([&] {
    read(*client_, &ended);
    return ended;
  });
}

TEST_F(RelayTest, DeliversTheAnswerOfAServerThatHangsUpOnAClientThatStillSends) {
  begin();
  const std::string answer(100'000, 'a');
  tasks_.spawn("answer", write(server_, answer));
  ::send(client_->native_handle(), "too much", 8, MSG_NOSIGNAL);
  until([&] { return read(*server_) == "too much"; });
  server_->close();
  EXPECT_EQ(read_to_end(*client_), answer);
}

TEST_F(RelayTest, TellsTheServerWhenTheClientIsGone) {
  begin();
  ::send(client_->native_handle(), "follow", 6, MSG_NOSIGNAL);
  until([&] { return read(*server_) == "follow"; });
  client_->close();
  EXPECT_EQ(read_to_end(*server_), "");
  server_->close();
  until([&] { return near_end_ && far_end_; });
}

}  // namespace
}  // namespace underway::link
