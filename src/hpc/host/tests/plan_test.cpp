#include <gtest/gtest.h>

#include "base/error.hpp"
#include "host/boot_plan.hpp"
#include "host/detail/groups.hpp"
#include "host/detail/layout.hpp"
#include "host/detail/record.hpp"

namespace underway::host {
namespace {

net::Cidr planned_network(std::string_view text) { return net::parse_cidr(text).value(); }

std::vector<std::string> steps_of(const BootInput& input) {
  const auto plan = plan_boot(input);
  std::vector<std::string> steps;
  for (std::size_t n = 0; n < plan.size(); ++n) steps.push_back(plan.describe(n));
  return steps;
}

std::size_t position(const std::vector<std::string>& steps, std::string_view part) {
  for (std::size_t n = 0; n < steps.size(); ++n) {
    if (steps[n].find(part) != std::string::npos) return n;
  }
  return std::string::npos;
}

BootInput example() {
  BootInput input;
  input.hostname = "c1";
  input.directory = "/state/fs/roots/c1";
  input.join_cgroup = {"/sys/fs/cgroup/memory/underway/demo/c1/cgroup.procs"};
  input.cgroup_v1 = {{"/sys/fs/cgroup/memory/underway/demo/c1", "memory"}};
  input.hidden = "/state";
  input.binds = {{"/state/socket", "/state/socket", true, false}, {"/state/fs/hosts", "/etc/hosts", false, true}};
  input.directories = {{"/run/munge", 104, 107, 0755}};
  input.agent_argv = {"/usr/bin/underway", "agent"};
  return input;
}

TEST(BootPlan, JoinsItsGroupsBeforeTheirNamespaceIsMade) {
  const auto steps = steps_of(example());
  EXPECT_LT(position(steps, "memory/underway/demo/c1/cgroup.procs"), position(steps, "make new namespaces"));
}

TEST(BootPlan, HidesTheStateDirectoryBeforeItShowsTheSocketInIt) {
  const auto steps = steps_of(example());
  const auto hidden = position(steps, "mount tmpfs on '/state/fs/roots/c1/root/state'");
  const auto shown = position(steps, "'/state/fs/roots/c1/root/state/socket'");
  ASSERT_NE(hidden, std::string::npos) << ::testing::PrintToString(steps);
  ASSERT_NE(shown, std::string::npos) << ::testing::PrintToString(steps);
  EXPECT_LT(hidden, shown);
}

TEST(BootPlan, NeedsNoMaskForAStateDirectoryThatRunOrTmpCover) {
  auto input = example();
  input.hidden = "/tmp/state";
  EXPECT_EQ(position(steps_of(input), "on '/state/fs/roots/c1/root/tmp/state'"), std::string::npos);
}

TEST(BootPlan, EndsInThePivotTheDirectoriesAndTheProgram) {
  const auto steps = steps_of(example());
  const auto pivot = position(steps, "make '/state/fs/roots/c1/root' the root");
  const auto directory = position(steps, "'/run/munge'");
  ASSERT_NE(directory, std::string::npos) << ::testing::PrintToString(steps);
  EXPECT_LT(pivot, directory) << ::testing::PrintToString(steps);
  EXPECT_EQ(position(steps, "/proc/self/exe"), steps.size() - 1) << ::testing::PrintToString(steps);
}

TEST(BootPlan, LaysAnOverlayOverEachSeparateFileSystem) {
  auto input = example();
  input.layers = {"/usr"};
  EXPECT_NE(position(steps_of(input), "on '/state/fs/roots/c1/root/usr'"), std::string::npos);
}

TEST(Record, SurvivesWritingAndReading) {
  const HostInfo host{.cluster = "demo",
                      .name = "c1",
                      .pool = "compute",
                      .addresses = {{"cluster", planned_network("10.77.0.12/24")}},
                      .init = {4711, 88123},
                      .created_at = 42,
                      .console = "/state/c1.log"};
  const auto read = decode_record(encode_record(host));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, "c1");
  EXPECT_EQ(read->pool, "compute");
  EXPECT_EQ(read->addresses, host.addresses);
  EXPECT_EQ(read->init, host.init);
  EXPECT_EQ(read->created_at, 42);
  EXPECT_EQ(read->console, host.console);
}

TEST(Record, HalfOfOneIsNone) {
  for (const char* text : {"", "{", "[]", "{}", R"({"cluster":"a","name":1})"})
    EXPECT_FALSE(decode_record(text)) << text;
}

TEST(Groups, FindsEachHierarchyOnce) {
  const auto found = find_hierarchies(
      "22 1 0:20 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
      "23 22 0:21 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "24 22 0:22 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
      "25 22 0:21 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "26 1 0:21 /x /elsewhere/memory rw - cgroup cgroup rw,memory\n");
  const std::vector<Hierarchy> expected = {{"/sys/fs/cgroup/memory", "memory", false},
                                           {"/sys/fs/cgroup/unified", "unified", true}};
  EXPECT_EQ(found, expected);
}

TEST(Groups, APureV2MachineHasALeafForPidOne) {
  const HostGroups groups(find_hierarchies("22 1 0:20 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"), "underway/demo/c1");
  EXPECT_EQ(groups.join_files(), std::vector<std::string>{"/sys/fs/cgroup/underway/demo/c1/cgroup.procs"});
  EXPECT_EQ(groups.leaf_file(), "/sys/fs/cgroup/underway/demo/c1/init/cgroup.procs");
  EXPECT_EQ(groups.late_join_files(), std::vector<std::string>{groups.leaf_file()});
}

TEST(Problems, AreAllNamed) {
  const ClusterSpec cluster{.name = "Demo",
                            .networks = {{.name = "a", .cidr = planned_network("10.0.0.0/8")},
                                         {.name = "a",
                                          .cidr = planned_network("10.77.0.0/24"),
                                          .nat = true,
                                          .gateway = net::parse_ip("10.1.1.1")}},
                            .shares = {{.path = "home", .mode = "0799"}}};
  EXPECT_EQ(problems(cluster).size(), 6U) << ::testing::PrintToString(problems(cluster));
  const HostSpec host{
      .cluster = "demo", .name = "../x", .directories = {{.path = "/run/../etc"}}, .agent_env = {"novalue"}};
  EXPECT_EQ(problems(host).size(), 4U) << ::testing::PrintToString(problems(host));
  const HostSpec good{.cluster = "demo", .name = "c1", .addresses = {{"a", planned_network("10.0.0.2/8")}}};
  EXPECT_TRUE(problems(good).empty());
}

TEST(Layout, LinkNamesFitTheKernel) {
  EXPECT_EQ(port_name("c1", "cluster"), "c1.cluster");
  EXPECT_LE(port_name("compute-node-with-long-name", "management").size(), net::kMaxLinkName);
  EXPECT_NE(uplink_name("a-b", "c"), uplink_name("a", "b-c"));
  EXPECT_NE(Layout{"/s"}.share("c", "/a/b"), Layout{"/s"}.share("c", "/a%2Fb"));
}

}  // namespace
}  // namespace underway::host
