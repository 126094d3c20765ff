#include "host/local.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <filesystem>
#include <iostream>

#include "base/text.hpp"
#include "host/addresses.hpp"
#include "host/detail/layout.hpp"
#include "host/exec.hpp"
#include "net/netlink.hpp"
#include "os/file.hpp"
#include "os/process/cgroup.hpp"
#include "tests/local_hosts.hpp"

namespace underway::host {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

TEST_F(LocalHosts, HaveNamesRootsAndDevicesOfTheirOwn) {
  provider_->prepare(cluster());
  auto spec = host("c1", 11);
  spec.directories = {{.path = "/run/munge", .owner = "munge", .group = "munge"},
                      {.path = "/var/spool/x", .mode = "0700"}};
  const auto c1 = provider_->create(spec);
  const auto c2 = provider_->create(host("c2", 12));
  EXPECT_EQ(shell(c1, "hostname; cat /etc/hostname"), "c1\nc1");
  EXPECT_EQ(shell(c1, "stat -c '%U:%G %a' /run/munge /var/spool/x"), "munge:munge 755\nroot:root 700");
  EXPECT_EQ(shell(c1, "echo private > /tmp/file; echo private > /etc/mark; cat /tmp/file"), "private");
  EXPECT_EQ(shell(c2, "ls /tmp | grep -v underway-host-test; ls /etc/mark 2>&1 | grep -c 'No such'"), "1");
  EXPECT_FALSE(os::exists("/etc/mark"));
  EXPECT_EQ(shell(c1, "test -s /etc/resolv.conf; echo $?; grep hosts: /etc/nsswitch.conf"),
            "1\nhosts:          files dns");
  EXPECT_EQ(
      shell(c1, "echo x > /dev/null && test -c /dev/urandom && test -d /dev/pts && touch /dev/shm/y && echo good"),
      "good");
  EXPECT_EQ(shell(c2, "ls /dev/shm"), "");
  EXPECT_EQ(shell(c1, "ls /sys/class/net"), "eth0\nlo");
  EXPECT_EQ(shell(c1, "cat /proc/1/comm"), "underway-init");
  EXPECT_EQ(shell(c1, "cut -d: -f3 /proc/self/cgroup | grep -v ^/init$ | sort -u"), "/");
}

TEST_F(LocalHosts, SeeOnlyTheSocketOfTheStateDirectory) {
  const auto hidden = fmt::format("/var/lib/underway-host-test-{}", ::getpid());
  std::filesystem::create_directories(hidden + "/socket");
  {
    os::Ledger ledger(hidden + "/ledger");
    auto where = options();
    where.state_dir = hidden;
    where.visible = {hidden + "/socket"};
    LocalProvider provider(where, ledger, clock_);
    provider.prepare(cluster());
    const auto c1 = provider.create(host("c1", 11));
    EXPECT_EQ(shell(c1, "ls " + hidden), "socket");
    EXPECT_EQ(shell(c1, "touch " + hidden + "/socket/made"), "");
    EXPECT_TRUE(os::exists(hidden + "/socket/made"));
    const auto failures = provider.clean();
    EXPECT_TRUE(failures.empty()) << describe(failures);
    EXPECT_EQ(traces(hidden, cluster_), std::vector<std::string>{});
  }
  std::filesystem::remove_all(hidden);
}

TEST_F(LocalHosts, ShareDirectoriesAndSeeTheMachinesFilesThatAreBound) {
  provider_->prepare(cluster());
  auto spec = host("c1", 11);
  os::write_file(state_dir_ + "/file", "bound");
  spec.binds = {{state_dir_ + "/file", "/opt/underway/file", true}};
  const auto c1 = provider_->create(spec);
  const auto c2 = provider_->create(host("c2", 12));
  EXPECT_EQ(shell(c1, "echo hello > /srv/shared/x; stat -c %a /srv/shared"), "1777");
  EXPECT_EQ(shell(c2, "cat /srv/shared/x"), "hello");
  EXPECT_EQ(shell(c1, "cat /opt/underway/file"), "bound");
  EXPECT_NE(shell(c1, "echo x > /opt/underway/file").find("Read-only"), std::string::npos);
}

TEST_F(LocalHosts, ReachEachOtherAndLearnNewNamesAtOnce) {
  provider_->prepare(cluster());
  const auto hosts = create_in_parallel(4);
  for (const auto& from : hosts) {
    EXPECT_EQ(shell(from, "getent hosts c1 c2 c3 c4 | wc -l"), "4");
  }
  auto pipe = os::open_pipe();
  auto server =
      exec_in_host(hosts[0], {.argv = {"/usr/bin/perl", "-MIO::Socket::INET", "-e",
                                       "$s=IO::Socket::INET->new(Listen=>9,LocalPort=>7777)or die;$|=1;print \"up\\n\";"
                                       "for(1..3){$c=$s->accept;print $c \"hello\\n\";close $c}"},
                              .out = pipe.write.get()});
  pipe.write.reset();
  char up[3] = {};
  ASSERT_EQ(::read(pipe.read.get(), up, 3), 3);
  for (std::size_t n = 1; n < hosts.size(); ++n) {
    EXPECT_EQ(shell(hosts[n],
                    "perl -MIO::Socket::INET -e '$c=IO::Socket::INET->new(PeerAddr=>\"c1:7777\",Timeout=>5)or die "
                    "$!;print <$c>'"),
              "hello");
  }
  const auto late = provider_->create(host("late", 50));
  EXPECT_EQ(shell(hosts[2], "getent hosts late | cut -d' ' -f1"), "10.177.0.50");
  provider_->destroy(cluster_, "late");
  EXPECT_EQ(shell(hosts[2], "grep -c late /etc/hosts"), "0[exit code 1]");
  provider_->announce(cluster_, {{"soon", {{"cluster", *net::parse_cidr("10.177.0.60/24")}}}});
  EXPECT_EQ(shell(hosts[2], "getent hosts soon | cut -d' ' -f1"), "10.177.0.60");
}

TEST_F(LocalHosts, WaitForAnAddressThatNobodyHasYet) {
  provider_->prepare(cluster());
  auto spec = host("c1", 11);
  spec.bridges = true;
  const auto c1 = provider_->create(spec);
  const auto c2 = provider_->create(host("c2", 12));
  for (const auto& from : {c1, c2}) {
    // By itself the kernel says "No route to host" after 3 s.
    EXPECT_EQ(shell(from,
                    "perl -MIO::Socket::INET -e '$c=IO::Socket::INET->new(PeerAddr=>\"10.177.0.99:7\",Timeout=>4);"
                    "print $!'"),
              "Connection timed out");
  }
}

TEST_F(LocalHosts, InitStartsTheAgentAgainAndReapsOrphans) {
  provider_->prepare(cluster());
  auto spec = host("c1", 11);
  spec.agent_argv = {"/bin/sh", "-c", "echo started $WHO >> /srv/shared/starts; (sleep 0.01 &) ; sleep 0.02"};
  spec.agent_env = {"WHO=agent", "PATH=/usr/bin:/bin"};
  const auto c1 = provider_->create(spec);
  EXPECT_TRUE(eventually([&] {
    return std::stoi(shell(c1, "cat /srv/shared/starts 2>/dev/null | grep -c 'started agent' || true")) >= 3;
  }));
  EXPECT_TRUE(eventually([&] { return shell(c1, "ps -eo stat | grep -c ^Z || true") == "0"; }));
  EXPECT_NE(os::read_file(c1.console).find("starting it again"), std::string::npos);
  const auto status = os::read_file(fmt::format("/proc/{}/status", c1.init.pid));
  const auto at = status.find("VmRSS:");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LE(std::stoi(status.substr(at + 6)), 1024) << "kB resident";
  ASSERT_EQ(::kill(c1.init.pid, SIGTERM), 0);
  EXPECT_TRUE(eventually([&] { return provider_->list().at(0).status == model::HostStatus::failed; }));
  EXPECT_NE(provider_->list().at(0).description.find("gone"), std::string::npos);
}

TEST_F(LocalHosts, PowerOffAndRecreateOfTheSameNameWorkTenTimes) {
  provider_->prepare(cluster());
  const auto peer = provider_->create(host("peer", 9));
  for (int round = 0; round < 10; ++round) {
    const auto c1 = provider_->create(host("c1", 11));
    ASSERT_EQ(shell(c1, "ls /sys/class/net; cat /tmp/mark 2>/dev/null || echo fresh > /tmp/mark"), "eth0\nlo") << round;
    ASSERT_EQ(
        shell(peer, "perl -MIO::Socket::INET -e '$c=IO::Socket::INET->new(PeerAddr=>\"c1:9\",Timeout=>5);print $!'"),
        "Connection refused")
        << round;
    if (round % 2 == 0) {
      ASSERT_TRUE(provider_->destroy(cluster_, "c1"));
    }  // otherwise it is created over the one that runs
  }
  EXPECT_TRUE(provider_->destroy(cluster_, "c1"));
  EXPECT_FALSE(provider_->destroy(cluster_, "c1"));
}

TEST_F(LocalHosts, OutliveTheProviderAndAreAdopted) {
  provider_->prepare(cluster());
  const auto made = provider_->create(host("c1", 11));
  start();
  const auto adopted = provider_->adopt();
  ASSERT_EQ(adopted.size(), 1U);
  EXPECT_EQ(adopted[0].init, made.init);
  EXPECT_EQ(adopted[0].status, model::HostStatus::running);
  provider_->prepare(cluster());
  provider_->create(host("c2", 12));
  EXPECT_EQ(shell(adopted[0], "getent hosts c2 | cut -d' ' -f1"), "10.177.0.12");
}

TEST_F(LocalHosts, AFailedCreateNamesItsStepAndLeavesNothing) {
  provider_->prepare(cluster());
  auto spec = host("c1", 11);
  spec.binds = {{state_dir_ + "/socket", "/etc/passwd/below", true}};
  try {
    provider_->create(spec);
    ADD_FAILURE() << "made a directory below a file";
  } catch (const Error& e) {
    EXPECT_NE(e.text().find("/etc/passwd"), std::string::npos) << e.text();
    EXPECT_NE(e.text().find("creating host 'c1'"), std::string::npos) << e.text();
  }
  EXPECT_TRUE(provider_->list().empty());
  EXPECT_TRUE(ledger_->unsettled(host_owner(cluster_, "c1")).empty());
  auto unknown = host("c1", 11);
  unknown.directories = {{.path = "/run/x", .owner = "nobody-has-this-name"}};
  EXPECT_THROW(provider_->create(unknown), Error);
  auto elsewhere = host("c1", 11);
  elsewhere.addresses = {{"other", *net::parse_cidr("10.1.0.1/24")}};
  EXPECT_THROW(provider_->create(elsewhere), Error);
}

TEST_F(LocalHosts, NatGivesAGatewayAndIsTakenAway) {
  const auto forwarding = os::read_file("/proc/sys/net/ipv4/ip_forward");
  provider_->prepare(cluster(true));
  provider_->prepare(cluster(true));
  const auto c1 = provider_->create(host("c1", 11));
  EXPECT_TRUE(shell(c1, "ip -4 route show default").starts_with("default via 10.177.0.1 dev eth0"));
  EXPECT_EQ(
      shell(c1,
            "perl -MIO::Socket::INET -e '$c=IO::Socket::INET->new(PeerAddr=>\"10.177.0.1:9\",Timeout=>5);print $!'"),
      "Connection refused");
  EXPECT_TRUE(provider_->remove_cluster(cluster_));
  EXPECT_FALSE(provider_->remove_cluster(cluster_));
  EXPECT_EQ(os::read_file("/proc/sys/net/ipv4/ip_forward"), forwarding);
}

TEST_F(LocalHosts, MasqueradeLetsThemReachWhatTheMachineReaches) {
  // Outside knows no way back to the cluster: an answer proves the masquerade. The link on the machine goes with it.
  const auto outside = net::Namespace::create("outside");
  const auto port = net::link_name(fmt::format("uwt{}", ::getpid()));
  const auto machine = net::Namespace::current();
  net::Netlink at_machine(machine);
  at_machine.add_veth({.name = port, .peer = &outside});
  at_machine.add_address(port, *net::parse_cidr("10.178.255.1/30"));
  net::Netlink at_outside(outside);
  at_outside.add_address("eth0", *net::parse_cidr("10.178.255.2/30"));
  at_outside.set_up("eth0");
  int listener = -1;
  outside.run([&] { listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
  const os::Fd owned(listener);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(7777);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  provider_->prepare(cluster(true));
  const auto c1 = provider_->create(host("c1", 11));
  EXPECT_EQ(shell(c1,
                  "perl -MIO::Socket::INET -e "
                  "'$c=IO::Socket::INET->new(PeerAddr=>\"10.178.255.2:7777\",Timeout=>5);print $c?\"reached\":$!'"),
            "reached");
  EXPECT_TRUE(at_machine.remove_link(port));
}

TEST_F(LocalHosts, LiveOnAMachineWithCgroupV2Alone) {
  provider_.reset();
  ledger_.reset();
  const pid_t child = ::fork();
  if (child == 0) {
    // A mount namespace in which /sys/fs/cgroup looks as it does on a machine without v1.
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::umount2("/sys/fs/cgroup", MNT_DETACH) != 0 || ::mount("none", "/sys/fs/cgroup", "cgroup2", 0, nullptr) != 0) {
      ::_exit(2);
    }
    start();
    provider_->prepare(cluster());
    const auto c1 = provider_->create(host("c1", 11));
    const auto group = shell(c1, "grep ^0: /proc/1/cgroup; mkdir /sys/fs/cgroup/own && echo made");
    const auto failures = provider_->clean();
    if (group != "0::/init\nmade") std::cerr << group << "\n";
    ::_exit(group == "0::/init\nmade" && failures.empty() && traces(state_dir_, cluster_).empty() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  start();
}

TEST_F(LocalHosts, MayHaveTheirNetworksAsBridgesThatOthersJoin) {
  provider_->prepare(cluster());
  auto spec = host("c1", 11);
  spec.bridges = true;
  const auto c1 = provider_->create(spec);
  const auto c2 = provider_->create(host("c2", 12));
  EXPECT_EQ(shell(c1, "ls /sys/class/net; ls /sys/class/net/br-cluster/brif"), "br-cluster\neth0\nlo\neth0");
  EXPECT_EQ(shell(c1, "cat /sys/class/net/br-cluster/address"), "02:00:0a:b1:00:0b");
  const auto reaches = [&] {
    return shell(c2, "perl -MIO::Socket::INET -e '$c=IO::Socket::INET->new(PeerAddr=>\"c1:7\",Timeout=>5);print $!'");
  };
  EXPECT_TRUE(eventually([&] { return reaches() == "Connection refused"; })) << reaches();
  // What joins the bridge is on the network, and the host keeps its hardware address.
  const auto inside = net::Namespace::of_process(c1.init.pid, "host c1");
  const auto guest = net::Namespace::create("guest");
  net::Netlink at_host(inside);
  at_host.add_veth({.name = "guest", .peer = &guest, .master = "br-cluster", .peer_mac = "02:00:00:00:00:01"});
  net::Netlink at_guest(guest);
  at_guest.set_up("eth0");
  at_guest.add_address("eth0", *net::parse_cidr("10.177.0.99/24"));
  EXPECT_EQ(shell(c1, "cat /sys/class/net/br-cluster/address"), "02:00:0a:b1:00:0b");
  EXPECT_TRUE(eventually([&] {
    return shell(c2,
                 "perl -MIO::Socket::INET -e '$c=IO::Socket::INET->new(PeerAddr=>\"10.177.0.99:7\",Timeout=>5);"
                 "print $!'") == "Connection refused";
  }));
}

TEST_F(LocalHosts, HavePlainDirectoriesOnWhichAnOverlayCanLie) {
  provider_->prepare(cluster());
  auto spec = host("c1", 11);
  spec.plain_directories = {"/var/lib/plain"};
  spec.disk_directories = {"/var/lib/plain/disk"};
  const auto c1 = provider_->create(spec);
  EXPECT_EQ(shell(c1,
                  "cd /var/lib/plain && mkdir u w m && mount -t overlay o -o lowerdir=/etc,upperdir=u,workdir=w m "
                  "&& echo new > m/hostname && cat u/hostname /etc/hostname"),
            "new\nc1");
  EXPECT_EQ(shell(c1, "touch /var/lib/plain/disk/file; stat -f -c %T /var/lib/plain"), "tmpfs");
  EXPECT_TRUE(os::exists(Layout{state_dir_}.disk(cluster_, "c1", "/var/lib/plain/disk") + "/file"));
  provider_->destroy(cluster_, "c1");
  EXPECT_FALSE(os::exists(Layout{state_dir_}.disks(cluster_, "c1")));

  // Whoever did not mean it finds the disk in the trash.
  const auto trash = Layout{state_dir_}.trash();
  const auto kept = trash.list();
  if (kept.empty()) GTEST_SKIP() << "less than a tenth of this disk is free: there is no trash";
  EXPECT_EQ(kept[0].what, "host-" + cluster_ + "-c1");
  EXPECT_TRUE(os::exists(trash.find(kept[0].name) + "/" + Layout::flat("/var/lib/plain/disk") + "/file"));
  const auto again = provider_->create(spec);
  EXPECT_EQ(shell(again, "ls /var/lib/plain /var/lib/plain/disk | grep -v -e : -e ^$ -e disk"), "[exit code 1]");
}

TEST_F(LocalHosts, LimitsAreSetInTheHostsGroup) {
  if (!os::CgroupSystem::probe().has("memory")) GTEST_SKIP() << "no memory controller";
  provider_->prepare(cluster());
  auto spec = host("c1", 11);
  spec.enforce_limits = true;
  spec.memory_mb = 256;
  spec.cpus = 1;
  const auto c1 = provider_->create(spec);
  EXPECT_EQ(shell(c1, "cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max"),
            "268435456");
  EXPECT_EQ(shell(c1, "mkdir /sys/fs/cgroup/memory/own 2>/dev/null || mkdir /sys/fs/cgroup/own; echo $?"), "0");
}

TEST_F(LocalHosts, RealMungeWorksInside) {
  if (::access("/usr/sbin/munged", X_OK) != 0) GTEST_SKIP() << "munge is not installed";
  provider_->prepare(cluster());
  auto spec = host("c1", 11);
  spec.directories = {{.path = "/run/munge", .owner = "munge", .group = "munge"}};
  const auto c1 = provider_->create(spec);
  EXPECT_EQ(shell(c1, "setpriv --reuid munge --regid munge --clear-groups munged --num-threads=2"), "");
  EXPECT_TRUE(eventually([&] { return shell(c1, "test -S /run/munge/munge.socket.2; echo $?") == "0"; }));
  EXPECT_EQ(shell(c1, "munge -n | unmunge | grep STATUS | tr -s ' '"), "STATUS: Success (0)");
}

TEST_F(LocalHosts, ExecGivesATerminalAndAnotherUser) {
  provider_->prepare(cluster());
  const auto c1 = provider_->create(host("c1", 11));
  EXPECT_EQ(shell(c1, "id -un", "nobody"), "nobody");
  EXPECT_EQ(shell(c1, "exit 7"), "[exit code 7]");
  EXPECT_THROW(exec_in_host(c1, {.argv = {"no-such-command"}}), Error);
  auto terminal = os::open_terminal();
  auto child = exec_in_host(c1, {.argv = {"/bin/sh", "-c", "tty; test -t 1 && echo terminal"},
                                 .in = terminal.slave.get(),
                                 .out = terminal.slave.get(),
                                 .err = terminal.slave.get(),
                                 .terminal = true});
  const auto status = child.wait(seconds{10});
  EXPECT_TRUE(status && status->success());
  // The kernel hands a terminal's lines over one by one, and not at once.
  std::string text;
  pollfd readable{terminal.master.get(), POLLIN, 0};
  while (text.find("terminal") == std::string::npos && ::poll(&readable, 1, 10'000) > 0) {
    char piece[256];
    const ssize_t n = ::read(terminal.master.get(), piece, sizeof piece);
    if (n <= 0) break;
    text.append(piece, static_cast<std::size_t>(n));
  }
  EXPECT_NE(text.find("terminal"), std::string::npos) << text;
  provider_->destroy(cluster_, "c1");
  EXPECT_THROW(exec_in_host(c1, {.argv = {"true"}}), Error);
}

TEST_F(LocalHosts, ManyAreMadeInParallel) {
  for (const int count : {1, 6, 64}) {
    const auto begin = steady_clock::now();
    provider_->prepare(cluster());
    const auto prepared = steady_clock::now();
    const auto hosts = create_in_parallel(count);
    const auto made = steady_clock::now();
    EXPECT_EQ(provider_->list().size(), static_cast<std::size_t>(count));
    provider_->remove_cluster(cluster_);
    const auto ms = [](auto span) { return std::chrono::duration_cast<milliseconds>(span).count(); };
    std::cout << fmt::format("{:>3} hosts: prepare {} ms, create {} ms ({:.1f} ms each), remove {} ms\n", count,
                             ms(prepared - begin), ms(made - prepared),
                             static_cast<double>(ms(made - prepared)) / count, ms(steady_clock::now() - made));
  }
}

}  // namespace
}  // namespace underway::host
