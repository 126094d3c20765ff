// What an exec task tries, as whoever may submit it: each is refused, or worth nothing outside.
#include <sys/stat.h>

#include "driver_fixture.hpp"

namespace underway::driver {
namespace {

class ConfinementTest : public DriverTest {
 protected:
  void add(const char* key, boost::json::value value) { spec_.config.as_object()[key] = std::move(value); }
  void runs() { EXPECT_TRUE(finish(*make_exec(options_)).exit.success()) << err(); }
};

TEST_F(ConfinementTest, AUserNamespaceKnowsTheTasksNumbersAndNotRoots) {
  script("cat /proc/self/uid_map /proc/self/gid_map; stat -c %u /etc/passwd; cat /proc/self/status | grep Seccomp:");
  spec_.user = "daemon";
  runs();
  const auto lines = split(out(), '\n');
  ASSERT_GE(lines.size(), 4u);
  EXPECT_EQ(lines[0], "         1          1          1");
  EXPECT_EQ(lines[1], "         1          1          1");
  EXPECT_EQ(lines[2], "65534") << "root is nobody";
  EXPECT_EQ(lines[3], "Seccomp:\t2");
}

TEST_F(ConfinementTest, CapabilitiesThatAreAddedReachNothingOfTheMachines) {
  script(
      "cat /etc/shadow && echo read; chown daemon /local && echo given; mknod /local/sda b 8 0 && echo made;"
      "perl -e '$< = $> = 0; $> == 0 or die' && echo root; perl -e '$> = 1; $> == 1 or die' && echo daemon;"
      "grep CapEff /proc/self/status");
  add("cap_add", boost::json::array{"dac_override", "chown", "fowner", "mknod", "setuid", "setgid"});
  finish(*make_exec(options_));
  EXPECT_EQ(out(), "CapEff:\t00000000080004cb\n") << err();
}

TEST_F(ConfinementTest, WhatItMakesGainsNobodyAUserOnTheMachine) {
  script(
      "for d in /local /alloc /tmp /secrets /var/tmp; do"
      "  set -- $(awk -v d=$d '$5 == d { print $6 }' /proc/self/mountinfo | tail -n 1);"
      "  for o in nosuid nodev; do case ,$1, in *,$o,*) ;; *) echo $d lacks $o;; esac; done;"
      "done; awk '$5 == \"/secrets\" { print $6 }' /proc/self/mountinfo | grep -o noexec;"
      "awk '$5 == \"/usr\" { print $6 }' /proc/self/mountinfo | grep -o nosuid");
  runs();
  EXPECT_THAT(out(), testing::StartsWith("noexec\n"));
  EXPECT_THAT(out(), Not(HasSubstr("lacks")));
}

TEST_F(ConfinementTest, NobodyTypesIntoItsTerminal) {
  script("exec sleep 1000");
  const auto driver = make_exec(options_);
  task_ = driver->start(spec_);
  // TIOCSTI is 0x5412 and TIOCLINUX 0x541C (ioctl_tty(2)); the last has bits that the kernel does not look at.
  const std::string program =
      "for my $r (0x5412, 0x541C, 0x100005412) { my $c = \"x\"; print ioctl(STDIN, $r, $c) ? \"typed\" : \"$!\", "
      "\"\\n\" "
      "} my $s = ''; print ioctl(STDIN, 0x5413, $s = \"\\0\" x 8) ? \"size\\n\" : \"$!\\n\"";
  auto session = task_->exec({.argv = {"perl", "-e", program}, .terminal = true});
  EXPECT_TRUE(session.child.wait().success());
  std::string text(4096, '\0');
  const auto size = ::read(session.terminal.get(), text.data(), text.size());
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  EXPECT_EQ(text, "Operation not permitted\r\nOperation not permitted\r\nOperation not permitted\r\nsize\r\n");
  end();
}

TEST_F(ConfinementTest, TheMachinesCallsAreRefused) {
  script("perl -e 'print syscall(175, 0, 0, 0) == -1 ? \"$!\\n\" : \"loaded\\n\"'");  // init_module, x86-64
  runs();
#if defined(__x86_64__)
  EXPECT_EQ(out(), "Operation not permitted\n");
#endif
}

TEST_F(ConfinementTest, AnotherNameForRootIsRootOnTheNode) {
  script("id -u");
  spec_.user = "0";
  EXPECT_THROW(make_exec(options_)->start(spec_), Error);
  spec_.may_be_root = true;
  runs();
  EXPECT_EQ(out(), "0\n");
}

TEST_F(ConfinementTest, ItsCommandsAreInItsUserNamespace) {
  script("exec sleep 1000");
  spec_.user = "daemon";
  task_ = make_exec(options_)->start(spec_);
  auto session = task_->exec({.argv = {"sh", "-c", "cat /proc/self/uid_map; cat /etc/shadow || id -un"}});
  EXPECT_EQ(collect(session.out), "         1          1          1\ndaemon\n");
  session.child.wait();
  end();
}

TEST_F(ConfinementTest, LowPortsOfTheMachineTakeTheRight) {
  // One that nobody listens on: the port is free or the test says nothing.
  script(
      "perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(LocalAddr => \"127.0.0.1\", LocalPort => 999, "
      "Listen => 1) ? \"bound\\n\" : \"$!\\n\"'");
  runs();
  EXPECT_EQ(out(), "Permission denied\n");
  os::remove_tree(spec_.alloc_dir + "/logs");
  spec_.low_ports = true;
  runs();
  EXPECT_EQ(out(), "bound\n");
}

TEST_F(ConfinementTest, ALinkInPlaceOfItsLogsLeadsNowhere) {
  os::make_directories(spec_.alloc_dir, 0777);
  os::make_directories(path_ + "/elsewhere", 0755);
  ASSERT_EQ(::symlink((path_ + "/elsewhere").c_str(), (spec_.alloc_dir + "/logs").c_str()), 0);
  script("echo x");
  EXPECT_THROW(make_exec(options_)->start(spec_), Error);
  EXPECT_TRUE(os::list_directory(path_ + "/elsewhere").empty());
  os::remove_tree(spec_.keeper_dir);
}

}  // namespace
}  // namespace underway::driver
