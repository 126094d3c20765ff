#include "tables/services.hpp"

#include <gtest/gtest.h>

#include "world.hpp"

namespace underway::tables {
namespace {

/// A job "web" that provides `service`, registered; and allocations of it.
class ServicesTest : public ::testing::Test {
 protected:
  ServicesTest() {
    model::Node n = node("n1");
    n.attributes["unique.network.ip-address"] = "10.0.0.1";
    world.put(PutNode{n});
    register_job({.name = "web", .port = "http", .tags = {"a"}});
  }
  void register_job(model::Service service) {
    model::Job j = job("web", version);
    j.groups[0].tasks.emplace_back().name = "t";
    j.groups[0].services = {std::move(service)};
    world.put(PutJob{j, std::nullopt});
  }
  model::Allocation running(const std::string& id) {
    model::Allocation a = allocation(id, "web", "n1");
    a.group = "g";
    a.job_version = version;
    a.client_status = model::ClientStatus::running;
    a.resources.ports = {{"http", 20000, 0, ""}};
    return a;
  }
  std::vector<std::string> holders(const std::string& name = "web") {
    std::vector<std::string> out;
    for (const auto& instance : service_instances(world.tables, "default", name)) out.push_back(instance.alloc_id);
    return out;
  }
  Revision revision(const std::string& name = "web") {
    return world.tables.revision_of({Topic::services, "default/" + name});
  }
  using Ids = std::vector<std::string>;

  std::int64_t version = 0;
  World world;
};

TEST_F(ServicesTest, AreThoseOfAllocationsThatRunAndAreWanted) {
  auto pending = running("a1");
  pending.client_status = model::ClientStatus::pending;
  world.put(PutAllocation{pending}, PutAllocation{running("a2")});
  EXPECT_EQ(holders(), Ids{"a2"});
  world.put(PutAllocation{running("a1")});
  EXPECT_EQ(holders(), (Ids{"a1", "a2"}));
  auto stopped = running("a2");
  stopped.desired_status = model::DesiredStatus::stop;
  world.put(PutAllocation{stopped});
  EXPECT_EQ(holders(), Ids{"a1"});
  world.put(DeleteAllocation{"a1"});
  EXPECT_TRUE(holders().empty());
  EXPECT_TRUE(service_names(world.tables).empty());
}

TEST_F(ServicesTest, AreListedByNamespaceAndNameWithAllTheirTags) {
  world.put(PutAllocation{running("a1")});
  auto canary = running("a2");
  canary.health.canary = true;
  version = 1;
  register_job({.name = "web-${NOMAD_ALLOC_INDEX}", .canary_tags = {"c"}});
  canary.job_version = 1;
  world.put(PutAllocation{canary});
  const auto names = service_names(world.tables);
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[0].name, "web");
  EXPECT_EQ(names[0].tags, Ids{"a"});
  EXPECT_EQ(names[1].name, "web-0");
  EXPECT_EQ(names[1].tags, Ids{"c"});
  EXPECT_TRUE(service_names(world.tables, "other").empty());
  EXPECT_EQ(service_names(world.tables, "default").size(), 2u);
}

TEST_F(ServicesTest, InstancesHaveTheNodesAddress) {
  world.put(PutAllocation{running("a1")});
  const auto found = service_instances(world.tables, "default", "web");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].address, "10.0.0.1");
  EXPECT_EQ(found[0].port, 20000);
  EXPECT_EQ(services_of(world.tables, *world.tables.find_allocation("a1")).size(), 1u);
  EXPECT_EQ(services_of_job(world.tables, "default", "web").size(), 1u);
}

TEST_F(ServicesTest, OnlyWhatAReaderWouldSeeIsAChange) {
  world.put(PutAllocation{running("a1")});
  const Revision before = revision();
  auto again = running("a1");
  again.client_description = "Tasks are running";
  world.put(PutAllocation{again});
  EXPECT_EQ(revision(), before);
  again.health.ready = true;
  world.put(PutAllocation{again});
  EXPECT_GT(revision(), before);
}

TEST_F(ServicesTest, WhoWaitsIsWokenWhenSomebodyComesOrGoes) {
  int woken = 0;
  const auto wait = [&] { return world.tables.wait({{Topic::services, "default/web"}}, [&] { ++woken; }); };
  auto waiter = wait();
  world.put(PutAllocation{running("a1")});
  EXPECT_EQ(woken, 1);
  const Revision with_one = revision();
  waiter = wait();
  world.put(PutAllocation{allocation("b1", "other", "n1")});
  EXPECT_EQ(woken, 1);
  world.put(DeleteAllocation{"a1"});
  EXPECT_EQ(woken, 2);
  EXPECT_GT(revision(), with_one);
}

TEST_F(ServicesTest, ALoadedStateKnowsTheSame) {
  world.put(PutAllocation{running("a1")}, PutAllocation{running("a2")});
  world.put(DeleteAllocation{"a1"});
  world.tables.load(world.store);
  EXPECT_EQ(holders(), Ids{"a2"});
  EXPECT_EQ(service_names(world.tables).size(), 1u);
  EXPECT_LE(revision(), world.tables.revision());
}

TEST_F(ServicesTest, AChoiceIsTheSameForTheSameKeyAndMovesNobodyElse) {
  for (int i = 0; i < 8; ++i) world.put(PutAllocation{running(fmt::format("a{}", i))});
  const auto all = service_instances(world.tables, "default", "web");
  std::map<std::string, int> load;
  for (int key = 0; key < 400; ++key) {
    const auto first = choose(all, 2, std::to_string(key));
    ASSERT_EQ(first.size(), 2u);
    ++load[first[0].id];
    // Without the second, the first stays.
    std::vector<model::ServiceInstance> fewer;
    for (const auto& instance : all)
      if (instance.id != first[1].id) fewer.push_back(instance);
    EXPECT_EQ(choose(fewer, 1, std::to_string(key))[0].id, first[0].id);
  }
  EXPECT_EQ(load.size(), 8u);
  for (const auto& [id, count] : load) EXPECT_NEAR(count, 50, 30) << id;
}

}  // namespace
}  // namespace underway::tables
