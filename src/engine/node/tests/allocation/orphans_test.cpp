// What a server whose store has not been where an order came from may not end. On the real kernel, by a real agent.
#include "tests/node_fixture.hpp"

namespace underway::node {
namespace {

/// Everything that a server of another history has to say: that it wants nothing.
protocol::AllocationsMessage wants_nothing(const std::string& epoch, std::map<std::string, model::Revision> epochs) {
  protocol::AllocationsMessage message;
  message.full = true;
  message.origin = {epoch, 7};
  message.epochs = std::move(epochs);
  return message;
}

TEST_F(NodeTest, WhatAServerOfAnotherHistoryDoesNotKnowGoesOnUntilItIsDecided) {
  origin = {"former", 40};
  const auto id = run(shell("echo $$ > $NOMAD_ALLOC_DIR/data/pid; exec sleep 1000"), model::JobType::service);
  const pid_t pid = pid_of(id);
  ASSERT_GT(pid, 0);
  const auto asked_about = [&](protocol::AllocationsMessage message) {
    server.send(std::move(message));
    return server.call("orphans.read", boost::json::object{}).at("Orders").as_array().size();
  };
  EXPECT_EQ(asked_about(wants_nothing("other", {})), 1U) << "a server that was never there";
  EXPECT_EQ(asked_about(wants_nothing("later", {{"former", 39}})), 1U) << "an older copy";
  // Neither a new agent nor a server that tells nothing of itself makes a difference.
  agent->kill();
  start_agent();
  ASSERT_EQ(server.registered->ordered.size(), 1U);
  EXPECT_EQ(server.registered->ordered[0].allocation.id, id);
  EXPECT_EQ(server.registered->ordered[0].origin.epoch, "former");
  EXPECT_EQ(server.registered->ordered[0].origin.revision, 40);
  EXPECT_EQ(asked_about(wants_nothing("", {})), 1U);
  EXPECT_TRUE(alive(pid));
  // The one that ordered it may take it back.
  server.send(wants_nothing("now", {{"former", 40}}));
  EXPECT_TRUE(server.until([&] { return !alive(pid); }));
  EXPECT_TRUE(server.until([&] { return !os::exists(path(id, "")); }));
}

TEST_F(NodeTest, AnOrphanIsStoppedWhenSomebodySaysSo) {
  origin = {"former", 40};
  const auto id = run(shell("echo $$ > $NOMAD_ALLOC_DIR/data/pid; exec sleep 1000"), model::JobType::service);
  const pid_t pid = pid_of(id);
  server.send(wants_nothing("other", {}));
  const int before = server.registrations;
  server.call("orphans.stop", boost::json::object{});
  EXPECT_TRUE(server.until([&] { return !alive(pid) && !os::exists(path(id, "")); }));
  EXPECT_TRUE(server.until([&] { return server.registrations > before && server.registered->ordered.empty(); }))
      << "the server hears of it";
}

}  // namespace
}  // namespace underway::node
