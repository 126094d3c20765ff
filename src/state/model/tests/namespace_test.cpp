#include "model/access/namespace.hpp"

#include <gmock/gmock.h>

#include "model/access/acl.hpp"

namespace underway::model {
namespace {

Job job_of(const std::string& driver, const std::string& user) {
  Job job;
  job.id = "j";
  job.groups.resize(1);
  job.groups[0].name = "g";
  job.groups[0].tasks.resize(1);
  job.groups[0].tasks[0].name = "t";
  job.groups[0].tasks[0].driver = driver;
  job.groups[0].tasks[0].user = user;
  return job;
}

TEST(Namespace, SaysWhichNetworksItsGroupsMayUse) {
  Namespace ns;
  ns.name = "hpc";
  ns.capabilities = {{}, {}, {"host", "bridge"}, {"bridge"}};
  EXPECT_THAT(problems(ns), ::testing::ElementsAre("network mode 'bridge' is both enabled and disabled"));
  Job job;
  job.groups.resize(1);
  job.groups[0].name = "g";
  job.groups[0].networks.resize(2);
  job.groups[0].networks[1].mode = "bridge";
  const auto refused = refusals(ns, job, true);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].find("group 'g' uses network mode 'bridge', which namespace 'hpc' does not allow"), 0u);
}

TEST(Namespace, RootByRawExecMustBeAllowed) {
  struct Case {
    const char* driver;
    const char* user;
    bool refused;
  };
  const std::vector<Case> cases = {{"capsule", "", true},      {"raw_exec", "", true},    {"raw_exec", "root", true},
                                   {"raw_exec", "0", true},    {"raw_exec", "000", true}, {"raw_exec", "munge", true},
                                   {"raw_exec", "1000", true}, {"exec", "root", true},    {"exec", "", false}};
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} as '{}'", c.driver, c.user));
    Namespace ns;
    ns.name = "default";
    const auto job = job_of(c.driver, c.user);
    EXPECT_EQ(!refusals(ns, job, false).empty(), c.refused);
    EXPECT_TRUE(refusals(ns, job, true).empty()) << "agent -dev";
    ns.raw_exec_as_root = true;
    EXPECT_TRUE(refusals(ns, job, false).empty());
  }
}

TEST(Namespace, TheRefusalNamesTheNamespaceAndTheCommandThatAllowsIt) {
  Namespace ns;
  ns.name = "web";
  const auto lines = refusals(ns, job_of("raw_exec", ""), false);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "task 'g.t' runs as root by raw_exec, which namespace 'web' does not allow; `underway namespace apply "
            "-raw-exec-as-root web` allows it");
}

TEST(Namespace, DriversAndUsersAreListed) {
  struct Case {
    const char* name;
    NamespaceCapabilities drivers;
    std::vector<std::string> users;
    std::size_t refused;
  };
  const std::vector<Case> cases = {{"nothing is listed", {}, {}, 1},
                                   {"everybody is listed", {}, {"*"}, 0},
                                   {"its driver is listed", {{"exec"}, {}, {}, {}}, {"*"}, 0},
                                   {"another driver is listed", {{"podman"}, {}, {}, {}}, {"*"}, 1},
                                   {"its driver is forbidden", {{}, {"exec"}, {}, {}}, {"*"}, 1},
                                   {"its user is listed", {}, {"slurm", "www-*"}, 0},
                                   {"another user is listed", {}, {"slurm"}, 1},
                                   {"both are others", {{"podman"}, {}, {}, {}}, {"slurm"}, 2}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Namespace ns;
    ns.name = "default";
    ns.capabilities = c.drivers;
    ns.allowed_users = c.users;
    EXPECT_EQ(refusals(ns, job_of("exec", "www-data"), false).size(), c.refused);
  }
}

TEST(Namespace, WhatNamesNobodyRunsAsTheDriversUser) {
  Namespace ns;
  ns.name = "default";
  ns.allowed_users = {"nobody"};
  EXPECT_TRUE(refusals(ns, job_of("exec", ""), false).empty());
  EXPECT_EQ(refusals(ns, job_of("raw_exec", ""), true).size(), 1u) << "root is not listed";
}

TEST(Namespace, WithoutAListNobodyIsAnotherUser) {
  struct Case {
    const char* name;
    const char* driver;
    const char* user;
    std::vector<std::string> rights;
    std::size_t refused;
  };
  const std::vector<Case> cases = {{"who holds munge's key", "exec", "munge", {}, 1},
                                   {"a person", "raw_exec", "alice", {}, 1},
                                   {"in a file tree of his own", "charliecloud", "alice", {}, 1},
                                   {"whom the driver takes by itself", "exec", "nobody", {}, 0},
                                   {"nobody is named", "exec", "", {}, 0},
                                   {"a number of the container's own", "podman", "33", {}, 0},
                                   {"root may be anybody", "exec", "munge", {"root"}, 0}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Namespace ns;
    ns.name = "default";
    ns.host_rights = c.rights;
    EXPECT_EQ(refusals(ns, job_of(c.driver, c.user), false).size(), c.refused);
  }
  Namespace ns;
  ns.name = "default";
  EXPECT_TRUE(refusals(ns, job_of("raw_exec", "munge"), true).empty()) << "raw_exec as root holds everything";
}

TEST(Namespace, AUserWhomTheNodeFillsInMayBeAnybody) {
  Namespace ns;
  ns.name = "default";
  EXPECT_EQ(refusals(ns, job_of("raw_exec", "${NOMAD_META_who}"), false).size(), 2u) << "it may be root";
  EXPECT_EQ(refusals(ns, job_of("exec", "${NOMAD_META_who}"), false).size(), 1u);
  ns.allowed_users = {"*"};
  EXPECT_EQ(refusals(ns, job_of("raw_exec", "${NOMAD_META_who}"), false).size(), 1u) << "it may be root";
  EXPECT_TRUE(refusals(ns, job_of("exec", "${NOMAD_META_who}"), false).empty());
  ns.allowed_users = {"*who*"};
  EXPECT_EQ(refusals(ns, job_of("exec", "${NOMAD_META_who}"), false).size(), 1u);
}

TEST(Namespace, TellsItsProblems) {
  Namespace ns;
  ns.name = "a/b";
  ns.description = std::string(300, 'x');
  ns.capabilities = {{"exec"}, {"exec"}, {}, {}};
  EXPECT_EQ(problems(ns).size(), 3u);
  ns = {};
  ns.name = "team-a";
  EXPECT_TRUE(problems(ns).empty());
}

TEST(AclPolicy, TellsItsProblems) {
  AclPolicy policy;
  policy.name = "no spaces here";
  policy.job_acl = JobAcl{"", "j", "", "t"};
  EXPECT_EQ(problems(policy).size(), 3u);
  policy.name = "team";
  policy.job_acl = JobAcl{"default", "", "g", ""};
  EXPECT_EQ(problems(policy), (std::vector<std::string>{"job ID must be set to set group"}));
  policy.job_acl = JobAcl{"default", "", "", ""};
  EXPECT_TRUE(problems(policy).empty()) << "for all jobs of a namespace";
  AclRole role;
  role.name = "dev";
  EXPECT_EQ(problems(role).size(), 1u) << "a role without a policy";
}

}  // namespace
}  // namespace underway::model
