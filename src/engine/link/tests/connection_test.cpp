#include "link/connection.hpp"

#include "link/testing/socket_pair.hpp"

namespace underway::link {
namespace {

/// Both ends of a link on one loop, and what they were told.
class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() : tasks_(loop_.executor(), "test") {}

  void join(Handlers here, Handlers there, ConnectionOptions options = {}) {
    std::tie(socket_, other_socket_) = FakeSocket::pair();
    here_ = Connection::make(loop_.executor(), socket_, Side::dialler, std::move(here), options);
    there_ = Connection::make(loop_.executor(), other_socket_, Side::acceptor, std::move(there), options);
    tasks_.spawn("here", run(here_));
    tasks_.spawn("there", run(there_));
  }
  void TearDown() override { loop_.run_until_done(finish()); }

  awaitable<void> run(std::shared_ptr<Connection> connection) {
    try {
      co_await connection->run();
    } catch (const Error& error) {
      ended_.push_back(error.one_line());
    }
  }
  awaitable<void> finish() {
    if (here_) here_->abort();
    co_await tasks_.wait();
    here_.reset();
    there_.reset();
  }

  async::Loop loop_;
  async::TaskGroup tasks_;
  std::shared_ptr<FakeSocket> socket_, other_socket_;
  std::shared_ptr<Connection> here_, there_;
  std::vector<std::string> ended_;
};

Handlers echo() {
  Handlers handlers;
  handlers.call = [](std::string method, boost::json::value body) -> awaitable<boost::json::value> {
    if (method == "fail") throw Error(Code::conflict, "no").because("because");
    if (method == "slow") co_await async::sleep_for(std::chrono::seconds(60));
    co_return body;
  };
  handlers.stream = [](std::string, boost::json::value, std::shared_ptr<Stream> stream) -> awaitable<void> {
    while (auto chunk = co_await stream->read()) co_await stream->write(chunk->channel, chunk->bytes);
  };
  return handlers;
}

TEST_F(ConnectionTest, AnswersCallsOfBothSides) {
  join(echo(), echo());
  EXPECT_EQ(loop_.run_until_done(here_->call("x", 1)).as_int64(), 1);
  EXPECT_EQ(loop_.run_until_done(there_->call("x", "y")).as_string(), "y");
}

TEST_F(ConnectionTest, HandsOnThePeersError) {
  join({}, echo());
  try {
    loop_.run_until_done(here_->call("fail", nullptr));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::conflict);
    EXPECT_EQ(error.one_line(), "no: because");
  }
}

TEST_F(ConnectionTest, SaysWhatIsNotAnswered) {
  join({}, {});
  EXPECT_THROW(loop_.run_until_done(here_->call("x", nullptr)), Error);
}

TEST_F(ConnectionTest, GivesUpACallAtItsDeadline) {
  join({}, echo());
  try {
    loop_.run_until_done(here_->call("slow", nullptr, std::chrono::milliseconds(5)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::timeout);
  }
}

TEST_F(ConnectionTest, FailsWaitingCallsWhenTheLinkBreaks) {
  join({}, echo());
  const auto work = [&]() -> awaitable<Code> {
    asio::post(loop_.executor(), [this] { socket_->abort(); });
    try {
      co_await here_->call("slow", nullptr);
    } catch (const Error& error) {
      co_return error.code();
    }
    co_return Code::internal;
  };
  EXPECT_EQ(loop_.run_until_done(work()), Code::unavailable);
}

TEST_F(ConnectionTest, KeepsTheOrderOfNotifications) {
  std::vector<std::int64_t> seen;
  Handlers there;
  there.notify = [&](std::string, boost::json::value body) { seen.push_back(body.as_int64()); };
  there.call = echo().call;
  join({}, there);
  const auto work = [&]() -> awaitable<void> {
    for (int i = 0; i < 100; ++i) co_await here_->notify("n", i);
    co_await here_->call("flush", nullptr);
  };
  loop_.run_until_done(work());
  ASSERT_EQ(seen.size(), 100u);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST_F(ConnectionTest, CarriesMoreThanAWindowBothWaysAtOnce) {
  join({}, echo(), {.window = 4096});
  const std::string sent(100'000, 'x');
  std::string received;
  const auto work = [&]() -> awaitable<void> {
    const auto stream = co_await here_->open("echo", {});
    const auto send = [](std::shared_ptr<Stream> s, std::string bytes) -> awaitable<void> {
      co_await s->write(bytes);
      s->end();
    };
    tasks_.spawn("send", send(stream, sent));
    while (auto chunk = co_await stream->read()) received += chunk->bytes;
  };
  loop_.run_until_done(work());
  EXPECT_EQ(received, sent);
}

TEST_F(ConnectionTest, AStreamThatNobodyReadsHoldsUpNothingElse) {
  Handlers there = echo();
  there.stream = [](std::string, boost::json::value, std::shared_ptr<Stream>) -> awaitable<void> {
    co_await async::sleep_for(std::chrono::seconds(60));
  };
  join({}, there, {.window = 4096});
  bool written = false;
  const auto work = [&]() -> awaitable<void> {
    const auto stream = co_await here_->open("deaf", {});
    const auto flood = [](std::shared_ptr<Stream> s, bool& done) -> awaitable<void> {
      try {
        co_await s->write(std::string(1'000'000, 'x'));
        done = true;
      } catch (const Error&) {  // the link ends with the test
      }
    };
    tasks_.spawn("flood", flood(stream, written));
    for (int i = 0; i < 10; ++i) co_await here_->call("x", i);
  };
  loop_.run_until_done(work());
  EXPECT_FALSE(written);
}

TEST_F(ConnectionTest, AHandlersErrorResetsItsStream) {
  Handlers there;
  there.stream = [](std::string, boost::json::value, std::shared_ptr<Stream>) -> awaitable<void> {
    throw Error(Code::not_found, "no such task");
    co_return;
  };
  join({}, there);
  const auto work = [&]() -> awaitable<std::string> {
    const auto stream = co_await here_->open("logs", {});
    try {
      co_await stream->read();
    } catch (const Error& error) {
      co_return error.message();
    }
    co_return "";
  };
  EXPECT_EQ(loop_.run_until_done(work()), "no such task");
}

TEST_F(ConnectionTest, TellsThePeerOfAnAbandonedStream) {
  std::string seen;
  async::Event ended;
  Handlers there;
  there.stream = [&](std::string, boost::json::value, std::shared_ptr<Stream> stream) -> awaitable<void> {
    try {
      while (co_await stream->read()) {
      }
    } catch (const Error& error) {
      seen = error.message();
    }
    ended.notify_all();
  };
  join({}, there);
  const auto work = [&]() -> awaitable<void> {
    {
      const auto stream = co_await here_->open("logs", {});
    }
    while (seen.empty()) co_await ended.wait();
  };
  loop_.run_until_done(work());
  EXPECT_EQ(seen, "the stream was abandoned");
}

TEST_F(ConnectionTest, TellsThePeerThatHasItsEndAlreadyOfABreak) {
  bool ended = false, told = false;
  async::Event changed;
  Handlers there;
  there.stream = [&](std::string, boost::json::value, std::shared_ptr<Stream> stream) -> awaitable<void> {
    while (co_await stream->read()) {
    }
    ended = true;
    changed.notify_all();
    co_await stream->broken_off();
    told = true;
    changed.notify_all();
  };
  join({}, there);
  const auto work = [&]() -> awaitable<void> {
    const auto stream = co_await here_->open("exec", {});
    stream->end();
    while (!ended) co_await changed.wait();
    stream->reset(Error(Code::unavailable, "the client has gone"));
    while (!told) co_await changed.wait();
  };
  loop_.run_until_done(work());
  EXPECT_TRUE(told);
}

TEST_F(ConnectionTest, HangsUpOnAPeerThatBreaksTheRules) {
  using namespace std::string_literals;
  struct Case {
    const char* name;
    std::vector<http::Message> sent;
  };
  const http::Message open{encode(Open{1, "echo", {}}).data, true};
  const http::Message much{encode(Data{1, Channel::data, std::string(300'000, 'x')}).data, false};
  const std::vector<Case> cases = {
      {"no JSON", {{"not json", true}}},
      {"JSON that is too deep", {{std::string(100'000, '['), true}}},
      {"no object", {{"[1]", true}}},
      {"a call without a number", {{R"({"Call":-1,"Method":"echo"})", true}}},
      {"a call whose number is a text", {{R"({"Call":"1","Method":"echo"})", true}}},
      {"a call without a method", {{R"({"Call":1})", true}}},
      {"a stream beyond 32 bits", {{R"({"Open":4294967297,"Method":"echo"})", true}}},
      {"a stream of our numbers", {{R"({"Open":2,"Method":"echo"})", true}}},
      {"a stream twice", {open, open}},
      {"a frame that is too short", {{"\0\0\0"s, false}}},
      {"a frame of no kind", {{"\0\0\0\1\x63"s, false}}},
      {"data of no channel", {{"\0\0\0\1\1\x09 x"s, false}}},
      {"data beyond the window", {{R"({"Open":1,"Method":"deaf"})", true}, much, much, much}},
      {"an acknowledgement of what was not sent", {open, {"\0\0\0\1\2\xff\xff\xff\xff"s, false}}},
      {"an acknowledgement without a count", {open, {"\0\0\0\1\2\1"s, false}}},
      {"a reset without an error", {open, {"\0\0\0\1\4{}"s, false}}}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    ended_.clear();
    Handlers handlers = echo();
    auto serve_echo = handlers.stream;
    handlers.stream = [serve_echo](std::string method, boost::json::value header,
                                   std::shared_ptr<Stream> stream) -> awaitable<void> {
      if (method == "deaf") co_await async::sleep_for(std::chrono::hours(1));
      co_await serve_echo(std::move(method), std::move(header), std::move(stream));
    };
    join({}, handlers);
    for (const auto& message : c.sent) socket_->try_write(message);
    const auto work = [&]() -> awaitable<void> {
      while (ended_.empty()) co_await async::sleep_for(std::chrono::milliseconds(1));
    };
    loop_.run_until_done(async::within(std::chrono::seconds(10), "hanging up", work()));
    EXPECT_FALSE(there_->is_open());
    loop_.run_until_done(finish());
  }
}

}  // namespace
}  // namespace underway::link
