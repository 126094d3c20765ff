#include "server/node/data_feed.hpp"

#include <gtest/gtest.h>

#include "server/server.hpp"
#include "server/testing/desk.hpp"
#include "store/memory_store.hpp"

namespace underway::server::testing {
namespace {

using protocol::DataKind;
using protocol::DataNeed;

/// A server whose node runs job "web".
struct FeedDesk {
  FeedDesk() : server(loop.executor(), store, clock, ids, {.root_by_raw_exec = true}) {
    apply(RegisterNode{make_node(1), "secret"});
    apply(RegisterJob{make_job("web"), {}, {}});
  }
  ~FeedDesk() { loop.run_until_done(server.stop()); }

  template <Request R>
  void apply(R request) {
    loop.run_until_done(server.apply(std::move(request)));
  }
  void put(const std::string& path, const std::string& value) {
    loop.run_until_done(variables.put({"default", path, {}, {}}, {{"k", value}}));
  }
  void remove(const std::string& path) { loop.run_until_done(variables.remove({"default", path, {}, {}})); }
  DataNeed need(const std::string& name, DataKind kind = DataKind::variable, const std::string& ns = {}) {
    return {tables.allocations_of_job("default", "web").front()->id, "t", kind, name, ns};
  }

  async::Loop loop;
  store::MemoryStore store;
  VirtualClock clock;
  SeededIds ids{1};
  Server server;
  Variables& variables = server.variables();
  const Tables& tables = server.writer().tables();
};

TEST(DataFeed, TellsEachThingOnceAndAgainWhenItChanges) {
  FeedDesk desk;
  desk.put("nomad/jobs/web", "one");
  DataFeed feed(uuid(1), desk.variables);
  EXPECT_FALSE(feed.next(desk.tables));
  feed.watch({desk.need("nomad/jobs/web"), desk.need("nomad/jobs")});
  auto message = feed.next(desk.tables);
  ASSERT_TRUE(message);
  ASSERT_EQ(message->values.size(), 2U);
  EXPECT_FALSE(message->values[0].variable) << "there is none at nomad/jobs";
  EXPECT_EQ(message->values[1].variable->items.at("k"), "one");
  EXPECT_FALSE(feed.next(desk.tables));
  EXPECT_FALSE(feed.outdated(desk.tables));

  desk.put("nomad/jobs/other", "x");
  EXPECT_FALSE(feed.outdated(desk.tables)) << "it watches rows, not the table";
  desk.put("nomad/jobs/web", "two");
  EXPECT_TRUE(feed.outdated(desk.tables));
  message = feed.next(desk.tables);
  ASSERT_TRUE(message);
  ASSERT_EQ(message->values.size(), 1U);
  EXPECT_EQ(message->values[0].variable->items.at("k"), "two");

  desk.remove("nomad/jobs/web");
  message = feed.next(desk.tables);
  ASSERT_TRUE(message);
  EXPECT_FALSE(message->values[0].variable);
  EXPECT_TRUE(message->values[0].refused.empty());
}

TEST(DataFeed, TellsWhatIsNewInANewSetOnly) {
  FeedDesk desk;
  desk.put("nomad/jobs/web", "one");
  DataFeed feed(uuid(1), desk.variables);
  feed.watch({desk.need("nomad/jobs/web")});
  EXPECT_TRUE(feed.next(desk.tables));
  feed.watch({desk.need("nomad/jobs/web"), desk.need("nomad/jobs/web/g")});
  const auto message = feed.next(desk.tables);
  ASSERT_TRUE(message);
  ASSERT_EQ(message->values.size(), 1U);
  EXPECT_EQ(message->values[0].need.name, "nomad/jobs/web/g");
}

TEST(DataFeed, TellsATaskOnlyWhatItMayRead) {
  FeedDesk desk;
  desk.put("nomad/jobs/db", "secret of another job");
  desk.put("nomad/jobs/web/g/t", "mine");
  desk.put("nomad/jobs/web/g/other", "secret of another task");
  DataFeed feed(uuid(1), desk.variables);
  feed.watch({desk.need("nomad/jobs/db"), desk.need("nomad/jobs/web/g/t"), desk.need("nomad/jobs/web/g/other"),
              desk.need("nomad/jobs/web/g/t", DataKind::variable, "elsewhere")});
  const auto message = feed.next(desk.tables);
  ASSERT_TRUE(message);
  int told = 0;
  for (const auto& value : message->values) {
    SCOPED_TRACE(value.need.name + "@" + value.need.ns);
    const bool mine = value.need.name == "nomad/jobs/web/g/t" && value.need.ns.empty();
    EXPECT_EQ(value.refused.empty(), mine) << value.refused;
    EXPECT_EQ(value.variable.has_value(), mine);
    told += value.variable ? 1 : 0;
  }
  EXPECT_EQ(told, 1);
}

TEST(DataFeed, TellsWhatAPolicyOfTheJobAllowsAsLongAsItDoes) {
  FeedDesk desk;
  desk.put("shared/ca", "x");
  DataFeed feed(uuid(1), desk.variables);
  feed.watch({desk.need("shared/ca")});
  EXPECT_FALSE(feed.next(desk.tables)->values.at(0).variable);
  const auto change = [&](tables::Change wanted) {
    desk.apply(PutChanges{{std::move(wanted)}});
    EXPECT_TRUE(feed.outdated(desk.tables));
    return feed.next(desk.tables);
  };
  model::AclPolicy policy;
  policy.name = "shared";
  policy.rules = R"(namespace "default" { variables { path "shared/*" { capabilities = ["read"] } } })";
  policy.job_acl = model::JobAcl{"default", "web", "", ""};
  auto message = change(tables::PutAclPolicy{policy});
  ASSERT_TRUE(message);
  EXPECT_EQ(message->values.at(0).variable->items.at("k"), "x");
  message = change(tables::DeleteAclPolicy{"shared"});
  ASSERT_TRUE(message);
  EXPECT_FALSE(message->values.at(0).variable);
  EXPECT_NE(message->values.at(0).refused.find("may not read"), std::string::npos);
}

TEST(DataFeed, ListsWithoutItemsAndOnlyWhatMayBeRead) {
  FeedDesk desk;
  desk.put("nomad/jobs/web", "one");
  desk.put("nomad/jobs/db", "other");
  DataFeed feed(uuid(1), desk.variables);
  feed.watch({desk.need("nomad/jobs", DataKind::variables)});
  const auto message = feed.next(desk.tables);
  ASSERT_TRUE(message);
  ASSERT_EQ(message->values[0].variables.size(), 1U);
  EXPECT_EQ(message->values[0].variables[0].path, "nomad/jobs/web");
  EXPECT_TRUE(message->values[0].variables[0].items.empty());
}

TEST(DataFeed, TellsUnhealthyInstancesOnlyWhereTheyAreAskedFor) {
  FeedDesk desk;
  auto job = make_job("api");
  auto& service = job.groups[0].services.emplace_back();
  service.name = "api";
  service.meta = {{"version", "2"}};
  desk.apply(RegisterJob{job, {}, {}});
  model::AllocationUpdate running;
  running.id = desk.tables.allocations_of_job("default", "api").front()->id;
  running.client_status = model::ClientStatus::running;
  running.health.ready = false;
  desk.apply(UpdateAllocations{uuid(1), {running}});
  DataFeed feed(uuid(1), desk.variables);
  feed.watch({desk.need("api", DataKind::service), desk.need("api|any", DataKind::service)});
  const auto message = feed.next(desk.tables);
  ASSERT_TRUE(message);
  ASSERT_EQ(message->values.size(), 2U);
  EXPECT_TRUE(message->values[0].instances.empty()) << "its checks do not pass";
  ASSERT_EQ(message->values[1].instances.size(), 1U);
  const auto& instance = message->values[1].instances[0];
  EXPECT_TRUE(instance.unhealthy);
  EXPECT_EQ(instance.node_name, make_node(1).name);
  EXPECT_EQ(instance.meta.at("version"), "2");
}

TEST(DataFeed, TellsNothingToANodeThatDoesNotRunTheAllocation) {
  FeedDesk desk;
  desk.put("nomad/jobs/web", "one");
  DataFeed feed(uuid(2), desk.variables);
  feed.watch({desk.need("nomad/jobs/web")});
  const auto message = feed.next(desk.tables);
  ASSERT_TRUE(message);
  EXPECT_FALSE(message->values[0].refused.empty());
  EXPECT_FALSE(message->values[0].variable);
}

}  // namespace
}  // namespace underway::server::testing
