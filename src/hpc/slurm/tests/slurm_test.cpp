#include "slurm/configuration.hpp"
#include "slurm/hostlist.hpp"

#include "base/error.hpp"

namespace underway::slurm {
namespace {

TEST(HostList, FoldsWhatDiffersInItsNumberOnly) {
  struct Case {
    std::vector<std::string> names;
    const char* expect;
  };
  const std::vector<Case> cases = {{{"c1", "c2", "c3"}, "c[1-3]"},
                                   {{"c1", "c3", "c4"}, "c[1,3-4]"},
                                   {{"mgmt"}, "mgmt"},
                                   {{"c1"}, "c1"},
                                   {{"n008", "n009", "n010"}, "n[008-010]"},
                                   {{"a1", "b1", "a2"}, "a[1-2],b1"},
                                   {{}, ""}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.expect);
    EXPECT_EQ(fold_hosts(c.names), c.expect);
  }
}

TEST(HostList, UnfoldsToTheSameNames) {
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"c1", "c2", "c3", "c9"}, {"n008", "n009", "n010"}, {"mgmt", "login"}, {"g12"}}) {
    EXPECT_EQ(unfold_hosts(fold_hosts(names)), names);
  }
  EXPECT_EQ(unfold_hosts("c[1-2]-ib,x"), (std::vector<std::string>{"c1-ib", "c2-ib", "x"}));
}

TEST(HostList, RefusesWhatIsMalformedOrHuge) {
  for (const char* bad : {"c[1-", "c[2-1]", "c[a]", "c]", "c[]", ",c1", "c1,", "c[1-999999999]"}) {
    SCOPED_TRACE(bad);
    EXPECT_THROW(unfold_hosts(bad), Error);
  }
}

TEST(Configuration, HasANodeLineForEachPoolWithWhatTheMachineHas) {
  const Machine machine{.sockets = 2, .cores_per_socket = 4, .threads_per_core = 2, .memory_mb = 64000, .cgroup = "v2"};
  model::Cluster cluster;
  cluster.name = "demo";
  model::Pool login, compute, none;
  login.name = "login";
  compute.name = "compute";
  compute.size = 4;
  compute.hostname = "c%d";
  compute.node_class = "bigmem";
  none.name = "none";
  none.size = 0;
  cluster.pools = {login, compute, none};
  const std::string compute_line =
      "NodeName=c[1-4] CPUs=16 Boards=1 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=64000 "
      "Feature=bigmem State=UNKNOWN";
  EXPECT_EQ(node_lines(cluster, machine),
            "NodeName=login CPUs=16 Boards=1 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=64000 "
            "State=UNKNOWN\n" +
                compute_line);
  const auto root = job_file_root(cluster, machine);
  const auto& pools = root.at("pools").as_object();
  EXPECT_EQ(pools.at("compute").at("nodes").as_string(), "c[1-4]");
  EXPECT_EQ(pools.at("compute").at("node_line").as_string(), compute_line);
  EXPECT_EQ(pools.at("compute").at("cpus").as_int64(), 16);
  EXPECT_EQ(pools.at("compute").at("memory").as_int64(), 64000);
  EXPECT_FALSE(pools.at("compute").at("overcommitted").as_bool());
  EXPECT_EQ(pools.at("none").at("node_line").as_string(), "");
  EXPECT_EQ(root.at("machine").at("cpus").as_int64(), 16);
  EXPECT_EQ(root.at("machine").at("cgroup").as_string(), "v2");
}

TEST(Configuration, DeclaresWhatAPoolSaysThoughTheMachineHasLess) {
  const Machine machine{.cores_per_socket = 2, .memory_mb = 2000};
  model::Cluster cluster;
  model::Pool compute;
  compute.name = "compute";
  compute.cpus = 8;
  compute.memory_mb = 16000;
  cluster.pools = {compute};
  EXPECT_EQ(node_lines(cluster, machine),
            "NodeName=compute CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=16000 "
            "State=UNKNOWN");
  EXPECT_TRUE(job_file_root(cluster, machine).at("pools").at("compute").at("overcommitted").as_bool());
}

TEST(Configuration, HasSlurmsProgramsWhereItAsksForHosts) {
  const Machine machine{.cores_per_socket = 4, .memory_mb = 8000, .slurm = Version{22, 5, 8}};
  model::Cluster cluster;
  cluster.name = "tide";
  model::Pool burst{.name = "burst", .size = 1, .hostname = "b%d", .cpus = 1, .memory_mb = 1000};
  burst.slurm = model::SlurmJoin{.most = 4};
  burst.elastic = model::PoolElastic{.boot_timeout = std::chrono::minutes(2), .keep_alive = "90s"};
  model::Pool fixed{.name = "fixed", .size = 2, .hostname = "f%d", .cpus = 1, .memory_mb = 1000};
  fixed.slurm = model::SlurmJoin{};
  cluster.pools = {burst, fixed, {.name = "login"}};
  const auto options = [&] {
    const auto text = job_file_root(cluster, machine).at("options").as_string();
    return "\n" + std::string(text.data(), text.size());
  };
  EXPECT_EQ(options().find("ResumeProgram"), std::string::npos) << "our policy asks";
  cluster.pools[0].elastic->asked_by = model::AskedBy::slurm;
  for (const char* line :
       {"\nResumeProgram=/run/underway/slurm/resume\n", "\nSuspendProgram=/run/underway/slurm/suspend\n",
        "\nResumeFailProgram=/run/underway/slurm/resume-fail\n", "\nResumeTimeout=150\n", "\nSuspendTime=90\n",
        "\nSuspendExcNodes=b1,f[1-2]\n"})
    EXPECT_NE(options().find(line), std::string::npos) << line << options();
  const auto root = job_file_root(cluster, machine);
  EXPECT_NE(root.at("pools").at("burst").at("node_line").as_string().find("State=CLOUD"), std::string::npos);
  cluster.pools[0].elastic->keep_alive = "ski_rental";
  EXPECT_NE(options().find("\nSuspendTime=600\n"), std::string::npos) << "what our policy weighs, Slurm cannot";
  cluster.pools[1].slurm->join = "dynamic";
  EXPECT_THROW(job_file_root(cluster, machine), Error);
}

}  // namespace
}  // namespace underway::slurm
