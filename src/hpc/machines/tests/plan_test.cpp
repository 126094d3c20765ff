#include "machines/plan.hpp"

#include <gmock/gmock.h>

#include "machines/scripts.hpp"
#include "model/validate/validate.hpp"
#include "server/access/namespace_decisions.hpp"
#include "server/testing/desk.hpp"
#include "vm/config.hpp"

namespace underway::machines {
namespace {

using server::testing::uuid;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

model::Cluster declared() {
  model::Cluster out;
  out.name = "demo";
  out.networks = {{.name = "lan", .cidr = "10.78.0.0/24"}};
  out.pools = {{.name = "compute", .size = 3, .hostname = "c%d"}};
  model::MachineSet small{.name = "small", .kernel = "/images/vmlinuz", .cpus = 2, .memory_mb = 512};
  small.network = "10.200.0.0/26";
  model::MachineSet devices{.name = "devices", .image = "/images/disk", .memory_mb = 64};
  devices.host_devices = {"0000:3b:00.0"};
  out.machines = {small, devices};
  return out;
}

Facts facts() {
  Facts out{.cluster = declared(), .nodes = {}, .held = {}};
  for (int n = 1; n <= 3; ++n) {
    const auto name = fmt::format("c{}", n);
    out.nodes[name] = {name, uuid(n), fmt::format("10.78.0.1{}", n)};
  }
  return out;
}

SlurmJob job(const std::string& id, std::vector<std::string> nodes, Wish wish, const std::string& state = "RUNNING") {
  return {id, id, state, 1000, std::move(nodes), {std::move(wish), ""}};
}
/// On each of the three nodes.
Given given(std::int64_t cpus, std::optional<std::int64_t> memory_mb) {
  Given out{.cpus = cpus, .memory_mb = memory_mb, .nodes = {}};
  for (const std::string name : {"c1", "c2", "c3"}) out.nodes[name] = {cpus, memory_mb.value_or(0)};
  return out;
}
const std::map<std::string, Given> kPlenty = {
    {"17", given(100, 100'000)}, {"18", given(100, 100'000)}, {"19", given(100, 100'000)}};

Held held_by(const Order& order) { return *read_held(render(order)); }

TEST(MachinesOfSlurmJobs, AreMadeOnTheNodesOfAJobInANetworkOfItsOwn) {
  auto now = facts();
  const auto next =
      plan(now, std::vector{job("17", {"c1", "c2"}, {"small", 0}), job("18", {"c2"}, {"small", 3})}, kPlenty);
  ASSERT_THAT(next.refuse, IsEmpty());
  ASSERT_THAT(next.make, SizeIs(2));
  EXPECT_EQ(net::to_string(next.make[0].network), "10.200.0.0/29") << "two machines, two nodes, and two of its own";
  EXPECT_EQ(net::to_string(next.make[1].network), "10.200.0.8/29");
  EXPECT_EQ(next.make[1].per_node, 3);

  now.held = {held_by(next.make[0]), held_by(next.make[1])};
  const std::vector<SlurmJob> both = {job("17", {"c1", "c2"}, {"small", 0}), job("18", {"c2"}, {"small", 3})};
  const auto still = plan(now, both, kPlenty);
  EXPECT_THAT(still.make, IsEmpty());
  EXPECT_THAT(still.stop, IsEmpty());
  now.held.erase(now.held.begin());
  EXPECT_EQ(net::to_string(plan(now, both, kPlenty).make.at(0).network), "10.200.0.0/29")
      << "what is free is used again";
  now.held[0].network = net::parse_cidr("10.0.0.0/8");
  EXPECT_THAT(plan(now, both, kPlenty).refuse.at(0).reason, HasSubstr("have no room")) << "of another set's, all of it";
  now.held[0].network = net::parse_cidr("10.200.0.4/30");
  EXPECT_EQ(net::to_string(plan(now, both, kPlenty).make.at(0).network), "10.200.0.8/29") << "no gap is large enough";
}

TEST(MachinesOfSlurmJobs, AreThoseOfAJobThatIsValid) {
  auto now = facts();
  now.cluster.machines[0].shared_memory_mb = 64;
  const auto next = plan(now, std::vector{job("17", {"c1", "c2"}, {"small", 2})}, kPlenty);
  const auto made = render(next.make.at(0));
  EXPECT_EQ(made.id, "demo-slurm-17");
  EXPECT_THAT(model::validate(made), IsEmpty());
  ASSERT_THAT(made.groups, SizeIs(2));
  const auto& second = made.groups[1];
  EXPECT_EQ(second.constraints.at(0).rtarget, uuid(2));
  EXPECT_FALSE(model::reschedule_policy(made, second).enabled());
  EXPECT_FALSE(model::disconnect_policy(made, second).replaces()) << "they may run on a node that is silent";
  const auto* m3 = second.find_task("m3");
  ASSERT_NE(m3, nullptr);
  EXPECT_THAT(vm::problems(m3->config), IsEmpty());
  const auto config = vm::parse_config(m3->config);
  EXPECT_EQ(config.networks.at(0).bridge_name(), "uwj17");
  EXPECT_EQ(config.networks.at(0).mac, "52:54:0a:c8:00:03");
  EXPECT_EQ(config.shared_memory.at(0).name, "slurm-17");
  EXPECT_EQ(config.name, "") << "its disks go with the allocation";
  EXPECT_THAT(config.cloud_init->network_config, HasSubstr("10.200.0.3/29"));
  EXPECT_EQ(hosts_text(next.make[0]), "10.200.0.1 m1\n10.200.0.2 m2\n10.200.0.3 m3\n10.200.0.4 m4\n");
  EXPECT_EQ(m3->resources.memory_mb, 512 + model::kQemuMb);
  const auto& network = second.find_task("network")->config.as_object().at("args").as_array();
  std::vector<std::string> words;
  for (std::size_t i = 3; i < network.size(); ++i) words.emplace_back(network[i].as_string());
  EXPECT_THAT(words, ElementsAre("17", "10.200.0.5/29", "18", "10.78.0.12", "10.78.0.11"));
  for (const std::string_view script : {kMakeNetwork, kTellReady, kClear})
    EXPECT_EQ(script.find("${"), std::string_view::npos) << "that would be a variable of the job's";

  const auto alone = render(plan(now, std::vector{job("18", {"c1"}, {"small", 1})}, kPlenty).make.at(0));
  EXPECT_THAT(alone.groups[0].find_task("network")->config.as_object().at("args").as_array(), SizeIs(5))
      << "one node has no other to reach";
}

TEST(MachinesOfSlurmJobs, GoWhenTheJobIsOverAndNotBeforeSomebodyKnows) {
  auto now = facts();
  const auto running = job("17", {"c1"}, {"small", 0});
  now.held = {held_by(plan(now, std::vector{running}, kPlenty).make.at(0))};
  EXPECT_THAT(plan(now, std::nullopt, {}).stop, IsEmpty()) << "Slurm does not answer";
  auto uncommented = running;
  uncommented.asked = {};
  EXPECT_THAT(plan(now, std::vector{uncommented}, {}).stop, IsEmpty()) << "somebody wrote another comment";
  for (const auto* state : {"SUSPENDED", "CONFIGURING", "SIGNALING"})
    EXPECT_THAT(plan(now, std::vector{job("17", {"c1"}, {"small", 0}, state)}, {}).stop, IsEmpty()) << state;

  EXPECT_THAT(plan(now, std::vector<SlurmJob>{}, {}).stop, ElementsAre("demo-slurm-17"));
  EXPECT_THAT(plan(now, std::vector{job("17", {"c1"}, {"small", 0}, "COMPLETING")}, {}).stop,
              ElementsAre("demo-slurm-17"));
  auto again = running;
  again.started = 2000;
  const auto requeued = plan(now, std::vector{again}, kPlenty);
  EXPECT_THAT(requeued.stop, ElementsAre("demo-slurm-17"));
  EXPECT_THAT(requeued.make, IsEmpty()) << "the old ones go first";
  now.cluster.stop = true;
  EXPECT_THAT(plan(now, std::nullopt, {}).stop, ElementsAre("demo-slurm-17"));

  now.cluster.stop = false;
  now.held[0].stops = now.held[0].gone = true;
  const auto end = plan(now, std::nullopt, {});
  EXPECT_THAT(end.stop, IsEmpty());
  EXPECT_THAT(end.forget, ElementsAre("demo-slurm-17")) << "that nothing is left needs no Slurm";
}

TEST(MachinesOfSlurmJobs, AreRefusedWithNumbers) {
  const auto now = facts();
  const auto refused = [&](const SlurmJob& asking, std::map<std::string, Given> given) {
    const auto next = plan(now, std::vector{asking}, given);
    EXPECT_THAT(next.make, IsEmpty());
    return next.refuse.empty() ? "" : next.refuse[0].reason;
  };
  EXPECT_THAT(refused(job("17", {"c1"}, {"big", 0}), kPlenty), HasSubstr("there are small, devices"));
  EXPECT_THAT(refused(job("17", {"c1", "c2"}, {"small", 0}), {{"17", given(3, 100'000)}}),
              HasSubstr("need 4 CPUs and 1344 MiB (512 MiB each, and 160 for QEMU), and it has 3 CPUs and 100000 MiB"));
  EXPECT_THAT(refused(job("17", {"c1"}, {"small", 0}), {{"17", given(3, 671)}}), HasSubstr("671 MiB"));
  EXPECT_THAT(refused(job("17", {"c1", "other"}, {"small", 0}), kPlenty), HasSubstr("'other' is no host"));
  EXPECT_THAT(refused(job("17", {"c1"}, {"small", 62}), {{"17", given(1000, {})}}),
              HasSubstr("no room in what other jobs"));
  EXPECT_EQ(refused(job("17", {"c1"}, {"small", 0}), {}), "") << "nobody knows yet what it has";
  SlurmJob twice = job("17", {}, {});
  twice.asked = {std::nullopt, "its comment asks for machines twice"};
  EXPECT_THAT(refused(twice, {}), HasSubstr("twice"));
}

/// Two nodes that have enough together: --mem-per-cpu, and Slurm gave three CPUs on one and one on the other.
TEST(MachinesOfSlurmJobs, AreRefusedWhereOneNodeHasTooLittle) {
  const auto asking = job("17", {"c1", "c2"}, {"small", 0});
  const auto next = [&](Given has) { return plan(facts(), std::vector{asking}, {{"17", std::move(has)}}); };
  EXPECT_THAT(next({4, 2000, {{"c1", {3, 1500}}, {"c2", {1, 500}}}}).refuse.at(0).reason,
              HasSubstr("on c2 its 1 machine 'small' needs 2 CPUs and 672 MiB (512 MiB each, and 160 for QEMU), and it "
                        "has 1 CPUs and 500 MiB there"));
  EXPECT_THAT(next({4, 2000, {{"c1", {2, 1500}}, {"c2", {2, 500}}}}).refuse.at(0).reason, HasSubstr("500 MiB there"));
  EXPECT_THAT(next({4, 1344, {{"c1", {2, 672}}, {"c2", {2, 672}}}}).make, SizeIs(1));
  EXPECT_THAT(next({4, 1344, {{"c1", {2, 0}}, {"c2", {2, 0}}}}).make, SizeIs(1)) << "memory is not counted";
  const auto half = next({4, 1344, {{"c1", {2, 672}}}});
  EXPECT_THAT(half.make, IsEmpty()) << "Slurm tells of the other one in a moment";
  EXPECT_THAT(half.refuse, IsEmpty());
  Given forged{4, 1344, {{"c1", {2, 672}}, {"c2", {2, 672}}}};
  forged.doubtful = true;
  EXPECT_THAT(next(forged).refuse.at(0).reason, HasSubstr("cannot be told"));
}

TEST(MachinesOfSlurmJobs, LeaseDevicesToOneJobAtATime) {
  auto now = facts();
  const auto first = job("17", {"c1"}, {"devices", 2}), second = job("18", {"c1", "c2"}, {"devices", 0}),
             elsewhere = job("19", {"c3"}, {"devices", 0});
  const auto next = plan(now, std::vector{first, second, elsewhere}, kPlenty);
  ASSERT_THAT(next.make, SizeIs(2));
  EXPECT_THAT(next.refuse.at(0).reason, HasSubstr("leased to job 17"));
  const auto made = render(next.make[0]);
  EXPECT_THAT(vm::parse_config(made.groups[0].find_task("m1")->config).host_devices, ElementsAre("0000:3b:00.0"));
  EXPECT_THAT(vm::parse_config(made.groups[0].find_task("m2")->config).host_devices, IsEmpty());

  now.held = {held_by(next.make[0])};
  EXPECT_THAT(plan(now, std::vector{first, second}, kPlenty).refuse.at(0).reason, HasSubstr("leased to job 17"));
  now.held[0].stops = true;
  const auto between = plan(now, std::vector{second}, kPlenty);
  EXPECT_THAT(between.make, IsEmpty()) << "they are not given back yet";
  EXPECT_THAT(between.refuse, IsEmpty());
  now.held[0].gone = true;
  EXPECT_THAT(plan(now, std::vector{second}, kPlenty).make, SizeIs(1));
}

TEST(MachinesOfSlurmJobs, ThatDoNotComeUpEndTheJobWithTheirReason) {
  auto now = facts();
  const auto running = job("17", {"c1"}, {"small", 0});
  now.held = {held_by(plan(now, std::vector{running}, kPlenty).make.at(0))};
  now.held[0].trouble = "no kernel";
  const auto next = plan(now, std::vector{running}, kPlenty);
  EXPECT_THAT(next.refuse, ElementsAre(Refusal{"17", "17", "no kernel", {uuid(1)}}));
  EXPECT_THAT(next.stop, IsEmpty()) << "they go as the job does";
}

TEST(MachinesOfSlurmJobs, AreKnownFromTheTablesAlone) {
  server::testing::Desk desk;
  const auto cluster = declared();
  desk.commit({tables::PutCluster{cluster}});
  EXPECT_THAT(clusters_with_machines(desk.tables), ElementsAre("demo"));
  const auto order = plan(facts(), std::vector{job("17", {"c1"}, {"small", 0})}, kPlenty).make.at(0);
  auto namespace_ = model::Namespace{.name = "default"};
  namespace_.raw_exec_as_root = true;
  desk.run(server::PutNamespace{namespace_});
  desk.run(server::RegisterJob{.job = render(order), .submission = {}, .enforce_index = 0});
  desk.run(
      server::RegisterJob{.job = server::testing::make_job("demo-slurm-web"), .submission = {}, .enforce_index = {}});
  auto known = facts_of(desk.tables, "demo");
  ASSERT_THAT(known.held, SizeIs(1)) << "a job that is only called so is none of ours";
  EXPECT_EQ(known.held[0].slurm_job, "17");
  EXPECT_EQ(known.held[0].started, 1000);
  EXPECT_EQ(known.held[0].network, order.network);
  EXPECT_FALSE(known.held[0].stops);

  // A machine that ends by itself is the cause; the task that waits for its answer fails because of it.
  model::Allocation allocation{.id = "0123456789", .ns = "default", .job_id = "demo-slurm-17"};
  allocation.node_name = "c1";
  allocation.client_status = model::ClientStatus::failed;
  allocation.task_states["m1"] = {.state = model::TaskRunState::dead, .started_at = 1};
  allocation.task_states["ready"] = {.state = model::TaskRunState::dead, .failed = true, .started_at = 1};
  desk.commit({tables::PutAllocation{allocation}});
  EXPECT_EQ(facts_of(desk.tables, "demo").held.at(0).trouble,
            "its machines on c1 did not come up: m1 has switched itself off: what it boots says why, to "
            "`underway alloc logs 01234567 m1`");
  allocation.client_status = model::ClientStatus::complete;
  desk.commit({tables::PutAllocation{allocation}});
  desk.run(server::DeregisterJob{.ns = "default", .id = "demo-slurm-17"});
  EXPECT_TRUE(facts_of(desk.tables, "demo").held.at(0).gone) << "nothing of it is left";
}

}  // namespace
}  // namespace underway::machines
