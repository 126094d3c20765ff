// What the API asks of nodes over their links: tasks, files, logs and sessions.
#include "api/testing/world.hpp"

#include <gtest/gtest.h>

namespace underway::api::testing {
namespace {

using async::awaitable;
using link::Channel;
using link::Stream;
using server::testing::run_until;

class NodeSideTest : public ::testing::Test {
 protected:
  NodeSideTest() : node(world.link(1)), tasks(world.loop.executor(), "test") {
    world.run(make_job("web"));
    run_until(world.loop, [&] { return !world.tables().allocations().empty(); });
    id = world.allocation_of("web");
  }
  ~NodeSideTest() override { world.loop.run_until_done(tasks.stop()); }

  /// The whole body, whichever way it comes.
  std::string body_of(http::Response response) {
    if (!response.stream) return response.body;
    struct Collect final : http::BodyWriter {
      std::string all;
      awaitable<void> write(std::string data) override {
        all += data;
        co_return;
      }
    } collect;
    world.loop.run_until_done(response.stream(collect));
    return collect.all;
  }

  World world;
  FakeNode& node;
  async::TaskGroup tasks;
  std::string id;
};

TEST_F(NodeSideTest, RestartsAndSignalsTasks) {
  std::vector<std::string> asked;
  for (const char* method : {"alloc.restart", "alloc.signal"}) {
    node.answers[method] = [&asked, method](const boost::json::value& body) {
      asked.push_back(method + (" " + boost::json::serialize(body)));
      return boost::json::value(boost::json::object{});
    };
  }
  EXPECT_EQ(world.put("/v1/client/allocation/" + id + "/restart", R"({"TaskName":"t"})").status, 200);
  EXPECT_EQ(world.put("/v1/client/allocation/" + id + "/restart", "").status, 200);
  EXPECT_EQ(world.put("/v1/client/allocation/" + id + "/signal", R"({"Task":"t","Signal":"SIGHUP"})").status, 200);
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_NE(asked[0].find(R"("task":"t")"), std::string::npos) << asked[0];
  EXPECT_NE(asked[1].find(R"("task":"")"), std::string::npos) << asked[1];
  EXPECT_NE(asked[2].find(R"("signal":"SIGHUP")"), std::string::npos) << asked[2];
}

TEST_F(NodeSideTest, PausesResumesAndKeepsVirtualMachines) {
  std::vector<std::string> asked;
  for (const char* method : {"alloc.pause", "alloc.resume", "alloc.checkpoint"}) {
    node.answers[method] = [&asked, method = std::string(method)](const boost::json::value& body) {
      asked.push_back(method + " " + std::string(body.at("id").as_string()) + " " +
                      std::string(body.at("task").as_string()));
      if (method != "alloc.checkpoint") return boost::json::value(boost::json::object{});
      return json::to_value(std::vector<protocol::TaskCheckpoint>{{"db", "c1", 300, 7}});
    };
  }
  const std::string path = "/v1/underway/allocation/" + id;
  EXPECT_EQ(world.put(path + "/pause", "").status, 200);
  EXPECT_EQ(world.put(path + "/resume", R"({"Task":"db"})").status, 200);
  const auto made = world.put(path + "/checkpoint", R"({"Task":"db"})");
  EXPECT_EQ(made.status, 200);
  EXPECT_EQ(made.body, R"([{"Task":"db","ID":"c1","Bytes":300,"At":7}])");
  EXPECT_EQ(asked, (std::vector<std::string>{"alloc.pause " + id + " ", "alloc.resume " + id + " db",
                                             "alloc.checkpoint " + id + " db"}));

  node.answers["alloc.pause"] = [](const boost::json::value&) -> boost::json::value {
    throw Error(Code::unsupported, "the task cannot be paused");
  };
  const auto refused = world.put(path + "/pause", "");
  EXPECT_EQ(refused.status, 501);
  EXPECT_EQ(refused.body, "the task cannot be paused");
}

TEST_F(NodeSideTest, HandsOnTheNodesRefusal) {
  node.answers["alloc.restart"] = [](const boost::json::value&) -> boost::json::value {
    throw Error(Code::not_found, "Could not find task 'x'");
  };
  const auto response = world.put("/v1/client/allocation/" + id + "/restart", R"({"TaskName":"x"})");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body, "Could not find task 'x'");
}

TEST_F(NodeSideTest, ListsFiles) {
  node.answers["fs.ls"] = [](const boost::json::value& body) {
    return boost::json::value(boost::json::array{boost::json::object{{"Name", body.at("path")}}});
  };
  EXPECT_EQ(world.read("/v1/client/fs/ls/" + id + "?path=/alloc").at(0).at("Name").as_string(), "/alloc");
}

TEST_F(NodeSideTest, StreamsLogsPlainOrInFrames) {
  node.streams["logs"] = [](boost::json::value header, std::shared_ptr<Stream> stream) -> awaitable<void> {
    co_await stream->write(std::string(header.at("type").as_string()) + " one\n");
    co_await stream->write("two\n");
    stream->end();
  };
  EXPECT_EQ(body_of(world.get("/v1/client/fs/logs/" + id + "?task=t&type=stderr&plain=true")), "stderr one\ntwo\n");
  const std::string framed = body_of(world.get("/v1/client/fs/logs/" + id + "?task=t&offset=5"));
  std::string bytes;
  for (std::size_t at = 0; at < framed.size();) {  // as many frames as pieces came, one object after the other
    const std::size_t end = framed.find('}', at) + 1;
    const auto frame = json::parse(framed.substr(at, end - at));
    EXPECT_EQ(frame.at("File").as_string(), "t.stdout");
    EXPECT_EQ(frame.at("Offset").as_int64(), 5 + static_cast<std::int64_t>(bytes.size()));
    bytes += base64_decode(std::string_view(frame.at("Data").as_string()));
    at = end;
  }
  EXPECT_EQ(bytes, "stdout one\ntwo\n");
}

TEST_F(NodeSideTest, AnswersARefusedStreamWithItsStatus) {
  node.streams["logs"] = [](boost::json::value, std::shared_ptr<Stream>) -> awaitable<void> {
    throw Error(Code::not_found, "task not found");
    co_return;
  };
  const auto response = world.get("/v1/client/fs/logs/" + id + "?task=nope&plain=true");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body, "task not found");
}

TEST_F(NodeSideTest, BeginsToFollowALogThatIsSilent) {
  bool go = false;
  node.streams["logs"] = [&](boost::json::value, std::shared_ptr<Stream> stream) -> awaitable<void> {
    while (!go) co_await async::sleep_for(std::chrono::milliseconds(5));
    co_await stream->write("late\n");
    stream->end();
  };
  const auto response = world.get("/v1/client/fs/logs/" + id + "?task=t&follow=true&plain=true");
  EXPECT_EQ(response.status, 200);
  go = true;
  EXPECT_EQ(body_of(response), "late\n");
}

TEST_F(NodeSideTest, ReadsAnEmptyFile) {
  node.streams["fs.cat"] = [](boost::json::value, std::shared_ptr<Stream> stream) -> awaitable<void> {
    stream->end();
    co_return;
  };
  const auto response = world.get("/v1/client/fs/cat/" + id + "?path=x");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(body_of(response), "");
}

/// A command that repeats its input on both outputs, and ends when that ends.
awaitable<void> repeat(boost::json::value header, std::shared_ptr<Stream> stream) {
  co_await stream->write(Channel::data, std::string(header.at("command").at(0).as_string()) + ":");
  while (auto chunk = co_await stream->read()) {
    if (chunk->channel == Channel::control) {
      co_await stream->write(Channel::data, chunk->bytes);
      continue;
    }
    co_await stream->write(Channel::data, "out " + chunk->bytes);
    co_await stream->write(Channel::error, "err " + chunk->bytes);
  }
  const boost::json::value exit = boost::json::object{{"ExitCode", 7}};
  co_await stream->write_control(exit);
  stream->end();
}

class ExecTest : public NodeSideTest {
 protected:
  void begin(const std::string& query = "task=t&command=[\"cat\"]") {
    begin_at("/v1/client/allocation/" + id + "/exec?" + query);
  }
  void begin_at(const std::string& path) {
    const auto response = world.get(path);
    ASSERT_TRUE(response.upgrade) << response.status << response.body;
    auto [ours, theirs] = link::FakeSocket::pair();
    socket = ours;
    upgrade = response.upgrade;
    tasks.spawn("session", upgrade(theirs));
  }
  void say(const std::string& text) { socket->try_write({text, true}); }
  /// Frames until the server closes; then why.
  std::vector<std::string> hear() {
    std::vector<std::string> frames;
    try {
      while (auto message = world.loop.run_until_done(socket->read())) frames.push_back(message->data);
    } catch (const Error& error) {
      frames.push_back(error.message());
    }
    return frames;
  }
  std::shared_ptr<link::FakeSocket> socket;
  std::function<awaitable<void>(std::shared_ptr<http::WebSocket>)> upgrade;
};

TEST_F(ExecTest, CarriesInputOutputAndTheExitCode) {
  node.streams["exec"] = repeat;
  begin();
  say(R"({"stdin":{"data":")" + base64_encode("hello") + R"("}})");
  say(R"({"stdin":{"close":true}})");
  const auto frames = hear();
  EXPECT_EQ(frames, (std::vector<std::string>{R"({"stdout":{"data":")" + base64_encode("cat:") + R"("}})",
                                              R"({"stdout":{"data":")" + base64_encode("out hello") + R"("}})",
                                              R"({"stderr":{"data":")" + base64_encode("err hello") + R"("}})",
                                              R"({"exited":true,"result":{"exit_code":7}})"}));
}

TEST_F(ExecTest, PassesTheWindowsSizeOn) {
  node.streams["exec"] = repeat;
  begin();
  say(R"({"tty_size":{"height":50,"width":132}})");
  say(R"({"stdin":{"close":true}})");
  const auto frames = hear();
  ASSERT_GE(frames.size(), 2u);
  EXPECT_NE(frames[1].find(base64_encode(R"({"Width":132,"Height":50})")), std::string::npos) << frames[1];
}

TEST_F(ExecTest, OfATerminalGoesOnWhenStandardInputEnds) {
  node.streams["exec"] = repeat;
  begin("task=t&tty=true&command=[\"cat\"]");
  say(R"({"stdin":{"close":true}})");
  say(R"({"tty_size":{"height":50,"width":132}})");
  // The command goes on, so that only its first words are listened to.
  world.loop.run_until_done(socket->read());
  const auto size = world.loop.run_until_done(socket->read());
  ASSERT_TRUE(size);
  EXPECT_NE(size->data.find(base64_encode(R"({"Width":132,"Height":50})")), std::string::npos) << size->data;
  world.loop.run_until_done(socket->close(http::CloseCode::normal, ""));
}

TEST_F(ExecTest, TakesNothingMoreAfterTheEndOfInput) {
  node.streams["exec"] = repeat;
  begin();
  say(R"({"stdin":{"data":")" + base64_encode("hello") + R"("}})");
  say(R"({"stdin":{"close":true}})");
  say(R"({"tty_size":{"height":50,"width":132}})");
  EXPECT_EQ(hear().back(), R"({"exited":true,"result":{"exit_code":7}})");
}

TEST_F(ExecTest, TellsWhyTheNodeRefused) {
  node.streams["exec"] = [](boost::json::value, std::shared_ptr<Stream>) -> awaitable<void> {
    throw Error(Code::not_found, "command 'nope' does not exist");
    co_return;
  };
  begin();
  const auto frames = hear();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0], R"({"stderr":{"data":")" + base64_encode("command 'nope' does not exist\n") + R"("}})");
}

TEST_F(ExecTest, OfAConsoleIsBytesBothWaysAndGoesOnWhenStandardInputEnds) {
  protocol::ExecRequest asked;
  node.streams["console"] = [&](boost::json::value header, std::shared_ptr<Stream> stream) -> awaitable<void> {
    asked = json::decode<protocol::ExecRequest>(header);
    while (auto chunk = co_await stream->read()) co_await stream->write(Channel::data, "echo " + chunk->bytes);
  };
  begin_at("/v1/underway/allocation/" + id + "/console");
  say(R"({"stdin":{"close":true}})");
  say(R"({"stdin":{"data":")" + base64_encode("root") + R"("}})");
  const auto answer = world.loop.run_until_done(socket->read());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->data, R"({"stdout":{"data":")" + base64_encode("echo root") + R"("}})");
  EXPECT_EQ(asked.alloc, id);
  EXPECT_EQ(asked.task, "t") << "the only one";
  world.loop.run_until_done(socket->close(http::CloseCode::normal, ""));
  EXPECT_EQ(world.get("/v1/underway/allocation/" + uuid(9) + "/console").status, 404);
}

TEST_F(ExecTest, EndsTheCommandWhenItsClientVanishes) {
  bool ended = false;
  node.streams["exec"] = [&](boost::json::value, std::shared_ptr<Stream> stream) -> awaitable<void> {
    try {
      while (co_await stream->read()) {
      }
    } catch (const Error&) {
      ended = true;
      throw;
    }
  };
  begin();
  say("{}");
  socket->abort();
  run_until(world.loop, [&] { return ended; });
}

TEST_F(ExecTest, EndsASessionThatSpeaksNonsense) {
  bool ended = false;
  node.streams["exec"] = [&](boost::json::value, std::shared_ptr<Stream> stream) -> awaitable<void> {
    try {
      while (co_await stream->read()) {
      }
    } catch (const Error& error) {
      ended = error.code() == Code::invalid;
      throw;
    }
  };
  begin();
  say("}{");
  run_until(world.loop, [&] { return ended; });
}

}  // namespace
}  // namespace underway::api::testing
