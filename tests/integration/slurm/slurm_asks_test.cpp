// The cluster of examples/elastic, where Slurm itself asks for hosts by its own programs
// (docs/how-to/let-slurm-ask.md): a job that is given nodes which are powered down has them made, they go when Slurm
// powers them down, a boot that fails is told to Slurm, and what its programs could not say is made up for.
#include <algorithm>
#include <csignal>
#include <sstream>

#include "harness/cluster.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using Names = std::vector<std::string>;

const Names kAlways = {"c1", "c2"};

/// As the how-to has it, but for the program, which is not installed here, and which SlurmUser may not reach where it
/// is.
const std::string kPrograms = R"(    task "programs" {
      driver = "raw_exec"
      user   = "root"

      lifecycle {
        hook = "prestart"
      }

      config {
        command = "/bin/sh"
        args = ["-ec", <<-SCRIPT
          mkdir -p /run/underway/slurm
          install -m 0755 PROGRAM /run/underway/slurm/underway
          for program in resume suspend resume-fail; do
            printf '#!/bin/sh\nexec /run/underway/slurm/underway slurm %s -cluster CLUSTER "$1" >>/var/log/slurm/underway.log 2>&1\n' $program >/run/underway/slurm/$program
            chmod 0755 /run/underway/slurm/$program
          done
        SCRIPT
        ]
      }

      resources {
        cpu    = 10
        memory = 64
      }
    }

)";

class SlurmAsks : public testing::Test {
 protected:
  SlurmAsks() {
    change("cluster.hcl", "keep_alive   = \"20s\"", "asked_by     = \"slurm\"\n      keep_alive   = \"10s\"");
    change("slurm.conf", "SlurmctldPidFile=/run/slurmctld.pid",
           "SlurmctldPidFile=/var/lib/slurm/slurmctld/slurmctld.pid");
    // Of dynamic nodes it is among ${slurm.options}.
    change("slurm.conf", "SelectTypeParameters=", "SelectType=select/cons_tres\nSelectTypeParameters=");
    std::string programs = kPrograms;
    for (const auto& [mark, value] :
         {std::pair<std::string, std::string>{"PROGRAM", binary_dir() + "/bin/underway"}, {"CLUSTER", cluster_.name()}})
      programs.replace(programs.find(mark), mark.size(), value);
    change("slurmctld.hcl", "    task \"slurmctld\" {", programs + "    task \"slurmctld\" {");
    change("slurmctld.hcl", "      user         = \"root\"",
           "      user         = \"slurm\"\n\n      identity {\n        file = true\n      }\n");
  }
  /// In the copied directory of the example.
  void change(const std::string& name, const std::string& from, const std::string& to) const {
    const std::string file = cluster_.directory() + "/" + name;
    std::string text = read_text(file);
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << name << ": " << from;
    write_text(file, text.replace(at, from.size(), to));
  }
  void apply() const {
    const auto done = cluster_.underway({"apply", cluster_.directory()});
    ASSERT_EQ(done.exit_code, 0) << done.err;
  }
  void up() const {
    cluster_.up();
    ASSERT_TRUE(eventually(seconds(60), [&] { return is_idle("c1") && is_idle("c2") && is_off("c3"); })) << log();
    ASSERT_EQ(hosts(), kAlways) << "nobody asks";
  }

  std::string submit(const std::string& words) const {
    const auto told = cluster_.on("login", "sbatch --parsable --chdir=/home " + words);
    EXPECT_EQ(told.exit_code, 0) << told.err;
    return told.out.substr(0, told.out.find('\n'));
  }
  /// "COMPLETED 0": how a job is, and how often it was started again.
  std::string job(const std::string& id) const {
    return cluster_
        .on("login",
            "scontrol -o show job " + id + " | sed 's/.* JobState=\\([A-Z]*\\) .* Restarts=\\([0-9]*\\) .*/\\1 \\2/'")
        .out;
  }
  bool is_now(const std::string& id, const std::string& state) const { return job(id) == state + "\n"; }

  std::string node(const std::string& name) const {
    return cluster_.on("login", "scontrol -a -o show node " + name + " 2>&1").out;
  }
  /// Its State and no more: "IDLE+CLOUD+POWERED_DOWN".
  std::string state(const std::string& name) const {
    const auto now = node(name);
    const std::string key = " State=";
    const auto at = now.find(key);
    return at == std::string::npos ? "" : now.substr(at + key.size(), now.find(' ', at + 1) - at - key.size());
  }
  bool is_idle(const std::string& name) const { return state(name) == "IDLE+CLOUD"; }
  /// Powered down, and to be had: neither down nor drained.
  bool is_off(const std::string& name) const { return state(name) == "IDLE+CLOUD+POWERED_DOWN"; }

  /// Of the pool that Slurm asks for, in the order of `underway host list`; nothing while no server answers.
  Names hosts() const {
    Names out;
    std::istringstream table(cluster_.underway({"host", "list"}).out);
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::string host, of, pool;
      if (words >> host >> of >> pool && pool == "compute") out.push_back(host);
    }
    return out;
  }
  bool has(const std::string& host) const {
    const auto now = hosts();
    return std::find(now.begin(), now.end(), host) != now.end();
  }
  /// What Slurm's programs have said, and were told.
  std::string said() const { return cluster_.enter("mgmt", "cat /var/log/slurm/underway.log 2>&1").out; }
  std::string log() const {
    std::string out;
    for (const Names& words : {Names{"status"}, {"host", "list"}, {"elastic", "status"}})
      out += cluster_.underway(words).out;
    return out + said() +
           cluster_.on("login", "sinfo -a -N; squeue; scontrol -o show job; scontrol -a -o show node").out +
           cluster_.enter("mgmt", "tail -n 60 /var/log/slurm/slurmctld.log").out +
           read_text(cluster_.state() + "/agent.log");
  }

  Cluster cluster_{"elastic"};
};

TEST_F(SlurmAsks, ABatchJobThatIsGivenNodesWhichArePoweredDownHasThemMadeAndTheyGoAfterwards) {
  up();
  const auto wide = submit("-N4 --wrap 'srun hostname >/home/wide'");
  ASSERT_TRUE(eventually(seconds(60), [&] { return has("c3") && has("c4"); })) << log();
  // Slurm starts a batch job on such nodes from a sweep that comes every 30 s.
  ASSERT_TRUE(eventually(seconds(120), [&] { return is_now(wide, "COMPLETED 0"); })) << log();
  EXPECT_EQ(cluster_.on("login", "sort /home/wide").out, "c1\nc2\nc3\nc4\n");
  EXPECT_NE(said().find("asked for: c[3-4]"), std::string::npos) << said();
  EXPECT_NE(cluster_.underway({"elastic", "status"}).out.find("Slurm asks"), std::string::npos);

  // SuspendTime, and SuspendTimeout until Slurm would ask for them again.
  ASSERT_TRUE(eventually(seconds(60), [&] { return hosts() == kAlways; })) << log();
  EXPECT_NE(said().find("given back: c[3-4]"), std::string::npos) << said();
  ASSERT_TRUE(eventually(seconds(90), [&] { return is_off("c3") && is_off("c4"); })) << log();
  EXPECT_TRUE(is_idle("c1") && is_idle("c2")) << "power saving leaves them alone" << log();

  // And once more.
  const auto again = submit("-N3 --wrap 'srun hostname >/home/again'");
  EXPECT_TRUE(eventually(seconds(120), [&] { return is_now(again, "COMPLETED 0"); })) << log();
}

TEST_F(SlurmAsks, AHostThatDoesNotBootIsToldToSlurmWhichQueuesTheJobAgain) {
  change("cluster.hcl", "boot_timeout = \"1m\"", "boot_timeout = \"20s\"");
  up();
  for (const auto& host : kAlways) cluster_.enter(host, "install -m 0755 /bin/true /run/fit");
  // Whatever comes from now on is never ready.
  change("cluster.hcl", "programs = [\"/usr/sbin/slurmd\"]", "programs = [\"/usr/sbin/slurmd\", \"/run/fit\"]");
  apply();
  const auto wide = submit("-N3 --wrap 'srun hostname >/home/wide'");
  ASSERT_TRUE(eventually(seconds(60), [&] { return has("c3"); })) << log();
  ASSERT_TRUE(eventually(seconds(60), [&] {
    return node("c3").find("underway: did not boot: it was not there") != std::string::npos;
  })) << log();
  EXPECT_TRUE(eventually(seconds(30), [&] { return job(wide).starts_with("PENDING"); })) << log();
  EXPECT_TRUE(eventually(seconds(60), [&] { return !has("c3"); })) << log();
  // It may be asked for again, though nobody said `scontrol update state=resume`.
  EXPECT_TRUE(eventually(seconds(90), [&] { return is_off("c3"); })) << log();
  EXPECT_TRUE(is_idle("c1") && is_idle("c2")) << log();

  change("cluster.hcl", ", \"/run/fit\"]", "]");
  apply();
  // Slurm lets a job that it queued again wait for two minutes.
  cluster_.on("login", "scontrol update jobid=" + wide + " starttime=now");
  EXPECT_TRUE(eventually(seconds(150), [&] { return job(wide).starts_with("COMPLETED"); })) << log();
}

TEST_F(SlurmAsks, WhatSlurmCouldNotSayToAServerThatWasKilledIsMadeUpFor) {
  up();
  for (const int pid : cluster_.server_agents()) ::kill(pid, SIGKILL);
  ASSERT_TRUE(eventually(seconds(10), [&] { return cluster_.server_agents().empty(); }));
  const auto told =
      cluster_.enter("login", "cd /home && sbatch --parsable --chdir=/home -N3 --wrap 'srun hostname >/home/wide'");
  ASSERT_EQ(told.exit_code, 0) << told.err;
  const auto wide = told.out.substr(0, told.out.find('\n'));
  // Its program gives up, with the reason: nobody says it again.
  ASSERT_TRUE(eventually(seconds(60), [&] { return said().find("it was tried") != std::string::npos; })) << said();
  cluster_.up();
  ASSERT_TRUE(eventually(seconds(60), [&] { return has("c3"); })) << log();
  EXPECT_TRUE(eventually(seconds(120), [&] { return is_now(wide, "COMPLETED 0"); })) << log();
  EXPECT_TRUE(eventually(seconds(60), [&] { return hosts() == kAlways; })) << log();
}

}  // namespace
}  // namespace underway::harness
