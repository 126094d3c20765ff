// The cluster of examples/machines, on the real thing: Slurm jobs that have virtual machines of QEMU of their own,
// beside and between jobs that have none, and hosts that have nothing of them afterwards, whoever was killed meanwhile.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <iostream>

#include "harness/cluster.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

/// What the guests run: it is who its seed says, and answers at port 7000: `name`; `ping ADDRESS`; `ask ADDRESS`, what
/// that one's name is.
constexpr const char* kWorker = R"SH(#!/bin/busybox sh
mkdir -p /seed
until [ -e /seed/meta-data ]; do
  for disk in /dev/vd?; do mount -t iso9660 -o ro $disk /seed 2>/dev/null && break; done || sleep 0.02
done
sed -n 's/.*"local-hostname": *"\([^"]*\)".*/\1/p' /seed/meta-data >/name
ip address add "$(grep -o '[0-9.]*/[0-9]*' /seed/network-config | head -n 1)" dev eth0
ip link set eth0 up
cat >/answer <<'ANSWER'
#!/bin/busybox sh
read -r what whom
case $what in
  name) cat /name ;;
  ping) ping -c 1 -W 2 "$whom" >/dev/null && echo pong || echo silence ;;
  ask) echo name | nc -w 2 "$whom" 7000 || echo silence ;;
  shared) for d in /sys/bus/pci/devices/*; do echo "$(cat $d/vendor)$(cat $d/device)"; done | grep -c 0x1af40x1110 ;;
esac
ANSWER
chmod 755 /answer
exec nc -ll -p 7000 -e /answer
)SH";

class SlurmMachines : public testing::Test {
 protected:
  void SetUp() override {
    const auto guest = source_dir() + "/build/guest";
    if (!std::filesystem::exists(guest + "/version"))
      GTEST_SKIP() << "needs build/guest: packaging/guest build/guest makes it";
    images_ = "/var/lib/underway-test-guest-" + std::to_string(::getpid());  // hosts see this, and nothing of /tmp
    std::filesystem::create_directories(images_ + "/root");
    write_text(images_ + "/root/worker", kWorker);
    const auto packed = shell(
        "cd " + images_ + "/root && chmod 755 worker && echo worker | busybox cpio -o -H newc | " + "gzip -n | cat " +
        guest + "/initrd - > ../initrd && cp " + guest + "/vmlinuz .. && truncate -s 1M ../root.erofs");
    ASSERT_EQ(packed.exit_code, 0) << packed.err;
    cluster_.emplace("machines");
  }
  void TearDown() override {
    cluster_.reset();
    if (!images_.empty()) std::filesystem::remove_all(images_);
  }
  void up() const {
    const auto done = cluster_->underway({"up", "-var", "images=" + images_, cluster_->directory()}, seconds(240));
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err << log();
    for (const auto* host : {"c1", "c2"}) ASSERT_TRUE(eventually(seconds(60), [&] { return is_idle(host); })) << log();
  }
  std::string on_login(const std::string& line) const { return cluster_->on("login", line).out; }
  std::string node(const std::string& name) const { return on_login("scontrol -o show node " + name + " 2>&1"); }
  std::string show(const std::string& id) const { return on_login("scontrol show job " + id + " 2>&1"); }
  bool is_now(const std::string& id, const std::string& state) const {
    return show(id).find("JobState=" + state + " ") != std::string::npos;
  }
  bool is_over(const std::string& id) const {
    return on_login("squeue -h -t PD,R,CG,CF,S -o %A 2>&1").find(id + "\n") == std::string::npos;
  }
  bool is_idle(const std::string& host) const { return node(host).find(" State=IDLE ") != std::string::npos; }
  std::string submit(const std::string& words) const {
    const auto told = cluster_->on("login", "sbatch --parsable --chdir=/ " + words);
    EXPECT_EQ(told.exit_code, 0) << told.err;
    return told.out.substr(0, told.out.find('\n'));
  }
  /// A job that writes /var/log/out.<id> on its first node, from where said() has it.
  std::string submit_script(const std::string& words, const std::string& script) const {
    write_text(cluster_->examples() + "/job.sh", "#!/bin/bash\n" + kAsk + script);
    const auto text = read_text(cluster_->examples() + "/job.sh");
    const auto told = cluster_->on("login", "cat > /tmp/job.sh <<'JOB'\n" + text +
                                                "JOB\nsbatch --parsable --chdir=/ --output=/var/log/out.%j " + words +
                                                " /tmp/job.sh");
    EXPECT_EQ(told.exit_code, 0) << told.err;
    return told.out.substr(0, told.out.find('\n'));
  }
  std::string said(const std::string& host, const std::string& id) const {
    return cluster_->enter(host, "cat /var/log/out." + id + " 2>/dev/null").out;
  }
  /// What of machines of jobs is on a host; empty: nothing.
  std::string left(const std::string& host) const {
    return cluster_
        ->enter(host,
                "pgrep -af [q]emu-system; ls -d /run/underway/slurm-jobs/*[0-9] 2>/dev/null; "
                "ls -d /sys/class/net/uw* /sys/class/net/vm-* 2>/dev/null; nft list tables | grep uwj; "
                "find /var/lib/underway-node -name '*.qcow2'; ls /dev/shm/underway-machines 2>/dev/null | grep slurm")
        .out;
  }
  std::string left() const { return left("c1") + left("c2"); }
  void expect_done(const std::string& id, const std::string& host, const std::string& what) const {
    ASSERT_TRUE(eventually(seconds(90), [&] { return is_now(id, "COMPLETED"); }))
        << show(id) << said(host, id) << log();
    EXPECT_EQ(said(host, id), what) << log();
  }
  std::string log() const {
    std::string out = on_login("sinfo -N -l; squeue -l; scontrol show job") + cluster_->underway({"job", "status"}).out;
    for (const std::string host : {"c1", "c2"})
      out += host + ":\n" +
             cluster_
                 ->enter(host,
                         "tail -n 20 /var/log/slurm/slurmd.log; ip -br address; ls -la "
                         "/run/underway/slurm-jobs; ps ax | grep -v \\]$")
                 .out;
    return out + cluster_->enter("mgmt", "tail -n 40 /var/log/slurm/slurmctld.log").out +
           shell("tail -n 60 " + cluster_->state() + "/agent.log").out;
  }

  /// A frame for the network of job `into` is put where nodes take those of other nodes: by a user of the login host,
  /// by root there, who can, and by a guest of the job `of` who took a port that only root has.
  void expect_forged_frames_dropped(const std::string& of, const std::string& into) const {
    const auto script = [&](const std::string& to, const std::string& port, const std::string& mac) {
      return "/usr/bin/python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
             "s.bind((\"\", " +
             port + ")); s.sendto(bytes.fromhex(\"08000000%06x00ffffffffffff" + mac + "0806\" % (1 + " + into +
             ")) + bytes(46), (\"" + to + "\", 4799))'";
    };
    const auto learnt = [&](const std::string& mac) {
      return cluster_->enter("c1", "bridge fdb show dev uwx" + into + " | grep " + mac).exit_code == 0;
    };
    const auto c1 = cluster_->enter("c1", "ip -4 -o address show eth0 | sed 's,.*inet \\([0-9.]*\\).*,\\1,'").out;
    const auto to = c1.substr(0, c1.find('\n'));
    cluster_->enter("login", script(to, "40000", "02deadbeef01"));
    cluster_->enter("login", script(to, "600", "02deadbeef02"));
    EXPECT_TRUE(eventually(seconds(10), [&] { return learnt("02:de:ad:be:ef:02"); })) << "what is looked for is seen";
    EXPECT_FALSE(learnt("02:de:ad:be:ef:01")) << "a user's frame came in";
    // A namespace that is on the job's bridge, as a guest is.
    const auto guest = cluster_->enter(
        "c1",
        "unshare -n sleep 30 & sleep 0.5; ip link add forger type veth peer name eth0 netns $! && ip link set forger "
        "master uwj" +
            of + " up && own=$(ip -4 -o address show uwj" + of +
            " | sed 's,.*inet \\([0-9.]*\\)/.*,\\1,') && nsenter -n -t $! ip address add 10.200.0.99/24 dev eth0 && "
            "nsenter -n -t $! ip link set eth0 up && ip route add 10.200.0.99 dev uwj" +
            of + " && nsenter -n -t $! ping -c 1 -W 5 $own >/dev/null && nsenter -n -t $! " +
            script("'$own'", "600", "02deadbeef03") + "; told=$?; ip link delete forger; kill $!; exit $told");
    EXPECT_EQ(guest.exit_code, 0) << guest.out << guest.err;
    EXPECT_TRUE(stays(seconds(1), [&] { return !learnt("02:de:ad:be:ef:03"); })) << "a guest's frame came in";
  }
  bool no_jobs_of_ours() const {
    return eventually(seconds(20),
                      [&] { return cluster_->underway({"job", "status"}).out.find("-slurm-") == std::string::npos; });
  }
  void up_again() const {
    const auto done = cluster_->underway({"up", "-var", "images=" + images_, cluster_->directory()}, seconds(240));
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err << log();
  }

  /// For job scripts: what a machine answers.
  static inline const std::string kAsk =
      "ask() { exec 5<>/dev/tcp/$1/7000 && echo \"$2 $3\" >&5 && timeout 5 cat <&5; exec 5>&-; }\n"
      "address() { awk -v name=$1 '$2 == name { print $1 }' $UNDERWAY_MACHINES; }\n";
  std::string images_;
  std::optional<Cluster> cluster_;
};

TEST_F(SlurmMachines, ComeWithAJobAndGoWithItAndLeaveTheHostAsItWas) {
  up();
  const auto before = submit_script("-w c1", "echo \"metal $UNDERWAY_MACHINES\"\n");
  expect_done(before, "c1", "metal \n");
  EXPECT_EQ(left(), "");

  const auto begun = std::chrono::steady_clock::now();
  const auto two = submit_script("-w c1 -n2 --mem=1G --comment='of ours, machines:small*2'",
                                 "ask $(address m1) name\nask $(address m1) ping $(address m2)\n"
                                 "ask $(address m1) ask $(address m2)\nask $(address m2) ask $(address m1)\n"
                                 "ask $(address m2) shared\n");
  expect_done(two, "c1", "m1\npong\nm2\nm1\n1\n");
  std::cerr << "a job with two machines has ended after "
            << std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() << " s\n";
  const auto after = submit_script("-w c1",
                                   "echo metal; ls /run/underway/slurm-jobs | grep -v over; pgrep qemu; ip -br link | "
                                   "grep uw; true\n");
  expect_done(after, "c1", "metal\n");
  EXPECT_EQ(left(), "");
  EXPECT_TRUE(no_jobs_of_ours()) << cluster_->underway({"job", "status"}).out;
}

TEST_F(SlurmMachines, OfTwoNodesAreInOneNetworkWhichNoOtherJobSees) {
  up();
  const std::string wait = "until [ -e /var/log/go ]; do sleep 0.2; done\n";
  const auto first = submit_script("-N2 -n2 --mem=600 --comment=machines:small",
                                   wait +
                                       "ask $(address m1) name\nask $(address m1) ask $(address m2)\n"
                                       "ask $(address m2) ping $(address m1)\n"
                                       "for a in $(cat /var/log/others); do ask $(address m1) ping $a\n"
                                       "ask $(address m2) ask $a; done\n");
  const auto second = submit_script("-N2 -n2 --mem=600 --comment=machines:small",
                                    wait + "ask $(address m2) name\nask $(address m2) ask $(address m1)\n");
  const auto hosts = [&](const std::string& id) {
    return cluster_->enter("c1", "cat /run/underway/slurm-jobs/" + id + "/hosts 2>/dev/null").out;
  };
  ASSERT_TRUE(eventually(seconds(90), [&] { return !hosts(first).empty() && !hosts(second).empty(); })) << log();
  EXPECT_NE(hosts(first), hosts(second));
  for (const auto& what :
       std::vector<std::string>{"qemu-system", "uwj" + first, "uwx" + second, "default+slurm-" + first})
    EXPECT_THAT(left("c2"), HasSubstr(what)) << "what is looked for afterwards is found now";
  cluster_->enter("c1", "awk '{ print $1 }' /run/underway/slurm-jobs/" + second + "/hosts > /var/log/others");
  expect_forged_frames_dropped(first, second);
  cluster_->enter("c1", "touch /var/log/go");
  expect_done(first, "c1", "m1\nm2\npong\nsilence\nsilence\nsilence\nsilence\n");
  expect_done(second, "c1", "m2\nm1\n");
  EXPECT_TRUE(eventually(seconds(30), [&] { return left().empty(); })) << left();
}

TEST_F(SlurmMachines, AreGoneFromOneThatIsCancelledWhileTheyBoot) {
  up();
  for (const std::string moment : {"ls /run/underway/slurm-jobs/*.wanted", "ls -d /sys/class/net/uwj*", "pgrep qemu"}) {
    const auto id = submit_script("-w c1 -n2 --mem=1G --comment=machines:small*2", "echo begun\n");
    ASSERT_TRUE(eventually(seconds(60), [&] { return cluster_->enter("c1", moment).exit_code == 0; })) << log();
    on_login("scancel " + id);
    EXPECT_TRUE(eventually(seconds(60), [&] { return is_over(id) && is_idle("c1"); })) << moment << log();
    EXPECT_EQ(left(), "") << moment;
    EXPECT_EQ(said("c1", id), "") << moment;
    EXPECT_TRUE(no_jobs_of_ours()) << moment << cluster_->underway({"job", "status"}).out;
    EXPECT_EQ(left(), "") << "nor does anything come afterwards";
  }
}

TEST_F(SlurmMachines, StayWithTheirJobThoughAgentAndServerAreKilled) {
  up();
  const auto id = submit_script("-w c1 -n2 --mem=1G --comment=machines:small*2",
                                "until [ -e /var/log/go ]; do sleep 0.2; done\n"
                                "ask $(address m1) ask $(address m2)\n");
  ASSERT_TRUE(eventually(seconds(90), [&] {
    return cluster_->enter("c1", "ls /run/underway/slurm-jobs/" + id + "/hosts").exit_code == 0;
  })) << log();
  const auto machines = cluster_->enter("c1", "pgrep qemu").out;
  for (const int agent : cluster_->server_agents()) ::kill(agent, SIGKILL);
  ::kill(cluster_->agent_of("c1"), SIGKILL);
  up_again();
  EXPECT_TRUE(stays(seconds(5), [&] { return cluster_->enter("c1", "pgrep qemu").out == machines; })) << log();
  cluster_->enter("c1", "touch /var/log/go");
  expect_done(id, "c1", "m2\n");
  EXPECT_EQ(left(), "");

  // Slurm's own daemon: nobody knows whether the job is over.
  cluster_->enter("c1", "rm /var/log/go");
  const auto other = submit_script("-w c1 -n1 --mem=1G --comment=machines:small",
                                   "until [ -e /var/log/go ]; do sleep 0.2; done\nask $(address m1) name\n");
  ASSERT_TRUE(eventually(seconds(90), [&] {
    return cluster_->enter("c1", "ls /run/underway/slurm-jobs/" + other + "/hosts").exit_code == 0;
  })) << log();
  // What Slurm was given in the last seconds before it is killed it forgets: it writes jobs down every so often.
  ASSERT_TRUE(eventually(seconds(30), [&] {
    return cluster_->enter("mgmt", "grep -qaP 'machines:small\\x00' /var/lib/slurm/slurmctld/job_state").exit_code == 0;
  })) << log();
  cluster_->enter("mgmt", "pkill -9 slurmctld");
  EXPECT_TRUE(stays(seconds(4), [&] { return cluster_->enter("c1", "pgrep qemu").exit_code == 0; })) << log();
  cluster_->enter("c1", "touch /var/log/go");
  expect_done(other, "c1", "m1\n");
  EXPECT_EQ(left(), "");
}

TEST_F(SlurmMachines, AreGoneThoughServerOrAgentDiesAsTheJobEnds) {
  up();
  const auto run = [&] {
    const auto id = submit_script("-w c1 -n2 --mem=1G --comment=machines:small*2", "sleep 1000\n");
    EXPECT_TRUE(eventually(seconds(90), [&] {
      return cluster_->enter("c1", "ls /run/underway/slurm-jobs/" + id + "/hosts").exit_code == 0;
    })) << log();
    return id;
  };
  // The agent comes back by itself, and finds what is to go.
  const auto first = run();
  on_login("scancel " + first);
  ::kill(cluster_->agent_of("c1"), SIGKILL);
  EXPECT_TRUE(eventually(seconds(90), [&] { return is_over(first) && is_idle("c1"); })) << log();
  EXPECT_EQ(left(), "");

  // One that hangs does not: the epilog removes what can be seen of them, and the node is had again.
  const auto hung = run();
  const int hanging = cluster_->agent_of("c1");
  ::kill(hanging, SIGSTOP);
  cluster_->enter("login", "scancel " + hung);
  EXPECT_TRUE(eventually(seconds(120), [&] {
    return cluster_->enter("login", "squeue -h -o %A").out.empty() &&
           cluster_->enter("c1", "pgrep [q]emu; ls -d /run/underway/slurm-jobs/" + hung + " /sys/class/net/uw*")
               .out.empty();
  })) << left("c1");
  // Not sinfo -n: of one node alone slurmctld tells what it had counted when somebody last asked for all of them.
  EXPECT_TRUE(eventually(seconds(10), [&] {
    return cluster_->enter("login", "scontrol show node c1").out.find(" State=IDLE ") != std::string::npos;
  })) << cluster_->enter("login", "scontrol show node c1; squeue -a").out;
  ::kill(hanging, SIGCONT);
  EXPECT_TRUE(eventually(seconds(60), [&] { return left().empty() && no_jobs_of_ours(); })) << left() << log();

  // The server does not, until somebody starts it: the node does without.
  const auto second = run();
  for (const int agent : cluster_->server_agents()) ::kill(agent, SIGKILL);
  const auto begun = std::chrono::steady_clock::now();
  cluster_->enter("login", "scancel " + second);
  EXPECT_TRUE(eventually(seconds(90), [&] { return left().empty(); })) << left();
  std::cerr << "without the server nothing is left after "
            << std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() << " s\n";
  up_again();
  EXPECT_TRUE(eventually(seconds(30), [&] { return is_idle("c1"); })) << node("c1") << log();
  EXPECT_TRUE(no_jobs_of_ours()) << cluster_->underway({"job", "status"}).out;
}

TEST_F(SlurmMachines, ThatAJobCannotHaveAreRefusedWithTheReason) {
  ASSERT_EQ(shell("sed -i '/^  machines \"small\"/i\\  machines \"broken\" {\\n    kernel = \"/nonexistent\"\\n    "
                  "memory = 64\\n  }\\n' " +
                  cluster_->directory() + "/cluster.hcl")
                .exit_code,
            0);
  up();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--mem=1G --comment=machines:large", "declares no machines 'large'; there are broken, small"},
      {"--mem=200 --comment=machines:small",
       "need 1 CPUs and 416 MiB (256 MiB each, and 160 for QEMU), and it has 1 "
       "CPUs and 200 MiB on 1 nodes"},
      {"-n1 --mem=1G --comment=machines:small*2", "need 2 CPUs"},
      {"-N2 -n5 --mem-per-cpu=250 --comment=machines:small",
       "on c2 its 1 machine 'small' needs 1 CPUs and 416 MiB (256 MiB each, and 160 for QEMU), and it has 1 CPUs and "
       "250 MiB there"},
      {"--mem=1G --comment='machines:small machines:small'", "its comment asks for machines twice"},
      {"--mem=1G --comment=machines:broken", "did not come up: m1: "},
  };
  for (const auto& [words, reason] : cases) {
    const auto id = submit_script("-w c1 " + words, "echo begun\n");
    ASSERT_TRUE(eventually(seconds(60), [&] { return is_over(id); })) << words << log();
    EXPECT_TRUE(is_now(id, "CANCELLED")) << words;
    EXPECT_THAT(show(id), HasSubstr(reason)) << words;
    EXPECT_EQ(said("c1", id), "") << words;
    EXPECT_TRUE(is_idle("c1")) << "no user can have a node drained: " << node("c1");
  }
  EXPECT_TRUE(eventually(seconds(20), [&] { return left().empty(); })) << left();
}

}  // namespace
}  // namespace underway::harness
