// The configuration that sites use, in examples/slurm: what holds a Slurm job to what it asked for, who may run one,
// and what takes a node out.
#include <gmock/gmock.h>

#include "harness/cluster.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr const char* kFind = "pgrep -x -f 'sleep 3711'";

class SlurmLimits : public testing::Test {
 protected:
  void SetUp() override { cluster_.up(); }
  Finished login(const std::string& line) const { return cluster_.on("login", line); }
  Finished as(const std::string& user, const std::string& line) const {
    return login("cd /; setpriv --reuid " + user + " --regid $(id -g " + user + ") --init-groups " + line);
  }
  std::string first_line(const std::string& text) const { return text.substr(0, text.find('\n')); }
  /// What a shell line on c1 says of the process of a job there, $p.
  std::string seen(const std::string& line) const {
    return cluster_.enter("c1", "p=$(" + std::string(kFind) + "); " + line).out;
  }
  std::string run_job(const std::string& options, const std::string& command) const {
    const auto submitted = login("sbatch --parsable -o /dev/null --chdir=/ " + options + " --wrap '" + command + "'");
    EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
    return first_line(submitted.out);
  }
  std::string state_of(const std::string& job) const { return login("sacct -n -X -P -o State -j " + job).out; }
  /// Directory of a process in a v1 controller, or in v2's one tree, as its host sees it.
  static std::string group_of(const std::string& controller) {
    return "awk -F: -v want=" + controller +
           " '{ n = split($2, c, \",\"); for (i = 1; i <= n; ++i) if (c[i] == want) print $3 }' /proc/$p/cgroup";
  }

  Cluster cluster_;
};

TEST_F(SlurmLimits, HoldJobsToWhatTheyAskedForAndLetOnlyThoseInWhoAreEntered) {
  // No job runs where people log in and where the controller is, and the commands work there.
  EXPECT_EQ(login("sinfo -h -N -o %N | xargs").out, "c1 c2 c3 c4\n");
  for (const char* host : {"login", "mgmt"}) {
    EXPECT_NE(cluster_.on(host, "pgrep -x slurmd").exit_code, 0) << host;
    EXPECT_EQ(cluster_.on(host, "scontrol ping").exit_code, 0) << host;
  }
  const auto config = login("scontrol show config").out;
  for (const char* line : {"proctrack/cgroup", "AccountingStorageEnforce = associations,limits,qos", "= 300 sec",
                           "priority/multifactor", "HealthCheckProgram      = /usr/local/sbin/node-health"})
    EXPECT_THAT(config, HasSubstr(line));
  // What the accounting forgets, as slurmdbd has it.
  const auto purged = login("sacctmgr show configuration | grep ^Purge | sed 's/ *= */=/'").out;
  EXPECT_EQ(purged,
            "PurgeEventAfter=12 months\nPurgeJobAfter=36 months\nPurgeResvAfter=12 months\nPurgeStepAfter=12 months\n"
            "PurgeSuspendAfter=12 months\nPurgeTXNAfter=12 months\nPurgeUsageAfter=60 months\n");
  EXPECT_EQ(config.find("config_overrides"), std::string::npos) << "that is for demonstrations";

  // Memory: 300 MB in a job that asked for 100.
  const auto greedy = run_job("--mem=100", "exec perl -e \"\\$x = 7 x 300_000_000; sleep 5\"");
  EXPECT_TRUE(eventually(seconds(60), [&] { return state_of(greedy).find("OUT_OF_ME") != std::string::npos; }))
      << state_of(greedy);

  // Processors: a job of one has one core, whatever the machine has. Who asks for nothing has the default memory.
  const auto bound =
      login("srun -n1 -c1 -w c2 sh -c 'nproc; cat /sys/fs/cgroup/memory/slurm*/uid_0/job_*/memory.limit_in_bytes'");
  EXPECT_EQ(first_line(bound.out), login("srun -n1 -c1 -w c2 lscpu -p=CPU,CORE | grep -c ',0$'").out.substr(0, 1))
      << bound.out << bound.err;
  EXPECT_THAT(bound.out, HasSubstr("524288000")) << bound.err;

  // Users: alice is the same everywhere and is entered in the accounting; daemon is a user and is not.
  const auto hers = as("alice", "srun -N4 id -un");
  EXPECT_EQ(hers.out, "alice\nalice\nalice\nalice\n") << hers.err;
  EXPECT_EQ(login("stat -c %U /home/alice").out, "alice\n");
  const auto nobodys = as("daemon", "srun id -un");
  EXPECT_NE(nobodys.exit_code, 0);
  EXPECT_THAT(nobodys.err, HasSubstr("Invalid account")) << nobodys.err;
}

TEST_F(SlurmLimits, OfJobsAreSlurmsOwnAndNotThoseOfTheTaskOfSlurmd) {
  const auto job = run_job("-w c1 --mem=64", "exec sleep 3711");
  ASSERT_TRUE(eventually(seconds(30), [&] { return cluster_.enter("c1", kFind).exit_code == 0; }));
  // Its groups are below no task of ours; where Slurm has none (v1: cpu, pids) it has no share of slurmd's.
  for (const char* controller : {"memory", "cpuset", "devices", "freezer"})
    EXPECT_THAT(seen(group_of(controller)), testing::StartsWith("/slurm")) << controller;
  EXPECT_EQ(seen("cat /sys/fs/cgroup/cpu$(" + group_of("cpu") + ")/cpu.shares"), "1024\n");
  EXPECT_EQ(seen("cat /sys/fs/cgroup/pids$(" + group_of("pids") + ")/pids.max"), "max\n");

  // slurmd has the limits of the distribution's slurmd.service, as far as this machine gives them, and says what not.
  const auto limits = cluster_.enter("c1", "cat /proc/$(pgrep -o -x slurmd)/limits | grep -E 'files|locked'").out;
  const auto most = std::stoll(cluster_.enter("c1", "ulimit -Hn").out);
  EXPECT_THAT(limits, HasSubstr(std::to_string(std::min(most, 131072LL)))) << limits;
  if (most < 131072) {
    const auto allocations = cluster_.underway({"job", "allocs", "slurmd"}).out;
    const auto id = shell("echo '" + allocations + "' | awk '/ running / { print $1; exit }'").out;
    const auto told = cluster_.underway({"alloc", "status", first_line(id)}).out;
    EXPECT_THAT(told, HasSubstr("Has less than it asks for")) << allocations;
  }

  // slurmd goes, and its jobs stay.
  const std::string before = cluster_.on("c1", "pgrep -o -x slurmd").out;
  EXPECT_EQ(cluster_.on("c1", "kill $(pgrep -o -x slurmd)").exit_code, 0);
  ASSERT_TRUE(eventually(seconds(60), [&] {
    const auto now = cluster_.on("c1", "pgrep -o -x slurmd").out;
    return !now.empty() && now != before;
  }));
  EXPECT_EQ(cluster_.enter("c1", kFind).exit_code, 0);
  EXPECT_TRUE(eventually(seconds(30), [&] {
    const auto state = login("sinfo -h -N -n c1 -o %T").out;  // up, with its job
    return state == "mixed\n" || state == "allocated\n";
  })) << login("sinfo -h -N -n c1 -o %T; sinfo -R").out;
  EXPECT_EQ(login("squeue -h -o %T -j " + job).out, "RUNNING\n");
}

TEST_F(SlurmLimits, AreJoinedByACheckOfHealthThatDrainsANodeAndTakesThatBack) {
  const auto check = [&] { return cluster_.on("c4", "/usr/local/sbin/node-health").exit_code; };
  // All may write to /tmp, so any name that can be known may be a link there.
  ASSERT_EQ(cluster_.on("c4", "ln -sf /run/others /tmp/.node-health").exit_code, 0);
  EXPECT_EQ(check(), 0);
  EXPECT_EQ(cluster_.on("c4", "ls /run/others /tmp/node-health.* 2>/dev/null").out, "");

  ASSERT_EQ(cluster_.on("c4", "mount -o remount,ro /tmp").exit_code, 0);
  check();
  EXPECT_THAT(login("sinfo -h -R -o '%n %E'").out, HasSubstr("c4 health: /tmp cannot be written"));
  EXPECT_THAT(login("sinfo -h -N -n c4 -o %T").out, HasSubstr("drained"));
  ASSERT_EQ(cluster_.on("c4", "mount -o remount,rw /tmp").exit_code, 0);
  // While the controller cannot be asked it stays as it is, and is taken back afterwards.
  cluster_.on("c4", "SLURM_CONF=/nonexistent /usr/local/sbin/node-health");
  EXPECT_THAT(login("sinfo -h -N -n c4 -o %T").out, HasSubstr("drained"));
  check();
  // A drained node that is resumed has to register again before it is idle: slurmctld marks it as not responding
  // (idle*) and asks it at once (_require_node_reg in node_mgr.c, which it looks for once a second).
  EXPECT_TRUE(eventually(seconds(30), [&] { return login("sinfo -h -N -n c4 -o %T").out == "idle\n"; }))
      << login("sinfo -N; sinfo -R").out;

  // What somebody else drained stays drained.
  ASSERT_EQ(login("scontrol update NodeName=c4 State=DRAIN Reason='a bad DIMM'").exit_code, 0);
  check();
  EXPECT_THAT(login("sinfo -h -N -n c4 -o %T").out, HasSubstr("drained"));

  // So it does when there is trouble besides, which comes and goes: drained nodes are checked, too.
  ASSERT_EQ(cluster_.on("c4", "mount -o remount,ro /tmp").exit_code, 0);
  check();
  EXPECT_THAT(login("sinfo -h -R -o '%n %E'").out, HasSubstr("c4 a bad DIMM"));
  ASSERT_EQ(cluster_.on("c4", "mount -o remount,rw /tmp").exit_code, 0);
  check();
  EXPECT_THAT(login("sinfo -h -N -n c4 -o %T").out, HasSubstr("drained"));
  EXPECT_THAT(login("sinfo -h -R -o '%n %E'").out, HasSubstr("c4 a bad DIMM"));
}

TEST(DecoupledSlurmLimits, AreTheSameWhereTheControllerIsInACapsule) {
  const Cluster cluster("decoupled");
  cluster.up();
  const auto login = [&](const std::string& line) { return cluster.on("login", line); };
  EXPECT_EQ(login("sinfo -h -N -o %N | xargs").out, "c1 c2 c3 c4\n");
  const auto config = login("scontrol show config").out;
  for (const char* line : {"proctrack/cgroup", "MessageTimeout          = 30 sec", "UnkillableStepTimeout   = 180 sec"})
    EXPECT_THAT(config, HasSubstr(line));
  const std::string as = "cd /; setpriv --clear-groups --reuid ";
  const auto hers = login(as + "alice --regid 5000 srun -N4 id -un");
  EXPECT_EQ(hers.out, "alice\nalice\nalice\nalice\n") << hers.err;
  EXPECT_THAT(login(as + "daemon --regid daemon srun id -un").err, HasSubstr("Invalid account"));
  EXPECT_EQ(login("srun -N4 hostname | sort | xargs").out, "c1 c2 c3 c4\n");
  const auto greedy = login("srun --mem=100 perl -e '$x = 7 x 300_000_000; sleep 5'");
  EXPECT_THAT(greedy.err, HasSubstr("Out Of Memory")) << greedy.err;
}

}  // namespace
}  // namespace underway::harness
