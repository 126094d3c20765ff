#include "run/plan.hpp"

#include <gtest/gtest.h>

#include "run/network.hpp"

namespace underway::run {
namespace {

PlanInput example_to_plan() {
  PlanInput input;
  input.directory = "/data/run-1";
  input.overlay = "/data/capsules/default/ctl/overlay";
  input.init_program = "/usr/libexec/underway/underway-capsule-init";
  input.hostname = "ctl";
  input.join_cgroup = {"/sys/fs/cgroup/memory/underway/x/cgroup.procs"};
  input.cgroups = {{"/sys/fs/cgroup/memory/underway/x", "/sys/fs/cgroup/memory"}};
  input.task_dir = "/data/task";
  input.alloc_dir = "/data/alloc";
  input.binds = {{"/srv/home", "/home", true}};
  input.run_directories = {{"/run/munge", 104, 107, 0755}};
  input.environment = {"PATH=/bin"};
  return input;
}

std::vector<std::string> steps_of(const PlanInput& input) {
  const auto plan = plan_capsule(input);
  std::vector<std::string> steps;
  for (std::size_t n = 0; n < plan.size(); ++n) steps.push_back(plan.describe(n));
  return steps;
}

std::size_t position(const std::vector<std::string>& steps, std::string_view part) {
  for (std::size_t n = 0; n < steps.size(); ++n) {
    if (steps[n].find(part) != std::string::npos) return n;
  }
  ADD_FAILURE() << "no step has '" << part << "' among " << ::testing::PrintToString(steps);
  return 0;
}

TEST(Plan, JoinsTheCgroupBeforeItsNamespaceIsMadeAndMountsNothingForTheHost) {
  const auto steps = steps_of(example_to_plan());
  EXPECT_LT(position(steps, "cgroup.procs"), position(steps, "make new namespaces"));
  EXPECT_LT(position(steps, "change the mount at '/'"), position(steps, "mount overlay"));
}

TEST(Plan, MountsTheCapsulesOwnFirstAndWhatIsGivenLast) {
  const auto steps = steps_of(example_to_plan());
  const auto root = position(steps, "mount overlay on 'root'");
  const auto run = position(steps, "mount tmpfs on '/data/run-1/root/run'");
  EXPECT_LT(root, run);
  EXPECT_LT(run, position(steps, "root/run/munge'"));
  EXPECT_LT(run, position(steps, "root/run/underway'"));
  EXPECT_LT(position(steps, "root/run/underway'"), position(steps, "'/data/run-1/root/home'"));
  EXPECT_LT(position(steps, "'/data/run-1/root/home'"), position(steps, "make '/data/run-1/root' the root"));
}

TEST(Plan, EndsInItsInit) {
  const auto steps = steps_of(example_to_plan());
  EXPECT_EQ(position(steps, "/run/underway/init'"), position(steps, "/run/underway/init'"));
  EXPECT_NE(steps.back().find("/run/underway/init"), std::string::npos);
}

TEST(Ports, HaveNamesThatFollowFromTheOwnerAndHardwareAddressesFromTheAddress) {
  NetworkConfig one;
  one.name = "cluster";
  one.addresses = {"10.77.0.5/24"};
  NetworkConfig two;
  two.name = "bmc";
  two.addresses = {"fd00::1:5/64"};
  two.vlan = 12;
  const auto ports = ports_of({one, two}, "capsule/7f3a/ctl");
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_EQ(ports[0].mac, "02:02:0a:4d:00:05");
  EXPECT_EQ(ports[0].link(), "eth0");
  EXPECT_EQ(ports[1].mac, "02:03:00:01:00:05");
  EXPECT_EQ(ports[1].link(), "eth1.12");
  EXPECT_NE(ports[0].host_link, ports[1].host_link);
  EXPECT_LE(ports[0].host_link.size(), net::kMaxLinkName);
  EXPECT_EQ(ports_of({one}, "capsule/7f3a/ctl")[0].host_link, ports[0].host_link);
  EXPECT_NE(ports_of({one}, "capsule/7f3b/ctl")[0].host_link, ports[0].host_link);
}

}  // namespace
}  // namespace underway::run
