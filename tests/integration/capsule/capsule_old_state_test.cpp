// The Slurm controller's capsule becomes what it was three weeks ago. Its services ran under libfaketime then, so what
// they wrote is that old; since then hundreds of Slurm jobs have come and gone, and some run that it has never heard
// of.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <sstream>

#include "harness/farm.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kFaketime = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
constexpr int kPassedBy = 250;  ///< Slurm jobs between the snapshot and its restore

class OldState : public testing::Test {
 protected:
  void SetUp() override {
    if (::access(kFaketime, R_OK) != 0) GTEST_SKIP() << "needs libfaketime";
    // Nodes live today, and take what a controller of three weeks ago has signed.
    const std::string file = cluster_.directory() + "/slurm.conf", limits = "DefaultTime=01:00:00 MaxTime=7-00:00:00";
    std::string text = read_text(file);
    const std::string after = "AuthType=auth/munge\n";
    text.insert(text.find(after) + after.size(), "AuthInfo=cred_expire=3000000\n");
    // And jobs run for three weeks.
    ASSERT_NE(text.find(limits), std::string::npos);
    write_text(file, text.replace(text.find(limits), limits.size(), "MaxTime=INFINITE"));
    cluster_.declare_processors(8);
    cluster_.up();
  }

  std::string inside(const std::string& line) const {
    return cluster_.underway({"alloc", "exec", "-job", "slurm-services", "sh", "-c", line}).out;
  }
  std::string login(const std::string& line) const { return cluster_.enter("login", line).out; }
  bool answers() const {
    return login("timeout 3 scontrol ping; sacctmgr -n list cluster").find("is UP") != std::string::npos;
  }
  /// /local is of the allocation: a restore makes a new one, and whoever starts there lives today.
  void travel_back() const {
    const std::string owner = host();
    const auto copied = cluster_.enter(
        owner, fmt::format("to=/proc/$(pgrep -x slurmctld)/root/usr/local/lib; mkdir -p $to; cp {} $to", kFaketime));
    ASSERT_EQ(copied.exit_code, 0) << copied.err;
    inside(
        "touch /local/ago; for f in slurmctld slurmdbd; do sed -i 's,^exec setpriv,[ ! -e /local/ago ] || "
        "ago=\"env LD_PRELOAD=/usr/local/lib/libfaketimeMT.so.1 FAKETIME=-21d FAKETIME_DONT_FAKE_MONOTONIC=1\"\\n&,; "
        "s,--clear-groups,& $ago,' /usr/lib/capsule/slurm/$f; done");
    start_again();
  }
  void start_again() const {
    const std::string before = inside("pgrep -x slurmctld; pgrep -x slurmdbd");
    inside("pkill -CONT -x slurmctld; pkill -x slurmdbd; pkill -x slurmctld");
    ASSERT_TRUE(eventually(seconds(40), [&] {
      return inside("pgrep -x slurmctld; pgrep -x slurmdbd") != before && answers();
    })) << inside("tail -n 20 /var/log/slurm/slurmctld.log");
  }
  std::string host() const {
    std::istringstream words(cluster_.underway({"capsule", "status", "slurm-services"}).out);
    for (std::string word; words >> word;) {
      if (word != "Owner") continue;
      words >> word >> word;
      return word;
    }
    return "";
  }
  Farm::Options farm_options(const std::string& name) const {
    Farm::Options options;
    options.name = name;
    options.spread = true;
    options.on = [this](const std::string& where, const std::string& line, seconds limit) {
      return cluster_.enter(where, line, limit);
    };
    options.saved = [this] { return std::atoll(inside("stat -c %Y /var/lib/slurm/slurmctld/job_state").c_str()); };
    return options;
  }
  std::string submit(const std::string& how) const {
    const std::string id = login("sbatch --parsable --chdir=/ -o /dev/null --mem=16 " + how);
    return id.substr(0, id.find('\n'));
  }
  std::string state_of(const std::string& job) const {
    const std::string state = login("squeue -h -t all -o %T,%r -j " + job);
    return state.substr(0, state.find('\n'));
  }
  std::string accounted(const std::string& job) const {
    const std::string row = login("sacct -n -X -P -S now-30days -o State,Start -j " + job);
    return row.substr(0, row.find('\n'));
  }
  /// On whose disk the job has written how often.
  long long count(const std::string& file) const { return std::atoll(login("cat /home/" + file + " | wc -l").c_str()); }

  Cluster cluster_{"decoupled"};
};

TEST_F(OldState, OfThreeWeeksAgoIsRestoredWhileJobsRunThatItDoesNotKnow) {
  travel_back();
  if (HasFatalFailure()) return;
  // Three weeks ago: a farm that runs until now, one job that has ended since, and four that wait.
  Farm old_farm(cluster_, farm_options("old"));
  ASSERT_EQ(old_farm.plant(4), 4);
  const std::string ghost = submit("-w c1 --wrap 'until [ -e /home/enough ]; do sleep 0.2; done'");
  const std::string doubled = submit("-H -w c2 --wrap 'echo >>/home/doubled; sleep 600'");
  const std::string ran = submit("-w c3 --dependency=afterany:" + ghost + " --wrap 'echo >>/home/ran'");
  ASSERT_TRUE(eventually(seconds(20), [&] { return state_of(ghost).starts_with("RUNNING"); }));
  ASSERT_TRUE(old_farm.settled());
  const std::string weeks_ago = "RUNNING|" + login("date -d '3 weeks ago' +%Y-%m-%d").substr(0, 10);
  EXPECT_TRUE(eventually(seconds(20), [&] { return accounted(ghost).starts_with(weeks_ago); })) << accounted(ghost);
  // libfaketime leaves the kernel's own times alone.
  inside("pkill -STOP -x slurmctld; touch -d '3 weeks ago' /var/lib/slurm/slurmctld/*");
  const auto taken = cluster_.underway({"capsule", "snapshot", "slurm-services"}, seconds(60));
  ASSERT_EQ(taken.exit_code, 0) << taken.err;
  const std::string snapshot = taken.out.substr(0, taken.out.find('\n'));

  // Three weeks pass.
  inside("rm /local/ago");
  start_again();
  if (HasFatalFailure()) return;
  login("touch /home/enough; scontrol release " + doubled);
  Farm new_farm(cluster_, farm_options("new"));
  ASSERT_EQ(new_farm.plant(4), 4);
  const std::string array = submit(fmt::format("--array=1-{} --wrap true", kPassedBy));
  ASSERT_TRUE(eventually(seconds(90), [&] {
    return login("squeue -h -r -t PD,R,CF,CG -o %i | wc -l") == "9\n" && count("doubled") == 1 && count("ran") == 1;
  })) << login("squeue -r | head -n 30");
  const long long last = std::atoll(submit("--wrap true").c_str());
  EXPECT_GT(last, kPassedBy);

  const auto restored =
      cluster_.underway({"capsule", "restore", "slurm-services", "-snapshot", snapshot}, seconds(120));
  ASSERT_EQ(restored.exit_code, 0) << restored.out << restored.err;
  std::cout << restored.err;
  // It schedules again once it was compared with its nodes, where there is room: those that run what it does not know
  // take nothing else.
  ASSERT_TRUE(eventually(seconds(60), [&] {
    return cluster_.underway({"status"}).out.find("have run and ended") != std::string::npos;
  })) << cluster_.underway({"status"}).out;
  const std::string status = cluster_.underway({"status"}).out;
  for (const auto& job : new_farm.planted())
    EXPECT_THAT(status, HasSubstr(fmt::format("Slurm job {} runs on", job.id)));
  EXPECT_THAT(status, HasSubstr(fmt::format("Slurm job {} of root runs on c2", doubled)));
  EXPECT_EQ(state_of(doubled), "PENDING,JobHeldAdmin");
  EXPECT_THAT(state_of(ran), testing::StartsWith("CANCELLED")) << "it has run since, and would run twice";
  EXPECT_TRUE(eventually(seconds(120), [&] { return accounted(ran).starts_with("COMPLETED"); })) << accounted(ran);
  EXPECT_EQ(count("ran"), 1);
  EXPECT_TRUE(eventually(seconds(30), [&] { return accounted(ghost).starts_with("COMPLETED"); })) << accounted(ghost);
  EXPECT_EQ(login("sinfo -h -N -o %T | sort -u"), "draining\n") << login("sinfo -R");
  const long long next = std::atoll(submit("--wrap 'echo >>/home/next'").c_str());
  EXPECT_GT(next, last) << "no number is given twice";

  // What it knew has no gap and its truth in the accounting. What it did not know runs on as if nothing had been: until
  // it ends by itself, and then its nodes are given back.
  const auto known = old_farm.harvest();
  EXPECT_THAT(known.problems, IsEmpty());
  EXPECT_EQ(known.jobs, 4U);
  EXPECT_EQ(count("doubled"), 1) << "it was started twice";
  for (const std::string host : {"c1", "c2", "c3", "c4"}) {
    EXPECT_THAT(cluster_.enter(host, "pgrep -a slurmstepd").out, HasSubstr(".batch]")) << host << " runs nothing";
  }
  new_farm.release();
  cluster_.enter("c2", fmt::format("pkill -f 'slurmstepd: .{}\\.'; true", doubled));
  login("scancel " + doubled);
  EXPECT_TRUE(eventually(seconds(60), [&] { return count("next") == 1; }))
      << login("squeue; sinfo -R; sinfo -N") << cluster_.enter("c2", "pgrep -a slurmstepd").out;
  std::string written;
  for (const std::string host : {"c1", "c2", "c3", "c4"}) {
    written +=
        cluster_.enter(host, fmt::format("cd /var/tmp/new && for f in [0-9]*; do sed \"s/^/{} $f /\" $f; done", host))
            .out;
  }
  const auto records = parse_records(written);
  EXPECT_EQ(records.size(), 4U);
  for (const auto& record : records) {
    EXPECT_EQ(record.started.size(), 1U) << record.id;
    EXPECT_THAT(record.broken, IsEmpty()) << record.id;
    EXPECT_TRUE(record.exit_code) << record.id << " was ended before it was done";
    EXPECT_LT(record.longest_gap, 10) << record.id;
  }
  EXPECT_EQ(count("ran"), 1);
}

}  // namespace
}  // namespace underway::harness
