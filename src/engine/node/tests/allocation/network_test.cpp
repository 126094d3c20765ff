// Allocations with a network of their own, on a node whose networks are fakes.
#include "node/task/task_event.hpp"
#include "tests/runner_fixture.hpp"

namespace underway::node {
namespace {

using model::TaskRunState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FakeNetworks final : public network::AllocationNetworks {
 public:
  network::Attachment attach(const network::Request& request) override {
    requests.push_back(request);
    if (refusal) throw *refusal;
    standing.insert(request.allocation);
    return made(request.allocation);
  }
  std::optional<network::Attachment> find(const std::string& allocation) override {
    return standing.contains(allocation) ? std::optional(made(allocation)) : std::nullopt;
  }
  void detach(const std::string& allocation) override {
    standing.erase(allocation);
    ++detached;
  }
  std::vector<std::string> keep_only(const std::set<std::string>&) override { return {}; }
  static network::Attachment made(const std::string& allocation) {
    return {"/ns/" + allocation, {"eth0", "172.26.64.9", "", std::nullopt}};
  }

  std::set<std::string> standing;
  std::vector<network::Request> requests;
  std::optional<Error> refusal;
  int detached = 0;
};

class NetworkTest : public RunnerTest {
 protected:
  NetworkTest() { context.networks = &networks; }
  static StoredOrder order_of(model::NetworkResource network, std::vector<model::Task> tasks = {make_task("main")}) {
    auto order = make_order(std::move(tasks));
    order.job.groups[0].networks = {std::move(network)};
    order.order.allocation.job = std::make_shared<const model::Job>(order.job);
    order.order.allocation.resources.ports = {{"http", 21001, 8080, "10.0.0.5"}};
    return order;
  }
  void order_stop() {
    StoredOrder stop;
    stop.order.allocation = runner->allocation();
    stop.job = *runner->allocation().job;
    stop.order.allocation.desired_status = model::DesiredStatus::stop;
    runner->obey(std::move(stop));
    runtime.settle();
  }
  const TaskNetwork& given(const std::string& task = "main") { return process(task).spec.network; }
  std::string names(const std::string& file) {
    return os::read_file(directory.path() + "/alloc/" + kAllocationId + "/.network/" + file);
  }

  FakeNetworks networks;
};

TEST_F(NetworkTest, AllTasksOfTheGroupAreInItsNetwork) {
  drivers.before_start = [this] { EXPECT_TRUE(networks.standing.contains(kAllocationId)); };
  run(order_of({.mode = "bridge"}, {make_task("main"), make_hook("side", model::LifecycleHook::prestart, true)}));
  for (const char* task : {"main", "side"})
    EXPECT_EQ(given(task).namespace_path, std::string("/ns/") + kAllocationId) << task;
  ASSERT_EQ(networks.requests.size(), 1u);
  EXPECT_EQ(networks.requests[0].mode, "bridge");
  EXPECT_EQ(networks.requests[0].ports.at(0).value, 21001);
  ASSERT_TRUE(runner->update().network_status);
  EXPECT_EQ(runner->update().network_status->address, "172.26.64.9");
}

TEST_F(NetworkTest, ItsAddressesAreInTheEnvironment) {
  run(order_of({.mode = "bridge"}));
  const auto& env = process().spec.environment;
  EXPECT_EQ(env.at("NOMAD_ADDR_http"), "10.0.0.5:21001");
  EXPECT_EQ(env.at("NOMAD_PORT_http"), "8080");
  EXPECT_EQ(env.at("NOMAD_HOST_PORT_http"), "21001");
  EXPECT_EQ(env.at("NOMAD_ALLOC_ADDR_http"), "172.26.64.9:8080");
  EXPECT_EQ(env.at("NOMAD_ALLOC_INTERFACE_http"), "eth0");
}

TEST_F(NetworkTest, ItsNamesAreInFiles) {
  run(order_of(
      {.mode = "bridge", .hostname = "web-${NOMAD_ALLOC_INDEX}", .dns = model::Dns{{"10.9.9.9"}, {"lab"}, {}}}));
  EXPECT_EQ(given().hostname, "web-3");
  EXPECT_THAT(names("hosts"), HasSubstr("172.26.64.9 web-3\n"));
  EXPECT_THAT(names("resolv.conf"), HasSubstr("nameserver 10.9.9.9\nsearch lab\n"));
  EXPECT_EQ(os::read_file(given().hosts_file), names("hosts"));
  EXPECT_EQ(os::read_file(given().resolver_file), names("resolv.conf"));
}

TEST_F(NetworkTest, DnsIsForTheHostsNetworkToo) {
  run(order_of({.dns = model::Dns{{"10.9.9.9"}, {}, {}}}));
  EXPECT_THAT(networks.requests, IsEmpty());
  EXPECT_EQ(given().namespace_path, "");
  EXPECT_EQ(given().hosts_file, "");
  EXPECT_THAT(os::read_file(given().resolver_file), HasSubstr("nameserver 10.9.9.9\n"));
}

TEST_F(NetworkTest, WithoutABlockNothingIsMade) {
  run(make_order({make_task("main")}));
  EXPECT_THAT(networks.requests, IsEmpty());
  EXPECT_EQ(given().resolver_file, "");
  EXPECT_FALSE(runner->update().network_status);
}

TEST_F(NetworkTest, OneThatCannotBeMadeFailsTheAllocationAndSaysWhy) {
  networks.refusal = Error(Code::exhausted, "no address of 172.26.64.0/20 is left");
  run(order_of({.mode = "bridge"}));
  EXPECT_EQ(status(), model::ClientStatus::failed);
  EXPECT_THAT(state().events.back().message, HasSubstr("no address of 172.26.64.0/20 is left"));
  EXPECT_TRUE(drivers.order.empty());
}

TEST_F(NetworkTest, ItEndsWithTheLastTask) {
  run(order_of({.mode = "bridge"}, {make_task("main"), make_hook("after", model::LifecycleHook::poststop)}));
  networks.detached = 0;
  order_stop();
  EXPECT_TRUE(networks.standing.contains(kAllocationId)) << "the last task still needs it";
  end("after", {});
  EXPECT_TRUE(runner->dead());
  EXPECT_FALSE(networks.standing.contains(kAllocationId));
  EXPECT_EQ(networks.detached, 1);
}

TEST_F(NetworkTest, ANewAgentFindsItAgain) {
  run(order_of({.mode = "bridge", .hostname = "web"}));
  restart_agent();
  EXPECT_EQ(networks.requests.size(), 1u);
  EXPECT_EQ(drivers.order.size(), 1u);
  ASSERT_TRUE(runner->update().network_status);
  runner->restart("main");
  runtime.settle();
  EXPECT_EQ(given().namespace_path, std::string("/ns/") + kAllocationId);
  EXPECT_EQ(given().hostname, "web");
}

TEST_F(NetworkTest, TasksWhoseNetworkIsGoneAreStartedAgainInANewOne) {
  run(order_of({.mode = "bridge"}));
  networks.standing.clear();
  restart_agent();
  EXPECT_EQ(networks.requests.size(), 2u);
  EXPECT_EQ(drivers.order.size(), 2u);
  EXPECT_EQ(state().state, TaskRunState::running);
}

TEST_F(NetworkTest, RemovingItsDirectoriesRemovesIt) {
  run(order_of({.mode = "bridge"}));
  runner->destroy();
  runtime.settle();
  runtime.run(runner->remove_directories());
  EXPECT_FALSE(networks.standing.contains(kAllocationId));
}

}  // namespace
}  // namespace underway::node
