#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>

#include "http/client.hpp"
#include "http/server.hpp"
#include "link/dialler.hpp"
#include "link/frame.hpp"

namespace underway::link {
namespace {

using namespace std::chrono_literals;

awaitable<boost::json::value> answer(std::string method, boost::json::value body) {
  if (method == "wait") co_await async::sleep_for(1h);
  if (method == "large") co_return boost::json::string(3'000'000, 'y');
  if (method == "break") throw std::runtime_error("a fault of ours");
  co_return body;
}
awaitable<void> serve_stream(std::string method, boost::json::value, std::shared_ptr<Stream> stream) {
  if (method == "deaf") co_await async::sleep_for(1h);
  if (method == "tail") {
    for (int i = 0; i < 100; ++i) co_await stream->write(fmt::format("line {}\n", i));
    co_return;
  }
  while (auto chunk = co_await stream->read()) co_await stream->write(chunk->channel, std::move(chunk->bytes));
}
Handlers echo_over_loopback() { return {.call = answer, .notify = {}, .stream = serve_stream}; }

/// A server that accepts links on a unix socket, and can go away and come back.
class Hub {
 public:
  Hub(async::Loop& loop, std::string path, ConnectionOptions options = {}) : loop_(loop), path_(std::move(path)) {
    options_ = options;
    router_.add("GET", "/v1/underway/link", "link", [this](http::Request) { return accept(); });
    start();
  }
  ~Hub() {
    if (server_) stop();
  }
  void start() {
    server_ = std::make_unique<http::Server>(loop_.executor(), router_);
    server_->listen(http::Endpoint{.socket_path = path_});
  }
  void stop() {
    latest.reset();
    loop_.run_until_done(server_->stop(0s));
    server_.reset();
  }

  std::shared_ptr<Connection> latest;
  int accepted = 0;
  bool drop_at_once = false;
  async::Event changed;

 private:
  awaitable<http::Response> accept() {
    http::Response response;
    response.upgrade = [this](std::shared_ptr<http::WebSocket> socket) { return serve(std::move(socket)); };
    co_return response;
  }
  awaitable<void> serve(std::shared_ptr<http::WebSocket> socket) {
    ++accepted;
    latest = Connection::make(loop_.executor(), std::move(socket), Side::acceptor, echo_over_loopback(), options_);
    const auto connection = latest;
    changed.notify_all();
    if (drop_at_once) connection->abort();
    co_await connection->run();
  }

  async::Loop& loop_;
  std::string path_;
  ConnectionOptions options_;
  http::Router router_;
  std::unique_ptr<http::Server> server_;
};

class LoopbackTest : public testing::Test {
 protected:
  LoopbackTest() {
    std::string pattern = "/tmp/underway-link-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~LoopbackTest() override {
    here_.reset();
    loop_.run_until_done(tasks_.stop());
    hub_.reset();
    std::filesystem::remove_all(directory_);
  }

  std::string path() const { return directory_ + "/link.sock"; }
  void start(ConnectionOptions options = {}) { hub_ = std::make_unique<Hub>(loop_, path(), options); }
  DiallerOptions options() const {
    DiallerOptions chosen;
    chosen.servers = {"unix://" + path()};
    chosen.retry = {.first = 1ms, .most = 5ms};
    return chosen;
  }
  void dial(DiallerOptions chosen) {
    dialler_ = std::make_unique<Dialler>(loop_.executor(), std::move(chosen), echo_over_loopback,
                                         [this](std::shared_ptr<Connection> link) { return linked(std::move(link)); });
    tasks_.spawn("dialler", dialler_->run());
  }
  awaitable<void> linked(std::shared_ptr<Connection> link) {
    here_ = link;
    ++links_;
    changed_.notify_all();
    co_await async::sleep_for(1h);
  }
  awaitable<void> links(int wanted) {
    while (links_ < wanted) co_await changed_.wait();
  }
  template <class T>
  T run(awaitable<T> task) {
    return loop_.run_until_done(async::within(20s, "the test", std::move(task)));
  }
  void start_and_dial(ConnectionOptions chosen = {}) {
    start(chosen);
    auto dialled = options();
    dialled.connection = chosen;
    dial(std::move(dialled));
    run(links(1));
  }

  async::Loop loop_;
  std::string directory_;
  async::Event changed_;
  int links_ = 0;
  std::unique_ptr<Hub> hub_;
  std::unique_ptr<Dialler> dialler_;
  std::shared_ptr<Connection> here_;
  async::TaskGroup tasks_{loop_.executor(), "test"};
};

TEST_F(LoopbackTest, CallsGoBothWays) {
  start_and_dial();
  EXPECT_TRUE(dialler_->connected());
  EXPECT_EQ(run(here_->call("echo", "up")), boost::json::value("up"));
  EXPECT_EQ(run(hub_->latest->call("echo", "down")), boost::json::value("down"));
}

awaitable<std::string> echo_through(std::shared_ptr<Connection> link, std::string data) {
  const auto stream = co_await link->open("echo", nullptr);
  async::TaskGroup writing(co_await asio::this_coro::executor, "writer");
  const auto write = [](std::shared_ptr<Stream> to, std::string bytes) -> awaitable<void> {
    co_await to->write(std::move(bytes));
    to->end();
  };
  writing.spawn("write", write(stream, std::move(data)));
  std::string back;
  while (auto chunk = co_await stream->read()) back += chunk->bytes;
  co_return back;
}
awaitable<void> check_echo(std::shared_ptr<Connection> link, std::string data, int& intact) {
  const std::string back = co_await echo_through(std::move(link), data);
  if (back == data) ++intact;
}

TEST_F(LoopbackTest, StreamsRunSideBySide) {
  start_and_dial({.window = 16 << 10});
  int intact = 0;
  async::TaskGroup streams(loop_.executor(), "streams");
  for (int i = 0; i < 50; ++i) {
    const auto& link = i % 2 == 0 ? here_ : hub_->latest;
    streams.spawn("stream", check_echo(link, std::string(200'000, static_cast<char>('a' + i % 26)), intact));
  }
  run(streams.wait());
  EXPECT_EQ(intact, 50);
}

awaitable<void> flood(std::shared_ptr<Connection> link, std::size_t& written) {
  const auto stream = co_await link->open("deaf", nullptr);
  while (true) {
    co_await stream->write(std::string(10'000, 'x'));
    written += 10'000;
  }
}

TEST_F(LoopbackTest, AStreamThatNobodyReadsHoldsUpNeitherCallsNorOtherStreams) {
  start_and_dial();
  std::size_t written = 0;
  tasks_.spawn("flood", flood(here_, written));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(run(here_->call("echo", i)), boost::json::value(i));
  EXPECT_EQ(run(echo_through(here_, std::string(1'000'000, 'z'))).size(), 1'000'000u);
  EXPECT_LE(written, 2u * ConnectionOptions{}.window);
}

awaitable<std::string> read_all(std::shared_ptr<Connection> link, std::string method) {
  const auto stream = co_await link->open(std::move(method), nullptr);
  // Everything of the peer is here before the first read.
  co_await link->call("echo", nullptr);
  std::string all;
  while (auto chunk = co_await stream->read()) all += chunk->bytes;
  co_return all;
}

TEST_F(LoopbackTest, AStreamIsReadToItsEndAfterThePeerHasLeft) {
  start_and_dial();
  const std::string all = run(read_all(here_, "tail"));
  EXPECT_TRUE(all.starts_with("line 0\n"));
  EXPECT_TRUE(all.ends_with("line 99\n"));
}

template <class T>
Code code_of(LoopbackTest&, T&& attempt) {
  try {
    attempt();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return Code::internal;
}

TEST_F(LoopbackTest, ALargeMessageIsRefusedWhereItIsSent) {
  start_and_dial({.message_limit = 1'000'000});
  EXPECT_EQ(code_of(*this, [&] { run(here_->call("echo", boost::json::string(2'000'000, 'x'))); }), Code::too_large);
  EXPECT_EQ(code_of(*this, [&] { run(here_->call("large", nullptr)); }), Code::too_large);
  EXPECT_EQ(run(here_->call("echo", 1)), boost::json::value(1)) << "the link did not survive";
  EXPECT_EQ(links_, 1);
}

TEST_F(LoopbackTest, AFaultOfAHandlerIsAnsweredAndLogged) {
  start_and_dial();
  testing::internal::CaptureStderr();
  EXPECT_EQ(code_of(*this, [&] { run(here_->call("break", nullptr)); }), Code::internal);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("a fault of ours"));
  EXPECT_EQ(run(here_->call("echo", 1)), boost::json::value(1));
}

/// Asks for as much as there is to be had; true when it was hung up on.
awaitable<bool> ask_and_never_read(std::shared_ptr<http::WebSocket> socket, int calls) {
  const std::string body(60'000, 'x');
  try {
    for (int i = 0; i < calls; ++i) {
      const auto call = encode(Call{static_cast<std::uint64_t>(i), "echo", boost::json::value(body)});
      http::Message message{call.data, true};
      co_await socket->write(std::move(message));
    }
  } catch (const Error&) {
    co_return true;
  }
  co_return false;
}

TEST_F(LoopbackTest, APeerThatAsksAndNeverReadsIsHungUpOn) {
  start();
  http::Endpoint endpoint;
  endpoint.socket_path = path();
  http::Client client(loop_.executor(), http::Url{.endpoint = endpoint});
  const auto socket = run(client.dial(http::request("GET", "/v1/underway/link")));
  EXPECT_TRUE(run(ask_and_never_read(socket, 5000))) << "300 MB of answers would wait for it";
}

TEST_F(LoopbackTest, DialsAgainWhenTheServerComesBack) {
  start_and_dial();
  testing::internal::CaptureStderr();
  hub_->stop();
  run([](Dialler& dialler) -> awaitable<void> {
    while (dialler.connected()) co_await async::sleep_for(1ms);
  }(*dialler_));
  hub_->start();
  run(links(2));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("dialling again"));
  EXPECT_EQ(run(here_->call("echo", "again")), boost::json::value("again"));
}

TEST_F(LoopbackTest, AWaitingCallFailsWhenThePeerVanishes) {
  start_and_dial();
  testing::internal::CaptureStderr();
  const auto vanish = [](Hub& hub) -> awaitable<void> {
    co_await async::sleep_for(2ms);
    hub.latest->abort();
  };
  tasks_.spawn("vanish", vanish(*hub_));
  EXPECT_EQ(code_of(*this, [&] { run(here_->call("wait", nullptr)); }), Code::unavailable);
  run(links(2));
  testing::internal::GetCapturedStderr();
}

TEST_F(LoopbackTest, AServerThatIsSilentIsGivenUp) {
  // It completes the handshake and then neither reads nor writes: a hung process.
  http::Router router;
  int accepted = 0;
  router.add("GET", "/v1/underway/link", "link", [&accepted](http::Request) {
    return [](int& count) -> awaitable<http::Response> {
      http::Response response;
      response.upgrade = [&count](std::shared_ptr<http::WebSocket>) {
        ++count;
        return async::sleep_for(1h);
      };
      co_return response;
    }(accepted);
  });
  http::Server hung(loop_.executor(), router, {.websocket = {.ping_every = 0s}});
  hung.listen(http::Endpoint{.socket_path = path()});
  testing::internal::CaptureStderr();
  auto chosen = options();
  chosen.ping_every = 5ms;
  chosen.dead_after = 20ms;
  dial(chosen);
  run(links(2));
  EXPECT_GE(accepted, 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("silent"));
  here_.reset();
  run(tasks_.stop());
  run(hung.stop(0s));
}

TEST_F(LoopbackTest, TheNextServerIsTriedWhenOneCannotBeReached) {
  start();
  auto chosen = options();
  chosen.servers.insert(chosen.servers.begin(), "unix:///nonexistent/underway.sock");
  testing::internal::CaptureStderr();
  dial(chosen);
  run(links(1));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("/nonexistent/underway.sock"));
  EXPECT_EQ(run(here_->call("echo", 1)), boost::json::value(1));
}

TEST_F(LoopbackTest, AServerThatDropsLinksAtOnceIsSpared) {
  start();
  hub_->drop_at_once = true;
  testing::internal::CaptureStderr();
  auto chosen = options();
  chosen.retry = {.first = 1ms, .most = 1h, .factor = 1000, .jitter = 0};
  dial(chosen);
  const auto dials = [](Hub& hub, int wanted) -> awaitable<void> {
    while (hub.accepted < wanted) co_await hub.changed.wait();
  };
  run(dials(*hub_, 2));
  // The pauses are 1 ms, then 1 s: a third dial within 50 ms means that the back-off was forgotten.
  EXPECT_THROW(loop_.run_until_done(async::within(50ms, "a third dial", dials(*hub_, 3))), Error);
  testing::internal::GetCapturedStderr();
}

TEST_F(LoopbackTest, AnEmptyListOfServersIsRefused) {
  EXPECT_THROW(Dialler(loop_.executor(), {}, echo_over_loopback, {}), Error);
  DiallerOptions bad;
  bad.servers = {"ftp://nowhere"};
  EXPECT_THROW(Dialler(loop_.executor(), bad, echo_over_loopback, {}), Error);
}

}  // namespace
}  // namespace underway::link
