// The cluster of examples/elastic with a second pool, of which nothing is promised: its hosts are taken back while
// Slurm jobs run there. No job is lost, each is done again at most once, and who cannot be done again keeps its host.
#include <gmock/gmock.h>

#include <csignal>
#include <iostream>
#include <sstream>

#include "harness/cluster.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using Names = std::vector<std::string>;

class SlurmRecall : public testing::Test {
 protected:
  SlurmRecall() {
    // Two hosts that are promised, and up to three that are not.
    replace("cluster.hcl", "      most     = 6 #", "      most     = 2 #");
    cut("cluster.hcl", "    # Without this block the pool has", "      # cost_per_hour = \"0.40\"\n    }\n");
    replace("cluster.hcl", "    gang_deadline = \"2m\"\n",
            "    gang_deadline = \"2m\"\n\n    promises {\n      notice = \"10s\"\n    }\n");
    replace("cluster.hcl", "  pool \"compute\" {",
            R"(  pool "spot" {
    size     = 0
    hostname = "s%d"
    cpus     = 1
    memory   = 1000

    slurm {
      most     = 3
      mounts   = ["/home"]
      programs = ["/usr/sbin/slurmd"]
    }

    elastic {
      opportunistic = true
      keep_alive    = "2m"
      start_time    = "5s"
    }
  }

  pool "compute" {)");
    replace("slurm.conf", "KillWait=30", "KillWait=2");
    replace("slurm.conf", "SelectTypeParameters=", "SelectType=select/cons_tres\nSelectTypeParameters=");
    replace("slurm.conf", "${slurm.pools.compute.node_line}",
            "${slurm.pools.compute.node_line}\n${slurm.pools.spot.node_line}");
    replace("slurm.conf", "PartitionName=main Nodes=${slurm.pools.compute.nodes}",
            "PartitionName=main Nodes=${slurm.pools.compute.nodes},${slurm.pools.spot.nodes}");
    replace("slurmd.hcl", "  node_pool   = \"compute\"\n  type        = \"system\"\n",
            "  node_pool   = \"all\"\n  type        = \"system\"\n\n  constraint {\n    attribute = \"${node.pool}\"\n"
            "    operator  = \"regexp\"\n    value     = \"^(compute|spot)$\"\n  }\n");
  }

  std::string path(const std::string& file) const { return cluster_.directory() + "/" + file; }
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = read_text(path(file));
    const auto at = text.find(from);
    if (at == std::string::npos) throw std::runtime_error(file + " has no '" + from + "'");
    write_text(path(file), text.replace(at, from.size(), to));
  }
  void cut(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = read_text(path(file));
    const auto begin = text.find(from), end = text.find(to, begin);
    if (begin == std::string::npos || end == std::string::npos) throw std::runtime_error(file + ": " + from);
    write_text(path(file), text.erase(begin, end + to.size() - begin));
  }

  /// With both hosts that are promised taken by others, until /home/free is there.
  void up() {
    cluster_.up();
    ASSERT_TRUE(eventually(seconds(60), [&] { return on_login("sinfo -h -N -t idle -o %N") == "c1\nc2\n"; })) << log();
    for (int i = 0; i < 2; ++i)
      others_.push_back(submit("-C compute --wrap 'until [ -e /home/free ]; do sleep 0.2; done'"));
    for (const auto& id : others_) ASSERT_TRUE(eventually(seconds(30), [&] { return runs(id); })) << log();
  }
  std::string on_login(const std::string& line) const { return cluster_.on("login", line).out; }
  std::string submit(const std::string& words) const {
    const auto told = cluster_.on("login", "sbatch --parsable --chdir=/home --output=/dev/null " + words);
    EXPECT_EQ(told.exit_code, 0) << told.err;
    return told.out.substr(0, told.out.find('\n'));
  }
  /// It says where it was begun, and every number once; when it is told that it loses its host it says so, and then
  /// does what `when_told` says; empty: it does not listen.
  std::string count_to(const std::string& name, int last, const std::string& when_told,
                       const std::string& more = {}) const {
    const std::string to = "/home/" + name;
    std::string script = "#!/bin/bash\n";
    if (!when_told.empty()) script += "trap 'echo told >> " + to + ".told; " + when_told + "' TERM\n";
    script += "hostname >> " + to + ".begun\n: > " + to + ".out\nfor i in $(seq " + std::to_string(last) +
              "); do echo $i >> " + to + ".out; sleep 0.2; done\n";
    return submit(more + " <<'SCRIPT'\n" + script + "SCRIPT\n");
  }
  std::string home(const std::string& file) const { return on_login("cat /home/" + file + " 2>/dev/null"); }
  static std::string numbers(int last) {
    std::string out;
    for (int i = 1; i <= last; ++i) out += std::to_string(i) + "\n";
    return out;
  }
  /// "RUNNING 0 s1": state, how often it was begun again, and where it is.
  std::string job(const std::string& id) const {
    return on_login("scontrol -o show job " + id +
                    " | sed -E 's/.* JobState=([A-Z]*) .* Restarts=([0-9]*) .* NodeList=([^ ]*) .*/\\1 \\2 \\3/'");
  }
  bool runs(const std::string& id) const { return job(id).starts_with("RUNNING "); }
  std::string host_of(const std::string& id) const {
    const auto now = job(id);
    return now.starts_with("RUNNING ") ? now.substr(now.rfind(' ') + 1, now.size() - now.rfind(' ') - 2) : "";
  }
  bool runs_on_spot(const std::string& id) const { return host_of(id).starts_with("s"); }
  bool has_host(const std::string& name) const {
    return cluster_.underway({"host", "list"}).out.find("\n" + name + " ") != std::string::npos;
  }
  int spots() const {
    int out = 0;
    for (const auto* name : {"s1", "s2", "s3"}) out += has_host(name) ? 1 : 0;
    return out;
  }
  std::string kept_off(const std::string& id) const { return on_login("squeue -h -t all -o %x -j " + id); }
  Finished recall(Names words) const {
    words.insert(words.begin(), {"host", "recall"});
    return cluster_.underway(words, seconds(60));
  }
  /// Slurm has a job that is queued again wait for two minutes.
  void hurry(const std::string& id) const { on_login("scontrol update jobid=" + id + " starttime=now"); }
  void free_others() const { on_login("touch /home/free"); }

  std::string log() const {
    std::string out;
    for (const Names& words : {Names{"status"}, {"host", "list"}, {"elastic", "status"}})
      out += cluster_.underway(words).out;
    return out + on_login("sinfo -N -l; squeue; scontrol -o show job; scontrol -o show node") +
           read_text(cluster_.state() + "/agent.log");
  }

  Cluster cluster_{"elastic"};
  Names others_;
};

TEST_F(SlurmRecall, AJobIsDoneAgainElsewhereAndOneThatCannotBeKeepsItsHost) {
  up();
  const auto redone = count_to("redone", 300, ":"), kept = count_to("kept", 400, ":", "--no-requeue");
  for (const auto& id : {redone, kept}) ASSERT_TRUE(eventually(seconds(60), [&] { return runs_on_spot(id); })) << log();
  const auto lost = host_of(redone), spared = host_of(kept);
  EXPECT_NE(lost, spared);

  const auto told = recall({"-n", "3", "-pool", "spot", "-reason", "monday"});
  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("Recall 1: 1 of 3 hosts of pool 'spot' goes")) << told.out;
  EXPECT_THAT(told.out, HasSubstr(redone));
  EXPECT_THAT(told.out, HasSubstr("job " + kept + " may not be requeued"));
  EXPECT_TRUE(eventually(seconds(8), [&] { return home("redone.told") == "told\n"; })) << log();
  EXPECT_TRUE(runs(redone)) << "it has its notice";
  EXPECT_THAT(cluster_.underway({"elastic", "status"}).out, HasSubstr(lost + " is taken back: Slurm job " + redone));
  EXPECT_THAT(cluster_.underway({"host", "list"}).out, HasSubstr("is taken back: Slurm job " + redone));

  // The notice ends whether there is a server or not.
  for (const int pid : cluster_.server_agents()) ::kill(pid, SIGKILL);
  ASSERT_TRUE(eventually(seconds(10), [&] { return cluster_.server_agents().empty(); }));
  cluster_.up();
  ASSERT_TRUE(eventually(seconds(60), [&] { return job(redone).starts_with("PENDING 1 "); })) << log();
  EXPECT_EQ(kept_off(redone), "s[1-3]\n");
  EXPECT_TRUE(eventually(seconds(60), [&] { return !has_host(lost); })) << log();
  EXPECT_EQ(job(kept), "RUNNING 0 " + spared + "\n");

  // What was taken is not made again for who waits.
  hurry(redone);
  const auto waits = submit("-C spot --wrap true");
  EXPECT_TRUE(stays(seconds(8), [&] { return spots() == 1; })) << log();
  free_others();
  ASSERT_TRUE(eventually(seconds(120), [&] { return job(redone).starts_with("COMPLETED 1 c"); })) << log();
  EXPECT_EQ(home("redone.out"), numbers(300));
  EXPECT_THAT(home("redone.begun"), testing::MatchesRegex(lost + "\nc[12]\n"));
  EXPECT_EQ(home("redone.told"), "told\ntold\n") << "by us, and by Slurm when it was queued again";
  ASSERT_TRUE(eventually(seconds(120), [&] { return job(kept).starts_with("COMPLETED 0 "); })) << log();
  EXPECT_EQ(home("kept.out"), numbers(400));
  EXPECT_EQ(home("kept.told"), "");

  ASSERT_EQ(recall({"-end", "1"}).exit_code, 0);
  EXPECT_TRUE(eventually(seconds(60), [&] { return job(waits).starts_with("COMPLETED 0 s"); })) << log();
  EXPECT_TRUE(eventually(
      seconds(20), [&] { return cluster_.underway({"elastic", "status"}).out.find("recall 1") == std::string::npos; }));
}

TEST_F(SlurmRecall, AJobThatDoesNotListenHasAllOfItsNoticeAndIsTakenOnlyOnce) {
  up();
  const auto deaf = count_to("deaf", 2000, "");
  ASSERT_TRUE(eventually(seconds(60), [&] { return runs_on_spot(deaf); })) << log();
  const auto after = submit("--dependency=afterok:" + deaf + " --wrap true");
  const auto first = host_of(deaf);
  ASSERT_EQ(recall({first}).exit_code, 0);
  EXPECT_TRUE(stays(seconds(7), [&] { return job(deaf) == "RUNNING 0 " + first + "\n"; })) << log();
  ASSERT_TRUE(eventually(seconds(30), [&] { return job(deaf).starts_with("PENDING 1 "); })) << log();
  EXPECT_TRUE(eventually(seconds(60), [&] { return !has_host(first); })) << log();
  EXPECT_THAT(on_login("squeue -h -o %r -j " + after), HasSubstr("Dependency\n")) << "who waits for it still may";

  // Somebody lets it onto such a host nevertheless: that is not taken from it.
  ASSERT_EQ(recall({"-end", "all"}).exit_code, 0);
  const auto maker = submit("-C spot --wrap true");
  ASSERT_TRUE(eventually(seconds(60), [&] { return job(maker).starts_with("COMPLETED"); })) << log();
  ASSERT_TRUE(eventually(seconds(120), [&] {
    on_login("scontrol update jobid=" + deaf + " excnodelist= starttime=now");
    return runs_on_spot(deaf);
  })) << log();
  const auto told = recall({host_of(deaf)});
  EXPECT_THAT(told.out, HasSubstr("job " + deaf + " was taken back once already")) << told.out << told.err;
  EXPECT_TRUE(stays(seconds(15), [&] { return job(deaf).starts_with("RUNNING 1 s"); })) << log();
  on_login("scancel " + deaf);
  free_others();
}

TEST_F(SlurmRecall, WhoEndsInTimeHasEndedAndWhoFailsWhenToldIsDoneAgain) {
  up();
  const auto ready = count_to("ready", 2000, "exit 0"), saves = count_to("saves", 2000, "exit 3");
  for (const auto& id : {ready, saves}) ASSERT_TRUE(eventually(seconds(60), [&] { return runs_on_spot(id); })) << log();
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_EQ(recall({"-n", "2", "-pool", "spot"}).exit_code, 0);
  EXPECT_TRUE(eventually(seconds(10), [&] { return job(ready).starts_with("COMPLETED 0 "); })) << log();
  EXPECT_TRUE(eventually(seconds(10), [&] { return job(saves).starts_with("PENDING 1 "); })) << log();
  EXPECT_TRUE(eventually(seconds(30), [&] { return spots() == 0; })) << log();
  std::cerr << "both hosts are gone " << std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()
            << " s after the word\n";
  EXPECT_EQ(kept_off(saves), "s[1-3]\n");
  on_login("scancel " + saves);
  free_others();
}

}  // namespace
}  // namespace underway::harness
