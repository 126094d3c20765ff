// The last and most dangerous step of a plan of `survey adopt`: slurmctld with slurmdbd, MariaDB and munge leaves an
// existing management server while Slurm jobs run, and its capsule takes over the server's address. What PLAN.md says
// is typed as it stands, the way back too, and first in a wrong order.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>

#include "harness/farm.hpp"
#include "harness/places.hpp"
#include "harness/slurm/old_site.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

const std::string kProgram = binary_dir() + "/bin/underway";
const std::vector<std::string> kHosts = {"sms", "c1", "c2", "infra1", "infra2"};

constexpr const char* kSlurmCluster = R"(
namespace "default" {
  raw_exec_as_root = true
}
cluster "CLUSTER" {
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
    size     = 2
    hostname = "c%d"
  }
  pool "infrastructure" {
    size     = 2
    hostname = "infra%d"
    bridges  = true
  }
}
)";

/// As the recipes of OpenHPC leave it.
constexpr const char* kOldSlurmConf = R"(ClusterName=old
SlurmctldHost=sms({})
SlurmUser=slurm
AuthType=auth/munge
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/var/run/slurm/slurmctld.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurmd.log
SlurmdParameters=config_overrides
SlurmdTimeout=300
ReturnToService=1
KillWait=5
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
SchedulerParameters=bf_interval=1,sched_min_interval=100000,sched_interval=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=sms
NodeName=c[1-2] CPUs=16 RealMemory=16000 State=UNKNOWN
PartitionName=normal Nodes=c[1-2] Default=YES MaxTime=INFINITE State=UP)";

constexpr const char* kSlurmdbdConf = R"(AuthType=auth/munge
DbdHost=sms
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=hunter2
StorageLoc=slurm_acct_db
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/var/run/slurm/slurmdbd.pid
)";

/// The plan's systemctl on a host without systemd: a unit is a file with its command, and one that tells that it works.
constexpr const char* kSystemctl = R"SH(#!/bin/sh
verb=$1
shift
for unit; do
  name=${unit%.service}
  [ -e "/etc/units/$name" ] || continue
  case $verb in
    enable)
      setsid sh -c "echo \$\$ >/run/$name.main; exec $(cat /etc/units/$name)" </dev/null >>/var/log/$name.out 2>&1 &
      until [ -s /run/$name.main ] && sh /etc/units/$name.ready >/dev/null 2>&1; do sleep 0.05; done ;;
    disable)
      main=$(cat /run/$name.main)
      kill -TERM "$main"
      while kill -0 "$main" 2>/dev/null; do sleep 0.05; done
      rm /run/$name.main ;;
  esac
done
)SH";

/// Elements of an array, and whoever waits for a job, say that they ran.
constexpr const char* kUntilReleased =
    "--wrap 'echo $SLURM_JOB_ID >>/var/tmp/others; until [ -e /var/tmp/farm/release ]; do sleep 0.2; done'";

class AdoptSlurm : public testing::Test, protected OldSite {
 protected:
  AdoptSlurm() : OldSite(kSlurmCluster, kHosts) {}

  void SetUp() override {
    const std::string key(200, 'k');
    for (const char* host : {"sms", "c1", "c2"}) {
      put(host, "/etc/munge/munge.key", key + std::to_string(::getpid()), "munge", "0400");
      put(host, "/etc/slurm/slurm.conf", fmt::format(kOldSlurmConf, address("sms")));
      put(host, "/etc/slurm/cgroup.conf", "CgroupPlugin=cgroup/v1\n");
    }
    start_server();
    if (HasFatalFailure()) return;
    for (const char* host : {"c1", "c2"}) {
      typed(host, "mkdir -p /var/spool/slurmd");
      daemon(host, "setpriv --reuid munge --regid munge --clear-groups munged -F --num-threads=2");
      daemon(host, fmt::format("slurmd -D -N {}", host));
    }
    ASSERT_TRUE(eventually(seconds(60), [&] { return nodes_answer(); })) << enter("sms", "sinfo -N; sinfo -R").out;
    tell("the site is up");
  }

  void unit(const std::string& name, const std::string& command, const std::string& ready) {
    put("sms", "/etc/units/" + name, command);
    put("sms", "/etc/units/" + name + ".ready", ready);
    typed("sms", "systemctl enable --now " + name);
  }

  /// Munge, the database, the accounting and the controller; ssh; and the command line of Underway, whose server is
  /// elsewhere.
  void start_server() {
    put("sms", "/usr/local/bin/systemctl", kSystemctl, "root", "0755");
    typed("sms",
          "install -d -o slurm -g slurm /var/spool/slurmctld /var/log/slurm /run/slurm && install -d -o mysql -g mysql "
          "/run/mysqld && mkdir -p /run/sshd /run/underway");
    put("sms", "/etc/slurm/slurmdbd.conf", kSlurmdbdConf, "slurm", "0600");
    unit("munge", "setpriv --reuid munge --regid munge --clear-groups munged -F --num-threads=2", "munge -n | unmunge");
    unit("mariadb",
         "setpriv --reuid mysql --regid mysql --clear-groups /usr/sbin/mariadbd --innodb-buffer-pool-size=32M "
         "--performance-schema=OFF --skip-networking",
         "mariadb-admin ping");
    typed("sms",
          "mariadb -e \"create user slurm@localhost identified by 'hunter2'; grant all on slurm_acct_db.* to "
          "slurm@localhost\"");
    unit("slurmdbd", "/usr/sbin/slurmdbd -D", "ss -Hltn 'sport = :6819' | grep -q .");
    unit("slurmctld", "/usr/sbin/slurmctld -D", "scontrol ping | grep -q UP");

    put("sms", "/usr/local/bin/underway", "", "root", "0755");
    std::filesystem::copy_file(kProgram, root_of("sms") + "/usr/local/bin/underway",
                               std::filesystem::copy_options::overwrite_existing);
    relay_.emplace(Command{.argv = {"socat", "UNIX-LISTEN:" + root_of("sms") + "/run/underway/agent.sock,fork",
                                    "UNIX-CONNECT:" + cluster().state() + "/run/agent.sock"}});
    typed("infra1",
          "mkdir -p /root/.ssh /var/lib/underway /var/lib/underway-node/capsules && ln -s "
          "/var/lib/underway-node/capsules /var/lib/underway/capsules && ssh-keygen -q -t ed25519 -N '' -f "
          "/root/.ssh/id_ed25519");
    put("infra1", "/root/.ssh/config",
        "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n", "root", "0600");
    put("sms", "/etc/ssh/allowed", read_text(root_of("infra1") + "/root/.ssh/id_ed25519.pub"));
    typed("sms", "ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/key_of_the_test");
    daemon("sms",
           "/usr/sbin/sshd -D -f /dev/null -h /etc/ssh/key_of_the_test -o UsePAM=no -o "
           "AuthorizedKeysFile=/etc/ssh/allowed");
    ASSERT_TRUE(eventually(seconds(10), [&] { return enter("infra1", "ssh sms true").exit_code == 0; }));
  }

  /// What has to work.
  std::string typed(const std::string& host, const std::string& line) const {
    const auto done = enter(host, "export UNDERWAY_ADDR=unix:///run/underway/agent.sock\n" + line, seconds(120));
    EXPECT_EQ(done.exit_code, 0) << host << ": " << line << "\n" << done.out << done.err;
    return done.out;
  }
  Finished on_management_side(const std::string& script) const {
    return run({.argv = {"sh", "-c", script},
                .env = {{"UNDERWAY_STATE", cluster().state()},
                        {"NO_COLOR", "1"},
                        {"PATH", kProgram.substr(0, kProgram.rfind('/')) + ":" + std::getenv("PATH")}},
                .directory = plan(),
                .limit = seconds(120)});
  }
  /// Types lines where they belong, from the plan's directory.
  void type(const TypedLines& lines) const {
    const std::string host = lines.host(kHosts);
    if (host.empty()) {
      const auto done = on_management_side(lines.script());
      EXPECT_EQ(done.exit_code, 0) << lines.where << "\n" << done.out << done.err << capsule_log();
    } else {
      typed(host, (host == "sms" ? "cd /root/plan\n" : "") + lines.script());
    }
    tell(lines.where.empty() ? "typed" : lines.where);
  }
  /// When something was done, for whoever reads the test's output.
  void tell(const std::string& what) const {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin_;
    std::cout << fmt::format("{:5.1f} s  {}\n", since.count(), what);
  }
  std::string capsule_log() const {
    const auto said = cluster().underway({"alloc", "logs", "-stderr", "-job", "slurm-services"});
    return said.out + said.err;
  }

  bool nodes_answer() const { return enter("c1", "sinfo -h -t idle,alloc,mix -o %D").out == "2\n"; }
  Farm farm(const std::string& name) const {
    Farm::Options options;
    options.name = name;
    options.submit_host = "c1";
    options.nodes = {"c1", "c2"};
    options.spread = true;
    options.on = [this](const std::string& host, const std::string& line, seconds limit) {
      return enter(host, line, limit);
    };
    return {cluster(), options};
  }
  /// Id of a job that sbatch has acknowledged.
  std::string submit(const std::string& words) const {
    std::string id = typed("c1", "cd /tmp && sbatch --parsable -o /dev/null " + words);
    return id.substr(0, id.find_first_of(";\n"));
  }
  std::string states(const std::string& jobs) const {
    return enter("c1", "squeue -h -r -o '%T' -j " + jobs + " | sort | uniq -c | tr -s ' \\n' ' '").out;
  }

  void survey_and_adopt();
  void build_and_synchronise();
  void move_in_the_wrong_order();
  void move_slurm();
  void move_back();

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<PlanStep> steps_;
  std::optional<Background> relay_;
};

/// As on the server itself, which has the plan at hand then.
void AdoptSlurm::survey_and_adopt() {
  const std::string host = directory() + "/sms.json", journal = directory() + "/old.journal";
  Background listening(
      cluster().command({"survey", "capture", "-host", "sms", "-iface", "eth0", "-for", "3s", "-o", journal}));
  typed("c1", "srun -N2 sleep 1");
  ASSERT_EQ(listening.wait(seconds(60)), 0);
  const auto surveyed = cluster().underway({"survey", "host", "-pid", std::to_string(cluster().agent_of("sms"))});
  ASSERT_EQ(surveyed.exit_code, 0) << surveyed.err;
  write_text(host, surveyed.out);
  const auto adopted =
      cluster().underway({"survey", "adopt", "-root", root_of("sms"), "-host", host, "-out", plan(), journal});
  ASSERT_EQ(adopted.exit_code, 0) << adopted.out << adopted.err;
  steps_ = read_plan_steps(plan_file("PLAN.md"));
  std::filesystem::copy(plan(), root_of("sms") + "/root/plan", std::filesystem::copy_options::recursive);
}

void AdoptSlurm::build_and_synchronise() {
  take_installed_packages("slurm-services");
  for (const auto& lines : find_step(steps_, "Build the images").commands) {
    TypedLines mine{lines.where, {}};
    for (const auto& line : lines.lines)  // the images of other services are none of this test's
      if (!line.starts_with("underway capsule build") || line.find("slurm-services") != std::string::npos)
        mine.lines.push_back(line);
    type(mine);
  }
  for (const auto& lines : find_step(steps_, "Synchronise files").commands) type(lines);
}

/// The address is given up while the old controller runs on, and nothing was copied.
void AdoptSlurm::move_in_the_wrong_order() {
  const auto& step = find_step(steps_, "Move Slurm");
  for (const auto& lines : step.commands)
    if (lines.where.find("stay logged in") != std::string::npos) type(lines);
  const auto run =
      on_management_side("underway node eligibility -disable infra2 && underway job run -detach slurm-services.hcl");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const bool told = eventually(seconds(30), [&] {
    const auto said = capsule_log();
    return said.find("a slurmctld still answers at") != std::string::npos &&
           said.find("has no job_state") != std::string::npos && said.find("has no slurm_acct_db") != std::string::npos;
  });
  EXPECT_TRUE(told) << capsule_log() << cluster().underway({"job", "status", "slurm-services"}).out;
  EXPECT_NE(enter("infra1", "pgrep -x 'slurmctld|slurmdbd|mariadbd'").exit_code, 0) << "nothing may have started";
  EXPECT_NE(on_management_side("underway alloc exec -job slurm-services scontrol ping").exit_code, 0)
      << "the plan's next line";
  const auto gone =
      on_management_side("underway node eligibility -enable infra2 && underway job stop -purge -yes slurm-services");
  ASSERT_EQ(gone.exit_code, 0) << gone.err;
  for (const auto& lines : step.back)
    if (lines.where.find("has its address again") != std::string::npos)
      type({lines.where, {lines.lines.begin(), lines.lines.end() - 1}});  // but for the question who runs
}

void AdoptSlurm::move_slurm() {
  for (const auto& lines : find_step(steps_, "Move Slurm").commands) {
    if (lines.where.find("when sinfo shows all nodes as before") != std::string::npos)
      ASSERT_TRUE(eventually(seconds(60), [&] { return nodes_answer(); })) << enter("c1", "sinfo -N; sinfo -R").out;
    type(lines);
    if (HasFailure()) return;
  }
  EXPECT_NE(enter("sms", "pgrep -x 'slurmctld|slurmdbd|mariadbd'").exit_code, 0);
  EXPECT_THAT(enter("c1", "scontrol show config | grep SlurmdTimeout").out, HasSubstr("= 300 sec"));
}

void AdoptSlurm::move_back() {
  for (const auto& lines : find_step(steps_, "Move Slurm").back) {
    if (lines.where.find("when sinfo shows all nodes as before") != std::string::npos)
      ASSERT_TRUE(eventually(seconds(60), [&] { return nodes_answer(); })) << enter("c1", "sinfo -N; sinfo -R").out;
    type(lines);
    if (HasFailure()) return;
  }
  EXPECT_NE(enter("infra1", "pgrep -x 'slurmctld|slurmdbd|mariadbd'").exit_code, 0);
}

TEST_F(AdoptSlurm, ControllerMovesIntoItsCapsuleAndBackWhileJobsRun) {
  Farm long_ones = farm("farm"), short_ones = farm("short");
  EXPECT_EQ(long_ones.plant(6), 6);
  EXPECT_EQ(short_ones.plant(4), 4);
  const std::string array = submit(fmt::format("--array=1-4%2 {}", kUntilReleased));
  const std::string after = submit(fmt::format("--dependency=afterok:{} {}", array, kUntilReleased));
  const std::string everything = submit(fmt::format("-N2 --exclusive --nice=10000 {}", kUntilReleased));
  ASSERT_TRUE(eventually(seconds(30), [&] { return enter("c1", "squeue -h -r -t R -o %i | wc -l").out == "12\n"; }))
      << enter("c1", "squeue -r").out;
  tell("jobs run");
  const std::string others = states(array + "," + after + "," + everything);
  EXPECT_EQ(others, " 4 PENDING 2 RUNNING ");

  survey_and_adopt();
  if (HasFatalFailure()) return;
  for (const char* line : {"SlurmdTimeout=3600", "systemctl disable --now slurmctld.service"})
    EXPECT_THAT(plan_file("PLAN.md"), HasSubstr(line));
  EXPECT_THAT(plan_file("PLAN.md"), Not(HasSubstr("hunter2")));
  build_and_synchronise();
  if (HasFailure()) return;
  move_in_the_wrong_order();
  if (HasFailure()) return;
  const std::string before = read_text(root_of("sms") + "/etc/slurm/slurm.conf");
  move_slurm();
  if (HasFailure()) return;
  EXPECT_EQ(read_text(root_of("sms") + "/etc/slurm/slurm.conf"), before + "\n") << "sed(1) ends the last line";

  // All that was known is known, what ends now is told, and what is new runs.
  EXPECT_EQ(states(array + "," + after + "," + everything), others);
  const Harvest ended = short_ones.harvest();
  EXPECT_THAT(ended.problems, testing::IsEmpty());
  tell("jobs that ended under the capsule are told of");
  EXPECT_EQ(ended.jobs, 4U);
  EXPECT_THAT(typed("c1", "srun -N2 --immediate=60 hostname | sort"), HasSubstr("c1\nc2\n"));
  Farm of_the_capsule = farm("capsule");
  EXPECT_EQ(of_the_capsule.plant(2), 2);
  EXPECT_TRUE(eventually(seconds(30), [&] { return enter("c1", "squeue -h -t R -n capsule").out.size() > 100; }));

  move_back();
  if (HasFailure()) return;
  for (auto* each : {&long_ones, &of_the_capsule}) {
    const Harvest harvest = each->harvest();
    EXPECT_THAT(harvest.problems, testing::IsEmpty());
    std::cout << fmt::format("{} jobs, {} ticks, longest gap {:.1f} s\n", harvest.jobs, harvest.ticks,
                             harvest.longest_gap);
  }
  const std::string ask = fmt::format("sacct -D -X -n -P -o State -j {},{},{} | sort | uniq -c | tr -s ' \\n' ' '",
                                      array, after, everything);
  EXPECT_TRUE(eventually(seconds(60), [&] { return enter("c1", ask).out == " 6 COMPLETED "; })) << enter("c1", ask).out;
  std::istringstream ran(read_text(root_of("c1") + "/var/tmp/others") + read_text(root_of("c2") + "/var/tmp/others"));
  const std::multiset<std::string> ids{std::istream_iterator<std::string>(ran), {}};
  EXPECT_EQ(ids.size(), 6U) << "each of them once";
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 6U);
}

}  // namespace
}  // namespace underway::harness
