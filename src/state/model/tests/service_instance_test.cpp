#include "model/service_instance.hpp"

#include <gtest/gtest.h>

namespace underway::model {
namespace {

/// Job "shop", group "front" with a task "web", on a node with two networks.
class ServiceInstanceTest : public ::testing::Test {
 protected:
  ServiceInstanceTest() {
    job.id = job.name = "shop";
    job.meta["Site"] = "north";
    auto& group = job.groups.emplace_back();
    group.name = "front";
    group.tasks.emplace_back().name = "web";
    allocation.id = "6d3f5a0e-1c6b-4a8e-9f43-0b8d6a5c7e21";
    allocation.name = "shop.front[3]";
    allocation.job_id = "shop";
    allocation.group = "front";
    allocation.node_id = "n1";
    allocation.client_status = ClientStatus::running;
    allocation.task_states["web"].state = TaskRunState::running;
    allocation.resources.ports = {{"http", 24001, 0, "10.0.0.5"}, {"mgmt-port", 8443, 443, "192.168.7.5"}};
    node.id = "n1";
    node.datacenter = "dc2";
    node.attributes["unique.network.ip-address"] = "10.0.0.5";
    node.attributes["rack"] = "r7";
    node.networks = {{"default", "eth0", "10.0.0.5", "10.0.0.5/24"}, {"mgmt", "eth1", "192.168.7.5", "192.168.7.5/24"}};
  }
  void take(Service service, bool of_task = false) {
    auto& group = job.groups[0];
    (of_task ? group.tasks[0].services : group.services).push_back(std::move(service));
    allocation.job = std::make_shared<const Job>(job);
  }
  ServiceInstance instance() { return service_instance(allocation, declared_services(allocation).at(0), &node); }
  bool provided() { return is_provided(allocation, declared_services(allocation).at(0)); }

  Job job;
  Allocation allocation;
  Node node;
};

TEST_F(ServiceInstanceTest, HasTheAddressOfItsPortAndNomadsId) {
  take({.name = "shop-web", .port = "http", .tags = {"v1"}});
  const auto found = instance();
  EXPECT_EQ(found.id, "_nomad-task-6d3f5a0e-1c6b-4a8e-9f43-0b8d6a5c7e21-group-front-shop-web-http");
  EXPECT_EQ(found.service_name, "shop-web");
  EXPECT_EQ(found.address, "10.0.0.5");
  EXPECT_EQ(found.port, 24001);
  EXPECT_EQ(found.datacenter, "dc2");
  EXPECT_EQ(found.job_id, "shop");
  EXPECT_EQ(found.tags, std::vector<std::string>{"v1"});
}

TEST_F(ServiceInstanceTest, OfAnAllocationWithANetworkOfItsOwnIsWhereItsModeSays) {
  allocation.network_status = AllocNetworkStatus{"eth0", "172.26.64.2", "", std::nullopt};
  struct Case {
    const char* port;
    const char* mode;
    const char* address;
    std::int64_t expect;
  };
  for (const Case& c : {Case{"mgmt-port", "auto", "192.168.7.5", 8443}, Case{"mgmt-port", "host", "192.168.7.5", 8443},
                        Case{"mgmt-port", "alloc", "172.26.64.2", 443}, Case{"mgmt-port", "driver", "172.26.64.2", 443},
                        Case{"9090", "alloc", "172.26.64.2", 9090}}) {
    SCOPED_TRACE(fmt::format("{} {}", c.port, c.mode));
    job.groups[0].services.clear();
    take({.name = "web", .port = c.port, .address_mode = c.mode});
    EXPECT_EQ(instance().address, c.address);
    EXPECT_EQ(instance().port, c.expect);
  }
}

TEST_F(ServiceInstanceTest, OfATaskNamesTheTask) {
  take({.port = "http"}, true);
  EXPECT_EQ(instance().service_name, "shop-front-web");
  EXPECT_EQ(instance().id, "_nomad-task-6d3f5a0e-1c6b-4a8e-9f43-0b8d6a5c7e21-web-shop-front-web-http");
}

TEST_F(ServiceInstanceTest, NamesAndTagsAreFilledInPerAllocation) {
  struct Case {
    const char* text;
    const char* expect;
  };
  const std::vector<Case> cases = {{"${NOMAD_JOB_NAME}-${NOMAD_ALLOC_INDEX}", "shop-3"},
                                   {"${NOMAD_GROUP_NAME}.${NOMAD_TASK_NAME}", "front.group"},
                                   {"${JOB}-${TASKGROUP}", "shop-front"},
                                   {"${NOMAD_META_Site}/${NOMAD_META_SITE}", "north/north"},
                                   {"${NOMAD_ADDR_http}", "10.0.0.5:24001"},
                                   {"${attr.rack} ${node.datacenter}", "r7 dc2"},
                                   {"${unknown} $x", "${unknown} $x"}};
  take({});
  for (const auto& c : cases) EXPECT_EQ(interpolate(c.text, allocation, nullptr, &node), c.expect) << c.text;
}

TEST_F(ServiceInstanceTest, CanariesHaveTheirOwnTagsWhileTheyAreCanaries) {
  take({.name = "web", .port = "http", .tags = {"live"}, .canary_tags = {"canary"}, .meta = {{"a", "1"}}});
  EXPECT_EQ(instance().tags, std::vector<std::string>{"live"});
  allocation.health.canary = true;
  EXPECT_EQ(instance().tags, std::vector<std::string>{"canary"});
  EXPECT_EQ(instance().meta.at("a"), "1") << "no canary_meta is given";
}

TEST_F(ServiceInstanceTest, AddressModesAndFixedAddresses) {
  struct Case {
    const char* name;
    Service service;
    const char* address;
    std::int64_t port;
  };
  const std::vector<Case> cases = {
      {"on another network", {.port = "mgmt-port"}, "192.168.7.5", 8443},
      {"as the task sees it", {.port = "mgmt-port", .address_mode = "alloc"}, "192.168.7.5", 443},
      {"a number", {.port = "9100"}, "10.0.0.5", 9100},
      {"no port", {}, "10.0.0.5", 0},
      {"an address of its own",
       {.port = "http", .address = "${node.datacenter}.example.org"},
       "dc2.example.org",
       24001}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    job.groups[0].services.clear();
    take(c.service);
    EXPECT_EQ(instance().address, c.address);
    EXPECT_EQ(instance().port, c.port);
  }
}

TEST_F(ServiceInstanceTest, IsThereWhileItRunsAndIsWanted) {
  take({.name = "web", .task = "web"});
  EXPECT_TRUE(provided());
  allocation.client_status = ClientStatus::unknown;
  EXPECT_TRUE(provided()) << "what is not heard of runs on";
  allocation.client_status = ClientStatus::lost;
  EXPECT_FALSE(provided());
  allocation.client_status = ClientStatus::running;
  allocation.desired_status = DesiredStatus::stop;
  EXPECT_FALSE(provided()) << "gone before its tasks are";
  allocation.desired_status = DesiredStatus::run;
  allocation.task_states["web"].state = TaskRunState::pending;
  EXPECT_FALSE(provided()) << "its task is being restarted";
}

TEST_F(ServiceInstanceTest, PortsAreVariablesOfEachTask) {
  take({});
  const auto variables = port_variables(allocation, &node);
  const StringMap expected = {{"NOMAD_ADDR_http", "10.0.0.5:24001"},
                              {"NOMAD_PORT_mgmt_port", "443"},
                              {"NOMAD_HOST_PORT_mgmt_port", "8443"},
                              {"NOMAD_HOST_ADDR_mgmt_port", "192.168.7.5:8443"},
                              {"NOMAD_ALLOC_INTERFACE_mgmt_port", "eth1"},
                              {"NOMAD_ALLOC_INTERFACE_http", "eth0"},
                              {"NOMAD_IP_web_mgmt_port", "192.168.7.5"},
                              {"NOMAD_ADDR_web_http", "10.0.0.5:24001"},
                              {"NOMAD_PORT_web_http", "24001"}};
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(variables.contains(name)) << name;
    EXPECT_EQ(variables.at(name), value) << name;
  }
}

}  // namespace
}  // namespace underway::model
