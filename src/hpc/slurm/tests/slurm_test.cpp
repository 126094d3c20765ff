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

TEST(Configuration, HasOneNodeLineForEachPool) {
  model::Cluster cluster;
  cluster.name = "demo";
  model::Pool login, compute;
  login.name = "login";
  compute.name = "compute";
  compute.size = 4;
  compute.hostname = "c%d";
  compute.cpus = 8;
  compute.memory_mb = 16000;
  cluster.pools = {login, compute};
  EXPECT_EQ(node_lines(cluster),
            "NodeName=login State=UNKNOWN\n"
            "NodeName=c[1-4] CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=16000 "
            "State=UNKNOWN");
  EXPECT_EQ(job_file_root(cluster).at("pools").at("compute").at("nodes").as_string(), "c[1-4]");
}

}  // namespace
}  // namespace underway::slurm
