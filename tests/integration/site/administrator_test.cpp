// What an administrator dares to do on the real thing, because Slurm jobs notice nothing of it: a new slurm.conf, a new
// munged and a new slurmd under running Slurm jobs, and a slurmd that does not work, which stops and goes back by
// itself.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "harness/cluster.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

constexpr const char* kComputeNodes[] = {"c1", "c2", "c3", "c4"};

/// Counts until it is told to stop, so that one that was held up, killed or started again shows in what it wrote.
constexpr const char* kSequence = R"(#!/bin/sh
me=$(hostname)
echo started >> /home/starts.$me
i=0
while [ ! -e /home/stop ]; do
  i=$((i + 1))
  echo $i
  sleep 0.2
done >> /home/sequence.$me
sha256sum < /home/sequence.$me > /home/sum.$me
)";

class Administrator : public testing::Test {
 protected:
  void edit(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = read_text(cluster_.slurm() + "/" + file);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_text(cluster_.slurm() + "/" + file, text.replace(at, from.size(), to));
  }

  /// Starts `line` as a Slurm job on `host`; its number.
  std::string submit(const std::string& host, const std::string& line) const {
    const auto submitted = cluster_.on("login", "sbatch --parsable --chdir=/home --mem=100 -w " + host + " " + line);
    EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
    return submitted.out.substr(0, submitted.out.find('\n'));
  }
  /// The controller saves its jobs asynchronously, and one that is not on disk yet dies with it.
  void wait_until_saved() const {
    const std::string now = cluster_.on("mgmt", "date +%s").out;
    EXPECT_TRUE(eventually(seconds(30), [&] {
      return std::atoll(cluster_.on("mgmt", "stat -c %Y /var/lib/slurm/slurmctld/job_state").out.c_str()) >
             std::atoll(now.c_str());
    })) << "the controller never saved its jobs";
  }
  std::size_t running_jobs() const {
    const auto told = cluster_.on("login", "squeue -h -t R -o %i").out;
    return static_cast<std::size_t>(std::ranges::count(told, '\n'));
  }
  /// Command line of the host's slurmd, after its pid.
  std::string slurmd(const std::string& host) const { return cluster_.on(host, "pgrep -a -x slurmd").out; }
  std::map<std::string, std::string> slurmds() const {
    std::map<std::string, std::string> all;
    for (const char* host : kComputeNodes) all[host] = slurmd(host);
    return all;
  }

  /// What became of the allocation of that version on that node.
  std::string allocation(const std::string& version, const std::string& on) const {
    std::istringstream table(cluster_.underway({"job", "allocs", "slurmd"}).out);
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::string id, node, group, of;
      if (words >> id >> node >> group >> of && of == version && node == on)
        return cluster_.underway({"alloc", "status", id}).out;
    }
    return {};
  }
  std::string deployments() const { return cluster_.underway({"job", "deployments", "slurmd"}).out; }
  /// Waits until the newest rollout is over, and is `status`.
  void expect_rollout(const std::string& status) const {
    std::string latest;
    EXPECT_TRUE(eventually(seconds(60), [&] {
      latest = cluster_.underway({"job", "deployments", "-latest", "slurmd"}).out;
      return latest.find(status) != std::string::npos;
    })) << latest;
  }

  Cluster cluster_;
};

TEST_F(Administrator, RollsOutANewSlurmUnderRunningJobsAndABrokenSlurmdGoesBackByItself) {
  edit("slurmd.hcl", "  group \"slurmd\" {", R"(  update {
    max_parallel      = 2
    min_healthy_time  = "2s"
    healthy_deadline  = "30s"
    progress_deadline = "0s"
    auto_revert       = true
  }

  group "slurmd" {
    restart {
      attempts = 3
      interval = "5m"
      delay    = "1s"
      mode     = "fail"
    }
)");
  cluster_.up();
  expect_rollout("successful");
  auto copy = cluster_.command({"host", "exec", "login", "--", "sh", "-c", "cat > /home/sequence.sh"});
  copy.input = kSequence;
  ASSERT_EQ(run(copy).exit_code, 0);
  std::map<std::string, std::string> jobs;
  for (const char* host : kComputeNodes) jobs[host] = submit(host, "/home/sequence.sh");
  submit("c1", "--wrap 'sleep 1000'");  // still there at the end, when everything is taken down
  ASSERT_TRUE(eventually(seconds(30), [&] { return running_jobs() == 5; }));
  wait_until_saved();

  // slurm.conf: the controller is replaced, and every slurmd has the new one.
  edit("slurm.conf", "KillWait=30", "KillWait=9");
  const auto configured = cluster_.underway({"apply", cluster_.slurm()}, seconds(90));
  EXPECT_EQ(configured.exit_code, 0) << configured.out << configured.err;
  EXPECT_NE(cluster_.on("login", "scontrol show config | grep KillWait").out.find("9 sec"), std::string::npos);
  for (const char* host : kComputeNodes) {
    EXPECT_TRUE(eventually(seconds(20), [&] {
      return cluster_.on(host, "grep -q KillWait=9 /var/lib/slurm/slurmd/conf-cache/slurm.conf").exit_code == 0;
    })) << host;
  }

  edit("munge.hcl", "--num-threads=2", "--num-threads=3");
  const auto authenticated = cluster_.underway({"apply", cluster_.slurm()}, seconds(90));
  EXPECT_EQ(authenticated.exit_code, 0) << authenticated.out << authenticated.err;

  // An accident: a keeper is killed, and its slurmd with it.
  const std::string before = slurmd("c2");
  EXPECT_EQ(cluster_.on("c2", "kill -9 $(ps -o ppid= -p $(pgrep -o -x slurmd))").exit_code, 0);
  EXPECT_TRUE(eventually(seconds(20), [&] {
    const auto now = slurmd("c2");
    return !now.empty() && now != before;
  })) << slurmd("c2");

  // A new slurmd, a few nodes at a time.
  const auto first = slurmds();
  edit("slurmd.hcl", "\"-D\", ", "\"-D\", \"-v\", ");
  const auto begun = cluster_.underway({"apply", "-detach", cluster_.slurm()});
  EXPECT_EQ(begun.exit_code, 0) << begun.out << begun.err;
  std::set<std::string> early;
  ASSERT_TRUE(eventually(seconds(20), [&] { return !(early = cluster_.nodes_of("slurmd", "1")).empty(); }))
      << deployments();
  EXPECT_LE(early.size(), 2u) << "not a few at a time";
  expect_rollout("successful");
  const auto second = slurmds();
  for (const auto& [host, now] : second) {
    EXPECT_NE(now, first.at(host)) << host;
    EXPECT_NE(now.find(" -v "), std::string::npos) << host << ": " << now;
  }
  EXPECT_EQ(running_jobs(), 5u);
  EXPECT_NE(allocation("0", "c1").find("Left Running"), std::string::npos) << allocation("0", "c1");

  // One that does not work: it stops at the first nodes, and the version before comes back.
  edit("slurmd.hcl", "\"-v\", ", "\"--no-such-option\", ");
  const auto failed = cluster_.underway({"apply", "-timeout=60s", cluster_.slurm()}, seconds(120));
  EXPECT_EQ(failed.exit_code, 1) << failed.err;
  EXPECT_NE(failed.err.find("rolling back to job version 1"), std::string::npos) << failed.err;
  EXPECT_NE(failed.err.find("the job went back, as version 3"), std::string::npos) << failed.err;
  EXPECT_TRUE(eventually(seconds(60), [&] { return !cluster_.nodes_of("slurmd", "3").empty(); })) << deployments();
  expect_rollout("successful");
  EXPECT_NE(deployments().find("rolling back to job version 1"), std::string::npos) << deployments();
  const auto broken = cluster_.nodes_of("slurmd", "2");
  EXPECT_GE(broken.size(), 1u);
  EXPECT_LE(broken.size(), 2u);
  for (const auto& [host, now] : slurmds()) {
    EXPECT_NE(now.find(" -v "), std::string::npos) << host << ": " << now;
    if (!broken.contains(host)) EXPECT_EQ(now, second.at(host)) << host << " was to be left alone";
  }

  // And no Slurm job has noticed.
  EXPECT_EQ(running_jobs(), 5u);
  EXPECT_EQ(cluster_.on("login", "touch /home/stop").exit_code, 0);
  for (const auto& [host, job] : jobs) {
    SCOPED_TRACE(host);
    const std::string mine = "/home/sequence." + host;
    ASSERT_TRUE(
        eventually(seconds(20), [&] { return cluster_.on("login", "test -s /home/sum." + host).exit_code == 0; }));
    const auto count = std::atoll(cluster_.on("login", "wc -l < " + mine).out.c_str());
    EXPECT_GT(count, 50) << "it counted through all of this";
    EXPECT_EQ(cluster_.on("login", "seq " + std::to_string(count) + " | sha256sum").out,
              cluster_.on("login", "cat /home/sum." + host).out)
        << "a gap in " << mine;
    EXPECT_EQ(cluster_.on("login", "cat /home/starts." + host).out, "started\n");
    // Duplicates included: one line is one start.
    std::string told;
    EXPECT_TRUE(eventually(seconds(30), [&] {
      told = cluster_.on("login", "sacct -n -D -X -P -o JobID,State,ExitCode -j " + job).out;
      return told == job + "|COMPLETED|0:0\n";
    })) << told;
  }
  // Of c3's slurmds only the one that runs has a cgroup; those before it went with the last of their Slurm jobs.
  const std::string groups = "find /sys/fs/cgroup -type d -path '*.runs/slurmd/*' | sed 's|.*/underway/||' | sort -u";
  EXPECT_TRUE(eventually(seconds(25), [&] {
    const auto runs = cluster_.on("c3", groups).out;
    return std::ranges::count(runs, '\n') == 1;
  })) << cluster_.on("c3", groups).out;
  EXPECT_EQ(cluster_.underway({"status"}).out.find("Needs you"), std::string::npos)
      << cluster_.underway({"status"}).out;
}

}  // namespace
}  // namespace underway::harness
