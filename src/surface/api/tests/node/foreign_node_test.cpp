// A node whose certificate is in the wrong hands: what it says of another node's allocations, and asks for them, counts
// for nothing.
#include "tests/access.hpp"

#include "server/access/identities.hpp"

namespace underway::api::testing {
namespace {

class ForeignNode : public AccessTest {
 protected:
  ForeignNode() {
    world.peer = {.address = "unix", .uid = 0};
    world.link(1);
    EXPECT_EQ(world.run(make_job("web")).status, 200);
    server::testing::run_until(world.loop, [&] {
      return world.tables().find_allocation(allocation())->client_status == model::ClientStatus::running;
    });
    foreign = &world.link(2);
  }
  std::string allocation() { return world.allocation_of("web"); }
  boost::json::value call(const std::string& method, const boost::json::value& body) {
    return world.loop.run_until_done(foreign->connection->call(method, body));
  }
  Code refused(const std::string& method, const boost::json::value& body) {
    try {
      call(method, body);
    } catch (const Error& error) {
      return error.code();
    }
    return Code::internal;
  }

  FakeNode* foreign = nullptr;
};

TEST_F(ForeignNode, ReportsNothingOfAllocationsOfOthers) {
  const std::string id = allocation();
  world.loop.run_until_done(foreign->tell({report(id, model::ClientStatus::failed)}));
  EXPECT_EQ(world.tables().find_allocation(id)->client_status, model::ClientStatus::running);
  foreign->running = {report(id, model::ClientStatus::failed)};
  world.loop.run_until_done(foreign->register_again());
  EXPECT_EQ(world.tables().find_allocation(id)->client_status, model::ClientStatus::running);
  EXPECT_EQ(world.tables().find_allocation(id)->node_id, uuid(1));
}

TEST_F(ForeignNode, GetsNoIdentityOfTasksOfOthers) {
  const protocol::IdentityRequest request{.alloc = allocation(), .task = "t", .identity = ""};
  EXPECT_EQ(refused("identity.sign", json::to_value(request)), Code::denied);
}

TEST_F(ForeignNode, IsNoOtherNodeThoughItSaysSo) {
  auto other = make_node(1);
  EXPECT_EQ(
      refused("register", json::to_value(protocol::RegisterRequest{other, "secret", {}}, json::Encoding::compact)),
      Code::denied);
}

TEST_F(ForeignNode, GetsNoDiskOfOthers) {
  const auto stream = world.loop.run_until_done(
      foreign->connection->open("disk.read", json::to_value(protocol::FileRequest{allocation()})));
  try {
    world.loop.run_until_done(stream->read());
    FAIL() << "it is read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::denied) << error.one_line();
  }
}

TEST_F(ForeignNode, ThatAsksForWhatThereIsNotIsToldSo) {
  for (const auto& [method, body] :
       std::vector<std::pair<std::string, boost::json::value>>{{"nothing", nullptr},
                                                               {"update", 7},
                                                               {"update", {{"Updates", "x"}}},
                                                               {"template.watch", boost::json::array{}}})
    EXPECT_NE(refused(method, body), Code::internal) << method << " " << boost::json::serialize(body);
  EXPECT_TRUE(foreign->connection->is_open()) << "and stays linked";
}

}  // namespace
}  // namespace underway::api::testing
