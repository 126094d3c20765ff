// The cluster of examples/elastic, on the real thing: hosts are made while Slurm jobs wait for them, and go when nobody
// has used them for a while; no job is lost by that, and what cannot be cured by hosts is told instead.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <sstream>

#include "harness/cluster.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::MatchesRegex;
using Names = std::vector<std::string>;

const Names kAlways = {"c1", "c2"};
constexpr std::size_t kMost = 6;

class SlurmGrowth : public testing::Test {
 protected:
  void up() const {
    cluster_.up();
    ASSERT_TRUE(eventually(seconds(60), [&] { return is_idle("c1") && is_idle("c2"); })) << log();
    ASSERT_EQ(hosts(), kAlways) << "nobody waits";
  }
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    const std::string path = cluster_.directory() + "/" + file;
    std::string text = read_text(path);
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_text(path, text.replace(at, from.size(), to));
  }
  void keep_alive(const std::string& span) const {
    replace("cluster.hcl", "keep_alive   = \"20s\"", "keep_alive   = \"" + span + "\"");
  }
  /// With the database and slurmdbd of examples/slurm. Before up().
  void keep_accounts() const {
    for (const auto* file : {"mariadb.hcl", "slurmdbd.hcl", "slurmdbd.conf", "account.sql"})
      write_text(cluster_.directory() + "/" + file, read_text(cluster_.slurm() + "/" + file));
    std::string job = read_text(cluster_.directory() + "/slurmdbd.hcl");
    for (auto at = job.find("demo"); at != std::string::npos; at = job.find("demo")) job.replace(at, 4, "tide");
    write_text(cluster_.directory() + "/slurmdbd.hcl", job);
    replace("cluster.hcl", "  # Seen by all hosts",
            "  secret \"nomad/jobs/slurmdbd\" {\n    generate \"password\" {\n      encoding = \"hex\"\n    }\n  }\n\n"
            "  # Seen by all hosts");
    replace("slurmctld.hcl", "  group \"slurmctld\" {",
            "  depends_on {\n    job = \"slurmdbd\"\n  }\n\n  group \"slurmctld\" {");
    replace("slurm.conf",
            "AuthType=", "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=mgmt\nAuthType=");
  }
  /// On each of the last ten days four jobs began at the same time, in three minutes as of now, and ran for half an
  /// hour.
  void have_had_jobs() const {
    const std::string query =
        "set @first = unix_timestamp() + 180 - 10 * 86400;\n"
        "insert into tide_job_table (job_name, id_assoc, id_job, id_resv, id_wckey, id_user, id_group, het_job_id, "
        "het_job_offset, cpus_req, mem_req, nodelist, nodes_alloc, `partition`, priority, state, state_reason_prev, "
        "timelimit, time_submit, time_eligible, time_start, time_end, tres_alloc, tres_req)\n"
        "select 'past', 1, 100000 + seq, 0, 0, 0, 0, 0, 0, 1, 500, 'c1', 1, 'main', 1, 3, 0, 60, "
        "@first + (seq div 4) * 86400, @first + (seq div 4) * 86400, @first + (seq div 4) * 86400, "
        "@first + (seq div 4) * 86400 + 1800, '1=1,2=500,4=1', '1=1,2=500,4=1' from seq_0_to_39;\n";
    const auto done =
        cluster_.on("mgmt", "mariadb --no-defaults --socket=/run/mysqld/mysqld.sock -u root slurm_acct_db <<'SQL'\n" +
                                query + "SQL\n");
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
  }
  /// A pool of at most two hosts, none always, with its partition. After keep_accounts().
  void add_pool(const std::string& name, const std::string& serves, const std::string& of_partition) const {
    replace("cluster.hcl", "  pool \"compute\" {",
            "  pool \"" + name + "\" {\n    size = 0\n    hostname = \"" + name +
                "%d\"\n    cpus = 1\n    memory = 1000\n    slurm {\n      most = 2\n    }\n    elastic {\n"
                "      keep_alive = \"10s\"\n      start_time = \"5s\"\n      " +
                serves + "\n    }\n  }\n\n  pool \"compute\" {");
    replace("slurm.conf", "${slurm.pools.compute.node_line}\n",
            "${slurm.pools.compute.node_line}\n${slurm.pools." + name + ".node_line}\nPartitionName=" + name +
                " Nodes=${slurm.pools." + name + ".nodes} MaxTime=01:00:00 State=UP " + of_partition + "\n");
    std::string job = read_text(cluster_.directory() + "/slurmd.hcl");
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"job \"slurmd\"", "job \"slurmd-" + name + "\""},
                                   {"node_pool   = \"compute\"", "node_pool   = \"" + name + "\""},
                                   {"slurm.pools.compute.slurmd", "slurm.pools." + name + ".slurmd"}}) {
      ASSERT_NE(job.find(from), std::string::npos) << from;
      job.replace(job.find(from), from.size(), to);
    }
    write_text(cluster_.directory() + "/slurmd-" + name + ".hcl", job);
  }
  std::string status() const { return cluster_.underway({"elastic", "status"}).out; }

  std::string submit(const std::string& words) const {
    const auto told = cluster_.on("login", "sbatch --parsable --chdir=/home " + words);
    EXPECT_EQ(told.exit_code, 0) << told.err;
    return told.out.substr(0, told.out.find('\n'));
  }
  /// A job of one processor that runs until /home/`mark` is there.
  std::string submit_until(const std::string& mark) const {
    return submit("--wrap 'until [ -e /home/" + mark + " ]; do sleep 0.2; done'");
  }
  /// "JobState=RUNNING Restarts=0", a line for each job that there has been.
  std::string jobs(const std::string& id = {}) const {
    return cluster_
        .on("login",
            "scontrol -o show job " + id + " | sed 's/.* \\(JobState=[A-Z]*\\) .* \\(Restarts=[0-9]*\\) .*/\\1 \\2/'")
        .out;
  }
  bool is_now(const std::string& id, const std::string& state) const {
    return jobs(id) == "JobState=" + state + " Restarts=0\n";
  }
  std::string node(const std::string& name) const {
    return cluster_.on("login", "scontrol -o show node " + name + " 2>&1").out;
  }
  bool is_idle(const std::string& name) const {
    const auto now = node(name);
    return now.find(" State=IDLE") != std::string::npos && now.find("DRAIN") == std::string::npos;
  }

  /// Of the pool that grows, in the order of `underway host list`; nothing while no server answers.
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
  /// As many hosts as are always there, whichever they are, and each an idle node of Slurm, which has no other.
  bool is_small_again() const {
    const auto left = hosts();
    std::string nodes;
    for (const auto& host : left) nodes += host + "\n";
    return left.size() == kAlways.size() && cluster_.on("login", "sinfo -h -N -o %N | sort -u").out == nodes &&
           is_idle(left[0]) && is_idle(left[1]);
  }
  /// The line of the pool in `underway elastic status`, its words behind single blanks.
  std::string pool_line() const {
    std::istringstream table(status());
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::string out, word;
      while (words >> word) out += (out.empty() ? "" : " ") + word;
      if (out.starts_with("compute ")) return out;
    }
    return {};
  }
  std::string explain(const std::string& id) const { return cluster_.underway({"elastic", "explain", id}).out; }
  std::string log() const {
    std::string out;
    for (const Names& words : {Names{"status"}, {"host", "list"}, {"elastic", "status"}})
      out += cluster_.underway(words).out;
    return out + cluster_.on("login", "sinfo -N; squeue; scontrol -o show job; scontrol -o show node").out +
           read_text(cluster_.state() + "/agent.log");
  }

  Cluster cluster_{"elastic"};
};

TEST_F(SlurmGrowth, AJobOfMoreHostsThanThereAreGetsThemAndTheyGoWhenNobodyUsesThem) {
  up();
  // As somebody types it: srun waits until its hosts are there.
  const auto ran = cluster_.on("login", "srun -N4 hostname >/home/ran && sort /home/ran", seconds(60));
  EXPECT_EQ(ran.exit_code, 0) << ran.err << log();
  EXPECT_EQ(ran.out, "c1\nc2\nc3\nc4\n");
  EXPECT_TRUE(has("c3") && has("c4")) << "they are kept for the next job";
  EXPECT_TRUE(eventually(seconds(20), [&] { return pool_line().starts_with("compute 2 6 0 4 0 "); }))
      << cluster_.underway({"elastic", "status"}).out;

  // The next job finds them, and more are made for those that they are too few for.
  const auto wide = submit("-N3 --wrap 'srun hostname >/home/wide'");
  ASSERT_TRUE(eventually(seconds(60), [&] { return is_now(wide, "COMPLETED"); })) << log();

  ASSERT_TRUE(eventually(seconds(120), [&] { return is_small_again(); })) << log();
  EXPECT_EQ(jobs(), "JobState=COMPLETED Restarts=0\nJobState=COMPLETED Restarts=0\n");
  // What is remembered from look to look is of the look before: else time seems to leap, and pauses never end.
  EXPECT_TRUE(stays(seconds(20), [&] {
    return cluster_.underway({"elastic", "status"}).out.find("the clock was set") == std::string::npos;
  }));
  EXPECT_TRUE(eventually(seconds(20), [&] { return pool_line().starts_with("compute 2 6 0 2 0 0 0"); }))
      << cluster_.underway({"elastic", "status"}).out;
}

TEST_F(SlurmGrowth, AJobThatThePoolCannotServeIsToldWhyAndNoHostIsMade) {
  up();
  const auto vast = submit("-N7 --wrap true");
  EXPECT_TRUE(eventually(seconds(30),
                         [&] {
                           const auto told = explain(vast);
                           return told.find("PENDING") != std::string::npos &&
                                  told.find("class 'compute' has 2 of 6 nodes") != std::string::npos;
                         }))
      << explain(vast) << log();
  EXPECT_TRUE(stays(seconds(5), [&] { return hosts() == kAlways; })) << log();
  EXPECT_TRUE(is_now(vast, "PENDING")) << jobs(vast);

  // It does not keep hosts from those that can be served.
  const auto served = submit("-N3 --wrap true");
  EXPECT_TRUE(eventually(seconds(60), [&] { return is_now(served, "COMPLETED"); })) << explain(served) << log();
  EXPECT_TRUE(is_now(vast, "PENDING")) << jobs(vast);
  EXPECT_EQ(cluster_.on("login", "scancel " + vast).exit_code, 0);
}

TEST_F(SlurmGrowth, AServerThatIsKilledWhileHostsAreMadeGoesOnWithThem) {
  up();
  const auto wide = submit("-N5 --wrap 'srun hostname >/home/wide'");
  ASSERT_TRUE(eventually(seconds(60), [&] { return hosts().size() > kAlways.size(); })) << log();
  for (const int pid : cluster_.server_agents()) ::kill(pid, SIGKILL);
  ASSERT_TRUE(eventually(seconds(10), [&] { return cluster_.server_agents().empty(); }));
  cluster_.up();
  std::size_t seen = 0;
  EXPECT_TRUE(eventually(seconds(120), [&] {
    seen = std::max(seen, hosts().size());
    return is_now(wide, "COMPLETED");
  })) << log();
  EXPECT_LE(seen, kMost);
  EXPECT_LE(cluster_.agents().size(), kMost + 3) << "of its hosts, of mgmt and login, and the server";
  EXPECT_EQ(cluster_.on("login", "sort /home/wide").out, "c1\nc2\nc3\nc4\nc5\n");
  EXPECT_TRUE(eventually(seconds(120), [&] { return is_small_again(); })) << log();
  EXPECT_EQ(jobs(), "JobState=COMPLETED Restarts=0\n");
}

TEST_F(SlurmGrowth, AHostWithAJobStaysUntilThatHasEndedByItself) {
  keep_alive("2s");
  up();
  const Names first = {submit_until("early"), submit_until("early")};
  ASSERT_TRUE(eventually(seconds(60), [&] { return is_now(first[0], "RUNNING") && is_now(first[1], "RUNNING"); }))
      << log();
  EXPECT_EQ(hosts(), kAlways) << "they have room for both";
  const auto last = submit_until("late");
  ASSERT_TRUE(eventually(seconds(60), [&] { return is_now(last, "RUNNING"); })) << log();
  EXPECT_EQ(cluster_.on("login", "squeue -h -o %N -j " + last).out, "c3\n");

  // Nobody waits any more, and the others have room: still it is not ended.
  cluster_.on("login", "touch /home/early");
  ASSERT_TRUE(eventually(seconds(30), [&] { return is_now(first[0], "COMPLETED") && is_now(first[1], "COMPLETED"); }))
      << log();
  EXPECT_TRUE(stays(seconds(10), [&] { return is_now(last, "RUNNING") && has("c3"); })) << log();
  cluster_.on("login", "touch /home/late");
  EXPECT_TRUE(eventually(seconds(30), [&] { return is_now(last, "COMPLETED"); })) << log();
  EXPECT_TRUE(eventually(seconds(120), [&] { return is_small_again(); })) << log();
}

TEST_F(SlurmGrowth, WhereTheDaysAreAlikeHostsAreThereBeforeAnybodyAsks) {
  keep_accounts();
  replace("cluster.hcl", "  elastic {", "  elastic {\n    forecast {\n      mode = \"off\"\n    }\n");
  up();
  have_had_jobs();
  // Who switches it on has it tried on what the accounting knows, and it acts at once.
  replace("cluster.hcl", "mode = \"off\"", "mode = \"act\"");
  cluster_.up();
  EXPECT_TRUE(eventually(seconds(30), [&] { return hosts().size() == 4; })) << log();
  EXPECT_THAT(status(), HasSubstr("forecast acts: of 40 jobs in 9d0h, after what a third of them teaches, it helps"));
  EXPECT_THAT(status(), HasSubstr("pool 'compute' keeps 4 idle for what is expected"));
  EXPECT_TRUE(eventually(seconds(30), [&] { return is_idle("c3") && is_idle("c4"); })) << log();
  EXPECT_TRUE(stays(seconds(25), [&] { return hosts().size() == 4; })) << "for longer than keep_alive: " << log();
  // In shadow it says so, and they go.
  replace("cluster.hcl", "mode = \"act\"", "mode = \"shadow\"");
  cluster_.up();
  EXPECT_TRUE(eventually(seconds(60), [&] { return is_small_again(); })) << log();
  EXPECT_THAT(status(), HasSubstr("forecast stays in shadow: of 40 jobs in 9d0h"));
}

TEST_F(SlurmGrowth, JobsOfAQosAndSmallOnesHaveThePoolsThatAreForThemBesideTheirOwn) {
  keep_accounts();
  replace("slurmdbd.hcl", "until ss -Hltn 'sport = :6819' | grep -q .; do sleep 0.05; done\n",
          "until ss -Hltn 'sport = :6819' | grep -q .; do sleep 0.05; done\n          sacctmgr -iQ add qos urgent\n");
  replace("slurm.conf", "AuthType=", "AccountingStorageEnforce=associations,limits,qos\nAuthType=");
  add_pool("fast", "qos = [\"urgent\"]", "AllowQos=urgent");
  add_pool("serial", "up_to_nodes = 1", "MaxNodes=1");
  up();
  const auto gives = cluster_.on("login", "sacctmgr -iQ modify user root set qos+=urgent");
  ASSERT_EQ(gives.exit_code, 0) << gives.out << gives.err;
  const std::string until_over = " --wrap 'until [ -e /home/over ]; do sleep 0.2; done'";
  for (int i = 0; i < 3; ++i) submit("-N2" + until_over);
  ASSERT_TRUE(
      eventually(seconds(60), [&] { return cluster_.on("login", "squeue -h -t R -o %A | wc -l").out == "3\n"; }))
      << "its pool is full: " << log();
  const auto plain = submit("-N2" + until_over);
  const auto urgent = submit("-N2 --qos=urgent --wrap 'srun hostname | sort >/home/urgent'");
  const auto small = submit("--wrap 'hostname >/home/small'");
  for (const auto& id : {urgent, small})
    EXPECT_TRUE(eventually(seconds(60), [&] { return is_now(id, "COMPLETED"); })) << log();
  EXPECT_THAT(cluster_.on("login", "cat /home/urgent /home/small").out, MatchesRegex("fast1\nfast2\nserial[12]\n"));
  // How a job began slurmctld tells the accounting every five seconds.
  EXPECT_TRUE(eventually(seconds(20), [&] {
    return cluster_.on("login", "sacct -nXPo Partition,QOS -j " + urgent + "," + small).out ==
           "fast|urgent\nserial|normal\n";
  })) << cluster_.on("login", "sacct -X -o JobID,Partition,QOS,State").out;
  EXPECT_EQ(cluster_.on("login", "squeue -h -o '%T %P' -j " + plain).out, "PENDING main\n") << "it is neither";
  // The tasks of an array are put there together.
  submit("-a 1-4 --wrap 'until [ -e /home/over ]; do sleep 0.2; done'");
  EXPECT_TRUE(eventually(seconds(60), [&] {
    return cluster_.on("login", "squeue -h -p serial -o '%T %P' | sort").out ==
           "PENDING serial,main\nRUNNING serial\nRUNNING serial\n";
  })) << log();
  EXPECT_EQ(status().find("stays in its partitions"), std::string::npos) << status();
  cluster_.on("login", "touch /home/over");
  EXPECT_TRUE(eventually(seconds(60), [&] { return is_now(plain, "COMPLETED"); })) << log();
}

}  // namespace
}  // namespace underway::harness
