#include "server/extension.hpp"

#include "server/testing/desk.hpp"
#include "server/testing/fake_node.hpp"

namespace underway::server::testing {
namespace {

using async::awaitable;

class ExtensionTest : public ::testing::Test {
 protected:
  ExtensionTest() {
    Extension extension;
    extension.call = [](std::string node_id, std::string method,
                        boost::json::value body) -> awaitable<boost::json::value> {
      if (method == "files.none") throw Error(Code::not_found, "there is no such file");
      co_return boost::json::object{{"Node", node_id}, {"Method", method}, {"Body", body}};
    };
    extension.stream = [](std::string, std::string, boost::json::value header,
                          std::shared_ptr<link::Stream> stream) -> awaitable<void> {
      std::string greeting = "hello " + std::string(header.as_string());
      co_await stream->write(std::move(greeting));
      stream->end();
    };
    server.add_extension("files.", std::move(extension));
    server.start();
    node.emplace(loop.executor(), server, make_node(1));
  }
  ~ExtensionTest() override {
    loop.run_until_done(node->stop());
    loop.run_until_done(server.stop());
    loop.context().restart();
    loop.context().poll();
  }
  boost::json::value call(std::string method, boost::json::value body) {
    return loop.run_until_done(node->connection->call(std::move(method), std::move(body)));
  }
  awaitable<std::string> greeting() {
    const boost::json::value header = "node";
    const auto stream = co_await node->connection->open("files.greet", header);
    std::string text;
    while (auto chunk = co_await stream->read()) text += chunk->bytes;
    co_return text;
  }

  async::Loop loop;
  store::MemoryStore store;
  SystemClock clock;
  SeededIds ids{5};
  Server server{loop.executor(), store, clock, ids, {}};
  std::optional<FakeNode> node;
};

TEST_F(ExtensionTest, AnswersTheNodesCallsThatBeginWithItsPrefix) {
  loop.run_until_done(node->join());
  const auto answer = call("files.get", "x");
  EXPECT_EQ(answer.at("Node").as_string(), node->id()) << "the node that the link proved to be";
  EXPECT_EQ(answer.at("Method").as_string(), "files.get");
  try {
    call("files.none", {});
    FAIL() << "it was answered";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
  }
  try {
    call("capsule.get", {});
    FAIL() << "it was answered";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported);
  }
}

TEST_F(ExtensionTest, ServesTheNodesStreams) {
  loop.run_until_done(node->join());
  EXPECT_EQ(loop.run_until_done(greeting()), "hello node");
}

}  // namespace
}  // namespace underway::server::testing
