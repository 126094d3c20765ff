#include "model/validate/task_rights.hpp"

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>

#include "model/access/namespace.hpp"

namespace underway::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

HostRights needed(const std::string& driver, const std::string& user, const std::string& config) {
  HostRights rights;
  for (const auto& each : rights_needed({driver, user, boost::json::parse(config), false, false, {}}))
    rights.insert(each.right);
  return rights;
}

TEST(TaskRights, TheTable) {
  struct Case {
    const char *driver, *user, *config;
    HostRights needs;
  };
  const HostRights none, root{HostRight::root}, spaces{HostRight::host_namespaces}, paths{HostRight::host_paths},
      devices{HostRight::devices}, node{HostRight::node};
  const std::vector<Case> cases = {
      {"raw_exec", "", "{}", node},
      {"raw_exec", "root", "{}", node},
      {"raw_exec", "00", "{}", node},
      {"raw_exec", "${NOMAD_META_who}", "{}", node},
      {"raw_exec", "munge", "{}", none},
      {"capsule", "", "{}", node},
      {"qemu", "alice", "{}", node},
      {"exec", "", "{}", none},
      {"exec", "alice", R"({"command": "x", "ulimits": {"nofile": "5"}, "pid_mode": "private"})", none},
      {"exec", "${NOMAD_META_who}", "{}", none},
      {"exec", "alice", R"({"oom_score_adj": 300})", none},
      {"exec", "alice", R"({"oom_score_adj": -1})", node},
      {"raw_exec", "alice", R"({"oom_score_adj": "-1000"})", node},
      {"exec", "root", "{}", root},
      {"exec", "0", "{}", root},
      {"exec", "alice", R"({"pid_mode": "host"})", spaces},
      {"exec", "alice", R"({"ipc_mode": "host"})", spaces},
      {"exec", "alice", R"({"pid_mode": "${NOMAD_META_mode}"})", spaces},
      {"exec", "alice", R"({"pid_mode": ["host"]})", spaces},
      {"exec", "alice", R"({"devices": ["/dev/sda"]})", devices},
      {"exec", "alice", R"({"devices": []})", none},
      {"exec", "alice", R"({"seccomp": "default"})", none},
      {"exec", "alice", R"({"seccomp": "unconfined"})", node},
      {"exec", "alice", R"({"seccomp": "/tmp/all.json"})", node},
      {"exec", "alice", R"({"cap_add": ["NET_BIND_SERVICE", "cap_chown"]})", none},
      {"exec", "alice", R"({"cap_add": ["sys_admin"]})", node},
      {"exec", "alice", R"({"cap_add": ["all"]})", node},
      {"podman", "", R"({"image": "alpine"})", none},
      {"podman", "root", R"({"image": "alpine", "userns": "auto:size=4096"})", none},
      {"podman", "", R"({"userns": "host"})", root},
      {"podman", "", R"({"userns": "keep-id"})", root},
      {"docker", "", R"({"userns_mode": "host"})", root},
      {"podman", "", R"({"userns": "auto:uidmapping=0:0:1"})", root},
      {"podman", "", R"({"privileged": true})", node},
      {"podman", "", R"({"privileged": "${NOMAD_META_p}"})", node},
      {"podman", "", R"({"privileged": false})", none},
      {"podman", "", R"({"pid_mode": "host"})", spaces},
      {"podman", "", R"({"uts_mode": "host"})", spaces},
      {"podman", "", R"({"volumes": ["data:/data", "/etc:/host:ro"]})", paths},
      {"podman", "", R"({"volumes": ["data:/data"]})", none},
      {"docker", "", R"({"mounts": [{"type": "bind", "source": "/", "target": "/host"}]})", paths},
      {"podman", "", R"({"mount": {"type": "bind", "source": "/", "target": "/host"}})", paths},
      {"podman", "", R"({"image": "oci-archive:/root/x.tar"})", paths},
      {"podman", "", R"({"init_path": "/root/x"})", paths},
      {"podman", "", R"({"devices": ["/dev/sda"]})", devices},
      {"docker", "", R"({"devices": [{"host_path": "/dev/sda"}]})", devices},
      {"podman", "", R"({"cap_add": ["mknod"]})", node},
      {"podman", "", R"({"cap_add": ["chown"]})", none},
      {"podman", "", R"({"security_opt": ["no-new-privileges"]})", none},
      {"podman", "", R"({"security_opt": ["seccomp=unconfined"]})", node},
      {"podman", "", R"({"security_opt": "apparmor=unconfined"})", node},
      {"podman", "", R"({"apparmor_profile": "unconfined"})", node},
      {"charliecloud", "", R"({"bind": ["/scratch"]})", none},
      {"charliecloud", "root", "{}", root},
      {"charliecloud", "alice", R"({"image": "oci:/root/x"})", paths}};
  for (const auto& c : cases)
    EXPECT_EQ(needed(c.driver, c.user, c.config), c.needs) << c.driver << " " << c.user << " " << c.config;
}

TEST(TaskRights, LowPortsOfTheHostAreAskedForByNumber) {
  TaskGroup group;
  group.networks.resize(1);
  group.networks[0].reserved_ports = {{.label = "web", .value = 8080}};
  EXPECT_FALSE(asks_low_ports(group));
  group.networks[0].reserved_ports.push_back({.label = "nfs", .value = 111});
  EXPECT_TRUE(asks_low_ports(group));
  Task task;
  task.driver = "exec";
  EXPECT_THAT(
      rights_needed(on_host(group, task)),
      ElementsAre(RightNeeded{HostRight::low_ports, "is in a group that asks for a port below 1024 of its host"}));
  group.networks[0].mode = "bridge";
  EXPECT_THAT(rights_needed(on_host(group, task)), IsEmpty());
}

TEST(TaskRights, RawExecSharesNoFilesWithTheRootOfAContainer) {
  TaskGroup group;
  group.tasks.resize(2);
  group.tasks[0].driver = "raw_exec";
  group.tasks[0].user = "alice";
  group.tasks[1].driver = "exec";
  EXPECT_THAT(rights_needed(on_host(group, group.tasks[0])), IsEmpty());
  group.tasks[1].driver = "docker";
  ASSERT_EQ(rights_needed(on_host(group, group.tasks[0])).size(), 1u);
  EXPECT_EQ(rights_needed(on_host(group, group.tasks[0]))[0].right, HostRight::node);
}

TEST(TaskRights, RootReadsNoFilesForAContainer) {
  TaskGroup group;
  Task task;
  task.driver = "podman";
  task.artifacts.resize(2);
  task.artifacts[0].source = "https://example.org/x.tar";
  task.artifacts[1].source = "file:///etc/shadow";
  EXPECT_THAT(rights_needed(on_host(group, task)),
              ElementsAre(RightNeeded{HostRight::host_paths, "takes 'file:///etc/shadow' from its host"}));
}

TEST(TaskRights, ANamespaceGivesWhatItListsAndRawExecAsRootEverything) {
  Namespace ns;
  ns.name = "web";
  EXPECT_THAT(rights_of(ns, false), IsEmpty());
  ns.host_rights = {"root", "devices"};
  EXPECT_THAT(rights_of(ns, false), ElementsAre(HostRight::root, HostRight::devices));
  EXPECT_FALSE(holds(rights_of(ns, false), HostRight::host_paths));
  EXPECT_TRUE(holds(rights_of(ns, true), HostRight::host_paths)) << "agent -dev";
  ns.raw_exec_as_root = true;
  EXPECT_TRUE(holds(rights_of(ns, false), HostRight::host_paths));
  EXPECT_EQ(parse_rights(to_words(rights_of(ns, false))), rights_of(ns, false));
}

TEST(TaskRights, TheStrongestIsNotGivenByItsName) {
  Namespace ns;
  ns.name = "web";
  ns.host_rights = {"node", "roots"};
  EXPECT_THAT(rights_of(ns, false), IsEmpty());
  EXPECT_THAT(problems(ns),
              ElementsAre("there is no right 'node': a namespace may give root, host_namespaces, host_paths, devices, "
                          "low_ports; raw_exec_as_root gives all",
                          "there is no right 'roots': a namespace may give root, host_namespaces, host_paths, devices, "
                          "low_ports"));
}

}  // namespace
}  // namespace underway::model
