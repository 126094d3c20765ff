// examples/decoupled on the real thing: the critical services in capsules on two infrastructure hosts, as clients see
// them, while what else there is dies or is switched off. A farm of Slurm jobs runs throughout.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <sstream>

#include "integration/decoupled/decoupled.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class Decoupled : public DecoupledCluster {
 protected:
  bool gets_an_address() const {
    return cluster_.enter("c4", "busybox udhcpc -n -q -f -t 5 -T 1 -i eth0 -s /bin/true").exit_code == 0;
  }
  std::string motd(const std::string& host) const { return cluster_.enter(host, "cat /etc/motd").out; }

  /// Every service does what it is there for, asked by those who use it.
  void expect_services_work(const std::string& mark) const {
    const auto srun = cluster_.enter("login", "srun -N4 --mem=16 hostname");
    EXPECT_EQ(srun.exit_code, 0) << srun.err;
    EXPECT_TRUE(eventually(seconds(30), [&] {  // the controller tells the accounting some seconds later
      return cluster_.enter("login", "sacct -n -X -P -o State | grep -q COMPLETED").exit_code == 0;
    }));
    const auto time = cluster_.enter("c2", "chronyd -Q -t 10 'server 10.78.0.6 iburst' 2>&1");
    EXPECT_THAT(time.out, HasSubstr("System clock wrong by")) << time.err;
    EXPECT_EQ(cluster_.enter("c2", "logger -t test " + mark).exit_code, 0);
    EXPECT_TRUE(eventually(
        seconds(30),
        [&] { return in_capsule("log", "grep -c " + mark, "/var/log/messages").find('1') != std::string::npos; }))
        << mark << " did not reach the log";
    EXPECT_EQ(cluster_.enter("c3", "echo " + mark + " > /tmp/mark").exit_code, 0);
    // After a restart of the server others wait until it knows who had what open. Each file has a name of its own, as
    // nfs-cp creates exclusively (EXCLUSIVE4): it fails for one that is there, whatever the server went through.
    EXPECT_TRUE(eventually(seconds(60), [&] {
      return cluster_.enter("c3", "nfs-cp /tmp/mark 'nfs://10.78.0.8/export/" + mark + "?version=4'").exit_code == 0;
    }));
    EXPECT_THAT(cluster_.enter("c4", "nfs-cat 'nfs://10.78.0.8/export/" + mark + "?version=4'").out, HasSubstr(mark));
    const auto sent = cluster_.enter(
        "login", "printf 'Subject: " + mark + "\\n\\n' | msmtp --host=10.78.0.9 --from=login@cluster root@cluster");
    EXPECT_EQ(sent.exit_code, 0) << sent.err;
    EXPECT_TRUE(eventually(
        seconds(30),
        [&] { return in_capsule("mail", "grep -c " + mark, "/var/mail/root").find('1') != std::string::npos; }))
        << mark << " was not delivered";
    EXPECT_EQ(cluster_.enter("c1", "grep -q node_load1 /run/metrics/node.prom").exit_code, 0);
  }

  static constexpr int kRotations = 2;
  /// What the log has of numbered lines, in all of its files.
  struct Counted {
    long long lines = 0, numbers = 0, last = 0, files = 0;
  };
  Counted counted_lines() const {
    Counted out;
    const std::string said = in_capsule("log",
                                        "sh -c 'ls $0* | wc -l; zcat -f $0* | grep -o \"counted: *line [0-9]* end\" | "
                                        "grep -o \"[0-9]*\" | tee /tmp/numbers.$$ | wc -l; sort -un /tmp/numbers.$$ | "
                                        "tee /tmp/numbers | wc -l; tail -n 1 /tmp/numbers; rm /tmp/numbers*'",
                                        "/var/log/messages");
    std::istringstream(said) >> out.files >> out.lines >> out.numbers >> out.last;
    return out;
  }
  void rotate_log() const {
    const auto rotated = cluster_.underway({"alloc", "exec", "-job", "log", "logrotate", "-f", "--state",
                                            "/var/lib/logrotate/position", "/etc/logrotate.d/messages"});
    EXPECT_EQ(rotated.exit_code, 0) << rotated.out << rotated.err;
  }

  /// Does something to each capsule in turn, while Slurm jobs tick and a node logs numbered lines. The log is
  /// rotated before and after that.
  void disturb_each(const std::function<Finished(const std::string& capsule)>& something) {
    Farm farm(cluster_, farm_options());
    ASSERT_EQ(farm.plant(8), 8);
    ASSERT_TRUE(farm.settled());
    // More than a node's queue holds in memory while the log is away.
    Background lines(
        {.argv = {"nsenter", "--all", "--target", std::to_string(cluster_.agent_of("c2")), "sh", "-c", R"sh(
           n=0
           until [ -e /tmp/enough ]; do
             n=$((n + 1))
             echo "line $n end"
             [ $((n % 20)) != 0 ] || sleep 0.02
           done | logger -t counted)sh"}});
    for (const char* capsule : {"chrony", "log", "files", "mail", "slurm-services"}) {
      SCOPED_TRACE(capsule);
      if (std::string(capsule) == "log") rotate_log();
      const auto done = something(capsule);
      EXPECT_EQ(done.exit_code, 0) << done.out << done.err;
      EXPECT_TRUE(prober_->all_answer(seconds(60), 20)) << prober_->report();
      if (std::string(capsule) == "log") rotate_log();
    }
    EXPECT_EQ(cluster_.enter("c2", "touch /tmp/enough").exit_code, 0);
    EXPECT_EQ(lines.wait(seconds(10)), 0);
    expect_services_work("after-all");
    Counted counted;
    EXPECT_TRUE(eventually(seconds(30),
                           [&] {
                             const auto before = counted.lines;
                             counted = counted_lines();
                             return counted.lines == before && counted.numbers == counted.last;
                           }))
        << counted.last << " lines were sent, and of " << counted.numbers << " the log knows";
    EXPECT_GT(counted.last, 2000);
    EXPECT_EQ(counted.lines, counted.last) << "some are there more than once";
    EXPECT_EQ(counted.files, 1 + kRotations);
    EXPECT_THAT(farm.harvest().problems, IsEmpty());
    EXPECT_EQ(prober_->readings().at("outside").failed, 0) << "the way out does not depend on any of these";
    std::cout << prober_->report();
  }
};

TEST_F(Decoupled, GoesOnWithoutManagementHostAndServerExceptForProvisioningAndFileChanges) {
  expect_services_work("with-management");
  EXPECT_TRUE(gets_an_address());
  EXPECT_EQ(cluster_.on("mgmt", "echo first > /srv/masters/motd").exit_code, 0);
  EXPECT_TRUE(eventually(seconds(30), [&] { return motd("c1") == "first\n" && motd("login") == "first\n"; }));
  EXPECT_THAT(attention(), IsEmpty());
  Farm farm(cluster_, farm_options());
  ASSERT_EQ(farm.plant(8), 8);
  ASSERT_TRUE(farm.settled());

  // The management host is switched off: `status` names what waits for it, and nothing else.
  const auto off = cluster_.underway({"apply", "-detach", "-var", "management_hosts=0", cluster_.directory()});
  ASSERT_EQ(off.exit_code, 0) << off.out << off.err;
  const auto exactly_that =
      UnorderedElementsAre("group 'provision' of 'provision' cannot be placed", "file changes wait for 'mgmt'");
  ASSERT_TRUE(eventually(seconds(60), [&] { return testing::Value(attention(), exactly_that); }))
      << cluster_.underway({"status"}).out;
  EXPECT_FALSE(gets_an_address());
  EXPECT_EQ(cluster_.enter("c2", "echo second > /srv/masters/motd").exit_code, 0);

  // And the server dies too.
  for (const int pid : cluster_.server_agents()) ::kill(pid, SIGKILL);
  ASSERT_TRUE(eventually(seconds(10), [&] { return cluster_.server_agents().empty(); }));
  EXPECT_THAT(cluster_.underway({"status"}).err, HasSubstr("provisioning, file changes and changes of jobs wait"));
  EXPECT_TRUE(prober_->all_answer(seconds(30), 100)) << prober_->report();
  EXPECT_EQ(farm.plant(4), 4);
  expect_services_work("without-management");
  EXPECT_EQ(motd("c1"), "first\n");

  // Back: nothing was lost meanwhile, and nothing has to be repaired.
  cluster_.up();
  EXPECT_TRUE(eventually(seconds(60), [&] { return gets_an_address(); }));
  EXPECT_TRUE(eventually(seconds(30), [&] { return motd("c1") == "second\n" && motd("login") == "second\n"; }));
  EXPECT_TRUE(eventually(seconds(30), [&] { return attention().empty(); })) << cluster_.underway({"status"}).out;
  for (const auto& [name, reading] : prober_->readings()) EXPECT_EQ(reading.failed, 0) << name;
  const auto harvest = farm.harvest();
  EXPECT_THAT(harvest.problems, IsEmpty());
  EXPECT_EQ(harvest.jobs, 12U);
  std::cout << prober_->report();
}

TEST_F(Decoupled, EachServiceIsRestartedUnderItsClientsAndLosesNothing) {
  disturb_each(
      [&](const std::string& capsule) { return cluster_.underway({"alloc", "restart", allocation_of(capsule)}); });
}

TEST_F(Decoupled, EachServiceIsMovedUnderItsClientsAndLosesNothing) {
  disturb_each([&](const std::string& capsule) {
    const std::string to = host_of(capsule) == "infra1" ? "infra2" : "infra1";
    const auto moved = cluster_.underway({"capsule", "move", capsule, "-to", to}, seconds(180));
    EXPECT_EQ(host_of(capsule), to) << moved.err;
    return moved;
  });
}

TEST_F(Decoupled, AConnectionThroughTheGatewaySurvivesTheDeathOfTheOneThatHoldsIt) {
  // Of the two keepalived, the one whose network has the shared address: pid 1 of its capsule dies, with all it has.
  const std::string kill_holder = R"sh(
    for p in $(pgrep -x keepalived); do
      nsenter -t $p -n ip -4 -o addr show | grep -q ' 10.78.0.1/' || continue
      until [ "$(awk '/^NSpid/ { print $NF }' /proc/$p/status)" = 1 ]; do
        p=$(awk '/^PPid/ { print $2 }' /proc/$p/status)
      done
      kill -9 $p && echo killed
      break
    done)sh";
  const auto before = prober_->readings().at("outside");
  const std::string killed = cluster_.enter("infra1", kill_holder).out + cluster_.enter("infra2", kill_holder).out;
  ASSERT_THAT(killed, HasSubstr("killed"));
  EXPECT_TRUE(prober_->all_answer(seconds(30), 30)) << prober_->report();
  const auto after = prober_->readings().at("outside");
  EXPECT_EQ(after.failed, before.failed) << "the connection was lost";
  std::cout << prober_->report();
}

}  // namespace
}  // namespace underway::harness
