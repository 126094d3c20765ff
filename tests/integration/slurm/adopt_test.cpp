// A management server that Underway knows nothing of (munge, slurmctld, chrony and rsyslog, as a site sets them up) is
// surveyed, the plan to take it apart is written, and its canary phase is carried out: two drained nodes change to
// capsules that the plan drafted, while Slurm jobs run on the others. A capture proves that the two have nothing to say
// to the old server any more.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <regex>

#include "harness/slurm/old_site.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr const char* kCluster = R"(
namespace "default" {
  raw_exec_as_root = true
}
cluster "CLUSTER" {
  datacenter = "dc1"
  network "cluster" {
    cidr = "10.79.0.0/24"
  }
  directory "/run/munge" {
    owner = "munge"
    group = "munge"
  }
  pool "old" {
    hostname = "sms"
  }
  pool "compute" {
    size     = 4
    hostname = "c%d"
  }
  pool "infrastructure" {
    hostname = "infra"
    bridges  = true
  }
}
)";

constexpr const char* kSlurmConf = R"(ClusterName=old
SlurmctldHost=sms
SlurmUser=root
AuthType=auth/munge
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/lib/slurm/slurmd
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmdParameters=config_overrides
SlurmdTimeout=20
ReturnToService=2
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
NodeName=c[1-4] CPUs=2
PartitionName=all Nodes=c[1-4] Default=YES
)";

std::string trimmed(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
  return text;
}

class Adopt : public testing::Test, protected OldSite {
 protected:
  Adopt() : OldSite(kCluster, {"sms", "c1", "c2", "c3", "c4", "infra"}) {}
  void SetUp() override { start_site(); }

  void node_clock(const std::string& host, const std::string& server) {
    daemon(host, fmt::format("chronyd -x -d -U 'server {} iburst minpoll 0 maxpoll 0' 'cmdport 0' 'bindcmdaddress /' "
                             "'pidfile /run/node-clock.pid'",
                             server));
  }
  void node_log(const std::string& host, const std::string& server) {
    put(host, "/etc/rsyslog.conf",
        fmt::format("module(load=\"imuxsock\")\nglobal(workDirectory=\"/var/spool/rsyslog\")\n"
                    "*.* action(type=\"omfwd\" target=\"{}\" port=\"514\" protocol=\"tcp\")\n",
                    server));
    daemon(host, "rsyslogd -n -i /run/rsyslogd.pid");
  }

  void start_site() {
    const std::string key = std::string(100, 'k') + std::to_string(::getpid()) + std::string(100, 'x');
    for (const char* host : {"sms", "c1", "c2", "c3", "c4"}) {
      put(host, "/etc/munge/munge.key", key, "munge", "0400");
      put(host, "/etc/slurm/slurm.conf", kSlurmConf);
      put(host, "/etc/slurm/cgroup.conf", "CgroupPlugin=cgroup/v1\n");
      enter(host, "mkdir -p /var/log/slurm /var/lib/slurm/slurmctld /var/lib/slurm/slurmd");
      daemon(host, "setpriv --reuid munge --regid munge --clear-groups munged -F --num-threads=2");
    }
    put("sms", "/etc/chrony/chrony.conf",
        "local stratum 5\nallow 10.79.0.0/24\ndriftfile /var/lib/chrony/chrony.drift\n");
    enter("sms", "mkdir -p /run/chrony");
    put("sms", "/etc/rsyslog.conf",
        "module(load=\"imtcp\")\ninput(type=\"imtcp\" port=\"514\")\n"
        "action(type=\"omfile\" file=\"/var/log/nodes.log\")\n");
    daemon("sms", "chronyd -x -d");
    daemon("sms", "rsyslogd -n -i /run/rsyslogd.pid");
    daemon("sms", "slurmctld -D");
    for (const char* host : {"c1", "c2", "c3", "c4"}) {
      daemon(host, fmt::format("slurmd -D -N {}", host));
      node_clock(host, "sms");
      node_log(host, "sms");
    }
    ASSERT_TRUE(eventually(seconds(60), [&] { return enter("c1", "sinfo -h -o %A").out == "0/4\n"; }))
        << enter("c1", "sinfo -N").out;
  }

  /// Step 4 of the plan.
  void build_image(const std::string& name) {
    take_installed_packages(name);
    const std::string capsule = directory() + "/" + name + ".capsule";
    for (const auto& words : std::vector<std::vector<std::string>>{
             {"capsule", "build", plan() + "/images/" + name + ".hcl", "-key", key_ + ".key", "-o", capsule},
             {"capsule", "verify", capsule, "-trust", key_ + ".pub"},
             {"capsule", "push", capsule}}) {
      const auto done = cluster().underway(words, seconds(120));
      ASSERT_EQ(done.exit_code, 0) << words[1] << done.out << done.err;
    }
  }

  /// The commands of the plan that copy configuration and state into the overlay; cp does what rsync does between
  /// machines, as rsync takes no way through another process's root directory.
  void copy_into_overlay(const std::string& capsule) {
    const std::string upper = "/var/lib/underway/capsules/default/" + capsule + "/overlay/upper";
    const std::string own = root_of("infra") + "/var/lib/underway-node/capsules/default/" + capsule + "/overlay/upper";
    std::istringstream lines(plan_file("PLAN.md"));
    int copied = 0;
    for (std::string line; std::getline(lines, line);) {
      const auto to = line.rfind(upper);
      if (!line.starts_with("rsync ") || to == std::string::npos) continue;
      const std::string target = own + line.substr(to + upper.size());
      EXPECT_THAT(line, HasSubstr(" --ignore-missing-args "));
      const bool relative = line.find(" --relative ") != std::string::npos;
      std::istringstream words(line.substr(0, to));
      for (std::string word; words >> word;) {
        if (!word.starts_with("sms:/")) continue;
        const std::string path = word.substr(5);
        if (!std::filesystem::exists(root_of("sms") + "/" + path)) continue;  // --ignore-missing-args
        const auto done = shell(fmt::format("mkdir -p {0} && cd {1} && cp -a {2} {0}", target, root_of("sms"),
                                            relative ? "--parents " + path : path + "."));
        ASSERT_EQ(done.exit_code, 0) << line << done.err;
        ++copied;
      }
    }
    EXPECT_GT(copied, 0) << capsule;
  }
  std::string address_of(const std::string& file) const {
    const std::string text = plan_file(file);
    std::smatch address;
    return std::regex_search(text, address, std::regex("addresses = \\[\"([0-9.]*)/")) ? address[1].str() : "";
  }
  void run_job(const std::string& file) {
    const auto done = cluster().underway({"job", "run", plan() + "/" + file}, seconds(120));
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
  }
  Finished check_silent(const std::string& nodes, const std::string& after, const std::string& capture) {
    const std::string mac = trimmed(enter("sms", "cat /sys/class/net/eth0/address").out);
    return cluster().underway(
        {"survey", "check-silent", "-nodes", nodes, "-server", address("sms") + "," + mac, "-after", after, capture});
  }

  void survey_and_adopt();
  void move_canary_nodes();

  std::string key_ = directory() + "/operations";
};

/// The first step of the plan is to listen; here for as long as the clocks and two jobs need.
void Adopt::survey_and_adopt() {
  const std::string journal = directory() + "/old.journal", host = directory() + "/sms.json";
  Background listening(
      cluster().command({"survey", "capture", "-host", "sms", "-iface", "eth0", "-for", "15s", "-o", journal}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(enter("c1", "srun -N4 sleep 1 && logger -t site 'a step has ended'").exit_code, 0);
  }
  ASSERT_EQ(listening.wait(seconds(60)), 0);
  const std::string pid = std::to_string(cluster().agent_of("sms"));
  const auto surveyed = cluster().underway({"survey", "host", "-pid", pid});
  ASSERT_EQ(surveyed.exit_code, 0) << surveyed.err;
  write_text(host, surveyed.out);
  const auto adopted = cluster().underway(
      {"survey", "adopt", "-root", root_of("sms"), "-host", host, "-canary", "c3,c4", "-out", plan(), journal});
  ASSERT_EQ(adopted.exit_code, 0) << adopted.out << adopted.err;
}

/// As the canary step and the notes of the other steps say, on each of the two.
void Adopt::move_canary_nodes() {
  const std::string canary = plan_file("canary/canary.conf");
  for (const char* host : {"c3", "c4"}) {
    enter(host, "pkill -x slurmd; pkill -x chronyd; pkill -x rsyslogd; mkdir -p /var/spool/slurmd-canary");
    ASSERT_TRUE(
        eventually(seconds(20), [&] { return enter(host, "pgrep -x 'slurmd|chronyd|rsyslogd'").exit_code != 0; }));
    put(host, "/etc/slurm/canary.conf", canary);
    node_clock(host, address_of("ntp.hcl"));
    node_log(host, address_of("syslog.hcl"));
    daemon(host, fmt::format("slurmd -D -N {} -f /etc/slurm/canary.conf", host));
  }
}

TEST_F(Adopt, CanaryNodesOfAnOldServerLiveOnTheCapsulesOfThePlanAndSayNothingToItAnyMore) {
  survey_and_adopt();
  if (HasFatalFailure()) return;
  const std::string steps = plan_file("PLAN.md");
  for (const char* line : {"scontrol update nodename=c3,c4 state=drain reason=canary",
                           "underway file add /etc/slurm/canary.conf canary/canary.conf -capsule slurm-canary",
                           "underway job run canary/slurm-canary.hcl", "underway survey check-silent"})
    EXPECT_THAT(steps, HasSubstr(line));

  // A job of the site that must not notice.
  const auto job = enter(
      "c1",
      "sbatch --parsable -N1 -w c1 -o /tmp/ticks --wrap 'while sleep 0.2; do cut -d\" \" -f1 /proc/uptime; done'");
  ASSERT_EQ(job.exit_code, 0) << job.err;

  ASSERT_EQ(cluster().underway({"capsule", "keys", "generate", "operations", "-o", key_ + ".key"}).exit_code, 0);
  ASSERT_EQ(cluster().underway({"capsule", "keys", "trust", key_ + ".pub"}).exit_code, 0);
  for (const char* name : {"ntp", "syslog", "slurm-services"}) build_image(name);
  if (HasFatalFailure()) return;
  const auto add = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"file", "add"});
    const auto done = cluster().underway(words);
    EXPECT_EQ(done.exit_code, 0) << done.err;
  };
  EXPECT_THAT(plan_file("synchronised-files.sh"), HasSubstr("/etc/munge/munge.key -secret -owner munge -group munge "
                                                            "-capsule 'slurm-*'"));
  add({"/etc/munge/munge.key", root_of("sms") + "/etc/munge/munge.key", "-secret", "-owner", "munge", "-group", "munge",
       "-capsule", "slurm-*"});
  add({"/etc/slurm/cgroup.conf", root_of("sms") + "/etc/slurm/cgroup.conf", "-capsule", "slurm-*"});
  add({"/etc/slurm/canary.conf", plan() + "/canary/canary.conf", "-capsule", "slurm-canary"});
  for (const char* name : {"ntp", "syslog"}) copy_into_overlay(name);
  if (HasFatalFailure()) return;
  for (const char* file : {"ntp.hcl", "syslog.hcl", "canary/slurm-canary.hcl"}) run_job(file);
  if (HasFatalFailure()) return;

  ASSERT_EQ(enter("sms", "scontrol update nodename=c3,c4 state=drain reason=canary").exit_code, 0);
  ASSERT_TRUE(eventually(seconds(30), [&] { return enter("sms", "squeue -h -w c3,c4").out.empty(); }));
  const auto future = enter("sms", "scontrol update nodename=c3,c4 state=future");
  EXPECT_EQ(future.exit_code, 0) << future.err;
  move_canary_nodes();
  if (HasFatalFailure()) return;
  EXPECT_TRUE(eventually(seconds(60), [&] {
    return enter("c3", "SLURM_CONF=/etc/slurm/canary.conf srun -N2 hostname | sort").out == "c3\nc4\n";
  })) << enter("c3", "SLURM_CONF=/etc/slurm/canary.conf sinfo -N").err;

  // The proof. The clocks ask every second, so half a minute says as much as an hour at a site.
  const std::string after = trimmed(shell("date -u +%Y-%m-%dT%H:%M:%SZ").out);
  for (const char* host : {"c1", "c3", "c4"}) daemon(host, "tcpdump -Z root -U -i eth0 -w /tmp/canary.pcap");
  const std::string log =
      root_of("infra") + "/var/lib/underway-node/capsules/default/syslog/overlay/upper/var/log/nodes.log";
  EXPECT_TRUE(eventually(seconds(30), [&] {
    enter("c3", "logger -t canary 'to the capsule'");
    return read_text(log).find("to the capsule") != std::string::npos;
  }));
  EXPECT_EQ(enter("c3", "SLURM_CONF=/etc/slurm/canary.conf srun -N2 sleep 20", seconds(90)).exit_code, 0);
  for (const char* host : {"c1", "c3", "c4"}) enter(host, "pkill -TERM -x tcpdump");
  for (const char* host : {"c3", "c4"}) {
    const auto silent = check_silent(address(host), after, root_of(host) + "/tmp/canary.pcap");
    EXPECT_EQ(silent.exit_code, 0) << host << ":\n" << silent.out << silent.err;
    std::cout << host << ": " << silent.err;
  }
  const auto talks = check_silent(address("c1"), after, root_of("c1") + "/tmp/canary.pcap");
  EXPECT_EQ(talks.exit_code, 1) << "c1 still has the old server: " << talks.out << talks.err;

  // Both controllers work side by side, and the site's job ran on.
  EXPECT_EQ(enter("c2", "srun -N1 -w c2 hostname").out, "c2\n");
  EXPECT_THAT(enter("c1", "squeue -h -o '%T %r'").out, HasSubstr("RUNNING"));
  EXPECT_EQ(enter("c1", "awk 'NR > 1 && $1 - last > 10 { print $1 - last } { last = $1 }' /tmp/ticks").out, "");

  // And the way back.
  EXPECT_THAT(steps, HasSubstr("scontrol update nodename=c3,c4 state=resume"));
  const auto back = enter("sms", "scontrol update nodename=c3,c4 state=resume");
  EXPECT_EQ(back.exit_code, 0) << back.err;
  for (const char* host : {"c3", "c4"}) {
    enter(host, "pkill -x slurmd");
    ASSERT_TRUE(eventually(seconds(20), [&] { return enter(host, "pgrep -x slurmd").exit_code != 0; }));
    daemon(host, fmt::format("slurmd -D -N {}", host));
  }
  EXPECT_TRUE(eventually(seconds(60), [&] { return enter("c1", "sinfo -h -o %A").out == "1/3\n"; }))
      << enter("c1", "sinfo -N").out;
}

}  // namespace
}  // namespace underway::harness
