// A pool whose hosts join Slurm by themselves, on the real thing: it grows while a job waits for it, shrinks under a
// job without losing it, and what an administrator does by scontrol, or a slurmctld that is away, is caught up with.
#include "harness/cluster.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

class SlurmJoins : public testing::Test {
 protected:
  void edit(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = read_text(cluster_.slurm() + "/" + file);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_text(cluster_.slurm() + "/" + file, text.replace(at, from.size(), to));
  }
  /// As docs/how-to/let-a-pool-join-slurm.md says.
  void SetUp() override {
    edit("cluster.hcl", "    cpus     = var.compute_cpus",
         "    slurm {\n      most     = 6\n      features = [\"vm\"]\n      mounts   = [\"/home\"]\n      programs = "
         "[\"/usr/sbin/slurmd\"]\n      revert   = [\"address\", \"released\", \"unknown\", \"features\"]\n    }\n"
         "    cpus     = var.compute_cpus");
    edit("slurm.conf", "SlurmctldParameters=enable_configless\nReturnToService=2\n",
         "SlurmctldParameters=enable_configless%{ if slurm.slurmctld_parameters != \"\" "
         "},${slurm.slurmctld_parameters}%{ endif }\n%{ if slurm.communication_parameters != \"\" "
         "~}\nCommunicationParameters=${slurm.communication_parameters}\n%{ endif ~}\n%{ if slurm.private_data != \"\" "
         "~}\nPrivateData=${slurm.private_data}\n%{ endif ~}\n");
    edit("slurm.conf", "SelectType=select/cons_tres\n", "${slurm.options}");
    // So that its word is kept for whoever asks by it.
    edit("slurm.conf", "HealthCheckInterval=300", "HealthCheckInterval=0");
    edit("slurmd.hcl", "args    = [\"-D\", \"-N\", \"${attr.unique.hostname}\", \"--conf-server\", \"mgmt:6817\"]",
         "args    = concat([\"-D\", \"--conf-server\", \"mgmt:6817\"], slurm.pools.compute.slurmd)");
    edit("slurmd.hcl", "          while IFS=: read",
         "          until [ -e /run/underway/slurm-admitted ]; do sleep 0.05; done\n          while IFS=: read");
  }

  void resize(int hosts) const {
    const auto changed = cluster_.underway(
        {"apply", "-yes", "-detach", "-var", "compute_nodes=" + std::to_string(hosts), cluster_.slurm()});
    ASSERT_EQ(changed.exit_code, 0) << changed.out << changed.err;
  }
  /// A job of `words` that waits, or runs until /home/NAME is there.
  std::string submit(const std::string& words) const {
    const auto told = cluster_.on("login", "sbatch --parsable --chdir=/home --mem=100 " + words);
    EXPECT_EQ(told.exit_code, 0) << told.err;
    return told.out.substr(0, told.out.find('\n'));
  }
  std::string job(const std::string& id) const {
    return cluster_
        .on("login", "scontrol -o show job " + id + " | grep -o ' JobState=[A-Z]*\\| Restarts=[0-9]*' | xargs")
        .out;
  }
  std::string node(const std::string& name) const {
    return cluster_.on("login", "scontrol -o show node " + name + " 2>&1").out;
  }
  bool is_idle(const std::string& name) const {
    return node(name).find(" State=IDLE+DYNAMIC_NORM ") != std::string::npos;
  }
  bool is_unknown(const std::string& name) const { return node(name).find("not found") != std::string::npos; }
  /// Whether there is a host of that name.
  bool has(const std::string& host) const { return status().find("\n" + host + " ") != std::string::npos; }
  std::string status() const { return cluster_.underway({"status"}).out; }
  std::string log() const {
    return status() + cluster_.on("login", "sinfo -N; squeue; scontrol -o show node").out +
           read_text(cluster_.state() + "/agent.log");
  }

  Cluster cluster_;
};

TEST_F(SlurmJoins, AsItsHostsComeAndGoAndNoJobIsLost) {
  cluster_.up({"-var", "compute_nodes=2"});
  ASSERT_TRUE(eventually(seconds(30), [&] { return is_idle("c1") && is_idle("c2"); })) << log();
  EXPECT_NE(node("c1").find(" AvailableFeatures=compute,vm "), std::string::npos) << node("c1");

  // It grows for a job that waits.
  const auto wide = submit("-N3 --wrap 'srun -N3 hostname > /home/wide'");
  EXPECT_TRUE(stays(seconds(2), [&] { return job(wide) == "JobState=PENDING Restarts=0\n"; })) << job(wide);
  resize(3);
  ASSERT_TRUE(eventually(seconds(60), [&] { return job(wide) == "JobState=COMPLETED Restarts=0\n"; }))
      << job(wide) << log();
  EXPECT_EQ(cluster_.on("login", "sort /home/wide").out, "c1\nc2\nc3\n");

  // It shrinks, and the host with a job goes when that has ended.
  const auto last = submit("-w c3 --wrap 'until [ -e /home/go ]; do sleep 0.2; done'");
  ASSERT_TRUE(eventually(seconds(20), [&] { return job(last) == "JobState=RUNNING Restarts=0\n"; })) << log();
  resize(2);
  ASSERT_TRUE(eventually(seconds(20), [&] {
    return status().find("c3 has 1 Slurm job: " + last) != std::string::npos;
  })) << log();
  EXPECT_NE(node("c3").find("Reason=underway: the node is going"), std::string::npos) << node("c3");
  EXPECT_TRUE(stays(seconds(3), [&] { return job(last) == "JobState=RUNNING Restarts=0\n"; })) << log();
  cluster_.on("login", "touch /home/go");
  ASSERT_TRUE(eventually(seconds(30), [&] { return is_unknown("c3"); })) << log();
  EXPECT_EQ(job(last), "JobState=COMPLETED Restarts=0\n");
  EXPECT_TRUE(eventually(seconds(20), [&] { return !has("c3"); })) << status();

  // Somebody uses scontrol.
  cluster_.on("mgmt",
              "scontrol update nodename=c1 nodeaddr=10.9.9.9; scontrol update nodename=c1 availablefeatures=compute "
              "activefeatures=compute; scontrol update nodename=c2 weight=7; scontrol update nodename=c2 state=drain "
              "reason='bad DIMM'");
  EXPECT_TRUE(eventually(seconds(20), [&] {
    const auto now = node("c1");
    return now.find(" NodeAddr=10.77.0.") != std::string::npos && now.find("=compute,vm ") != std::string::npos;
  })) << node("c1");
  EXPECT_TRUE(eventually(seconds(20), [&] {
    const auto now = status();
    return now.find("the weight of c2 is declared as 1, and Slurm has 7") != std::string::npos &&
           now.find("c2 is held by somebody else: 'bad DIMM'") != std::string::npos;
  })) << status();
  EXPECT_NE(node("c2").find(" Weight=7 "), std::string::npos) << "it is adopted";
  EXPECT_NE(node("c2").find("Reason=bad DIMM"), std::string::npos);
  cluster_.on("mgmt", "scontrol update nodename=c2 state=resume; scontrol delete nodename=c1");
  EXPECT_TRUE(eventually(seconds(60), [&] { return is_idle("c1"); })) << "it registers anew: " << log();
}

TEST_F(SlurmJoins, AHostThatIsNotReadyIsKeptOffAndASlurmctldThatIsAwayIsCaughtUpWith) {
  cluster_.up({"-var", "compute_nodes=1"});
  ASSERT_TRUE(eventually(seconds(30), [&] { return is_idle("c1"); })) << log();
  const auto runs = submit("-w c1 --wrap 'until [ -e /home/go ]; do sleep 0.2; done'");
  ASSERT_TRUE(eventually(seconds(20), [&] { return job(runs) == "JobState=RUNNING Restarts=0\n"; })) << log();
  // What it needs goes away: it gets no job, and the one that is there goes on.
  edit("cluster.hcl", "mounts   = [\"/home\"]", "mounts   = [\"/home\", \"/scratch\"]");
  resize(2);
  EXPECT_TRUE(eventually(seconds(60), [&] {
    return node("c1").find("Reason=underway: not ready: nothing is mounted at /scratch") != std::string::npos;
  })) << log();
  EXPECT_TRUE(eventually(seconds(20), [&] {
    return status().find("it is not ready: nothing is mounted at /scratch") != std::string::npos;
  })) << status();
  EXPECT_TRUE(stays(seconds(2), [&] { return is_unknown("c2"); })) << "its slurmd is not started: " << log();
  EXPECT_EQ(job(runs), "JobState=RUNNING Restarts=0\n");
  cluster_.on("c2", "mkdir -p /scratch && mount -t tmpfs tmpfs /scratch");
  EXPECT_TRUE(eventually(seconds(30), [&] { return is_idle("c2"); })) << log();
  cluster_.on("c1", "mkdir -p /scratch && mount -t tmpfs tmpfs /scratch");
  EXPECT_TRUE(eventually(seconds(60), [&] { return node("c1").find("DRAIN") == std::string::npos; })) << node("c1");

  // slurmctld hangs while hosts come and go.
  edit("cluster.hcl", "mounts   = [\"/home\", \"/scratch\"]", "mounts   = [\"/home\"]");
  cluster_.on("mgmt", "pkill -STOP -x 'slurmctld(-wlm)?'");
  resize(0);
  EXPECT_TRUE(eventually(seconds(60), [&] { return status().find("Slurm cannot be asked: ") != std::string::npos; }))
      << log();
  EXPECT_TRUE(has("c1")) << "a job runs there";
  resize(1);
  cluster_.on("mgmt", "pkill -CONT -x 'slurmctld(-wlm)?'");
  ASSERT_TRUE(eventually(seconds(60), [&] { return is_unknown("c2"); })) << log();
  EXPECT_EQ(job(runs), "JobState=RUNNING Restarts=0\n");
  EXPECT_TRUE(eventually(seconds(30), [&] { return node("c1").find("DRAIN") == std::string::npos; })) << node("c1");
  cluster_.on("login", "touch /home/go");
  EXPECT_TRUE(eventually(seconds(30), [&] { return job(runs) == "JobState=COMPLETED Restarts=0\n"; })) << log();
}

}  // namespace
}  // namespace underway::harness
