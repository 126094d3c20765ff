// Disks that follow their allocation to another node.
#include "server/server.hpp"
#include "server/testing/desk.hpp"
#include "server/testing/fake_node.hpp"

namespace underway::server::testing {
namespace {

using async::awaitable;
using model::ClientStatus;

class DisksTest : public ::testing::Test {
 protected:
  DisksTest() {
    Options options;
    options.root_by_raw_exec = true;
    options.link_patience = std::chrono::milliseconds(50);
    server = std::make_unique<Server>(loop.executor(), store, clock, ids, options);
    server->start();
    for (const int number : {1, 2}) {
      auto& node = nodes[uuid(number)];
      node = std::make_unique<FakeNode>(loop.executor(), *server, make_node(number));
      loop.run_until_done(node->join());
      node->streams["disk.read"] = [](boost::json::value header,
                                      std::shared_ptr<link::Stream> stream) -> awaitable<void> {
        std::string bytes = "disk of " + json::decode<protocol::FileRequest>(header).alloc;
        co_await stream->write(std::move(bytes));
        stream->end();
      };
    }
  }
  ~DisksTest() override {
    for (auto& [id, node] : nodes) loop.run_until_done(node->stop());
    loop.run_until_done(server->stop());
    loop.context().restart();
    loop.context().poll();
  }

  tables::Row<model::Allocation> live() const {
    for (const auto& row : server->writer().tables().allocations_of_job("default", "db"))
      if (!row->terminal()) return row;
    return nullptr;
  }
  tables::Row<model::Allocation> running() {
    run_until(loop, [&] { return live() && live()->is_ready(); });
    return live();
  }
  /// One whose node is drained, and what has replaced it on the other node.
  void replace(bool migrate) {
    model::Job job = make_job("db");
    job.groups[0].ephemeral_disk.migrate = migrate;
    RegisterJob request{std::move(job), {}, {}};
    loop.run_until_done(server->apply(std::move(request)));
    first = running();
    DrainNode drain;
    drain.node_id = first->node_id;
    drain.drain.emplace().deadline = Duration{-1};  // all at once
    loop.run_until_done(server->apply(drain));
    run_until(loop, [&] { return live() && live()->id != first->id; });
    second = running();
    ASSERT_NE(second->node_id, first->node_id);
    ASSERT_EQ(second->previous_allocation, first->id);
  }
  static awaitable<std::string> read(FakeNode& node, std::string allocation) {
    boost::json::value header = json::to_value(protocol::FileRequest{.alloc = allocation, .path = "/"});
    const auto stream = co_await node.connection->open("disk.read", std::move(header));
    std::string text;
    while (auto chunk = co_await stream->read()) text += chunk->bytes;
    co_return text;
  }
  Code refusal(FakeNode& node, const std::string& allocation) {
    try {
      loop.run_until_done(read(node, allocation));
    } catch (const Error& error) {
      return error.code();
    }
    ADD_FAILURE() << "it was answered";
    return Code::internal;
  }

  async::Loop loop;
  store::MemoryStore store;
  SystemClock clock;
  SeededIds ids{5};
  std::unique_ptr<Server> server;
  std::map<std::string, std::unique_ptr<FakeNode>> nodes;
  tables::Row<model::Allocation> first, second;
};

TEST_F(DisksTest, TheSuccessorsNodeGetsThePredecessorsDisk) {
  replace(true);
  EXPECT_EQ(loop.run_until_done(read(*nodes.at(second->node_id), second->id)), "disk of " + first->id);
}

TEST_F(DisksTest, NobodyElseGetsIt) {
  replace(true);
  FakeNode& before = *nodes.at(first->node_id);
  EXPECT_EQ(refusal(before, second->id), Code::denied) << "the successor runs elsewhere";
  EXPECT_EQ(refusal(before, first->id), Code::denied) << "it has ended";
  EXPECT_EQ(refusal(before, uuid(99)), Code::denied);
}

TEST_F(DisksTest, OneThatDoesNotMigrateStaysWhereItIs) {
  replace(false);
  EXPECT_EQ(refusal(*nodes.at(second->node_id), second->id), Code::denied);
}

TEST_F(DisksTest, ThatItsNodeIsGoneIsSaid) {
  replace(true);
  nodes.at(first->node_id)->cut();
  run_until(loop, [&] { return !server->linked(first->node_id); });
  EXPECT_EQ(refusal(*nodes.at(second->node_id), second->id), Code::unavailable);
}

}  // namespace
}  // namespace underway::server::testing
