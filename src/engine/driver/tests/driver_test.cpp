// The drivers on the real kernel.
#include "driver_fixture.hpp"

namespace underway::driver {
namespace {

TEST_F(DriverTest, RawExecRunsInTheTaskDirectoryWithItsEnvironmentOnly) {
  script("pwd; echo $NAME $AWS_SECRET; cat /proc/self/oom_score_adj; exit 4");
  spec_.config.as_object()["denied_envvars"] = boost::json::array{"AWS_*"};
  spec_.config.as_object()["oom_score_adj"] = 321;
  const auto status = finish(*make_raw_exec(options_));
  EXPECT_EQ(status.phase, TaskStatus::Phase::exited);
  EXPECT_EQ(status.exit, os::ExitStatus{.code = 4});
  EXPECT_EQ(out(), spec_.task_dir + "\nvalue\n321\n") << err();
}

TEST_F(DriverTest, RawExecRunsAsItsUserAndFindsItsOwnProgramsFirst) {
  os::make_directories(spec_.task_dir + "/local");
  os::write_file(spec_.task_dir + "/local/mine", "#!/bin/sh\nid -un\n", 0755);
  spec_.config = {{"command", "mine"}};
  spec_.user = "daemon";
  EXPECT_TRUE(finish(*make_raw_exec(options_)).exit.success());
  EXPECT_EQ(out(), "daemon\n");
}

TEST_F(DriverTest, MissingCommandNamesPathsAndNode) {
  for (const bool isolated : {false, true}) {
    SCOPED_TRACE(isolated);
    spec_.config = {{"command", "/opt/no/such"}};
    const auto driver = isolated ? make_exec(options_) : make_raw_exec(options_);
    try {
      driver->start(spec_);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::not_found);
      EXPECT_THAT(e.one_line(),
                  HasSubstr("cannot run '/opt/no/such': No such file or directory (ENOENT): on node 'gpu-014'"));
      EXPECT_THAT(e.text(), HasSubstr("starting task 7f3a9c12/web"));
    }
    EXPECT_FALSE(os::Cgroup::find(options_.cgroups, parent_ + "/7f3a9c12"));
  }
}

TEST_F(DriverTest, MissingUserNamesUserAndNode) {
  script("true");
  spec_.user = "no-such-user";
  for (const bool isolated : {false, true}) {
    const auto driver = isolated ? make_exec(options_) : make_raw_exec(options_);
    try {
      driver->start(spec_);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::not_found);
      EXPECT_THAT(e.one_line(), HasSubstr("there is no user 'no-such-user' on node 'gpu-014'"));
    }
  }
}

TEST_F(DriverTest, TaskIsFoundAgainByAnotherDriverAndItsResultKept) {
  for (const bool isolated : {false, true}) {
    SCOPED_TRACE(isolated);
    script("trap 'exit 9' TERM; echo up; while :; do sleep 0.01; done");
    const auto make = [&] { return isolated ? make_exec(options_) : make_raw_exec(options_); };
    spec_.env["TOKEN"] = "of the start";
    task_ = make()->start(spec_);
    const auto process = task_->status().process;
    EXPECT_TRUE(os::is_running(process));
    ASSERT_TRUE(eventually([&] { return !out().empty(); }));
    task_.reset();
    spec_.env.erase("TOKEN");
    task_ = make()->recover(spec_);
    EXPECT_EQ(task_->status().phase, TaskStatus::Phase::running);
    EXPECT_EQ(task_->status().process, process);
    auto session = task_->exec({.argv = {"sh", "-c", "echo $TOKEN"}});
    EXPECT_EQ(collect(session.out), "of the start\n") << "what only the task itself was given";
    session.child.wait();
    task_->stop(SIGTERM, seconds{10});
    task_.reset();
    task_ = make()->recover(spec_);
    ASSERT_TRUE(task_->wait(seconds{20}));
    EXPECT_EQ(task_->status().exit, os::ExitStatus{.code = 9});
    task_->destroy();
    os::remove_tree(spec_.alloc_dir + "/logs");
  }
}

TEST_F(DriverTest, KilledKeeperMeansLostAndEverythingDead) {
  for (const bool isolated : {false, true}) {
    SCOPED_TRACE(isolated);
    script("setsid sleep 1000 & exec sleep 1000");
    const auto driver = isolated ? make_exec(options_) : make_raw_exec(options_);
    task_ = driver->start(spec_);
    auto group = os::Cgroup::find(options_.cgroups, spec_.cgroup);
    ASSERT_TRUE(eventually([&] { return group->processes().size() == 2; }));
    const auto state = os::read_file(spec_.keeper_dir + "/state");
    const auto at = state.find("keeper ", state.find("phase"));
    ASSERT_EQ(::kill(std::stoi(state.substr(at + 7)), SIGKILL), 0);
    task_.reset();
    task_ = driver->recover(spec_);
    EXPECT_EQ(task_->status().phase, TaskStatus::Phase::lost);
    EXPECT_TRUE(group->processes().empty());
    group->release();
    task_->destroy();
  }
}

TEST_F(DriverTest, ForkBombIsHeldAtTheLimitAndDiesWithTheTask) {
  if (!options_.cgroups.has("pids")) GTEST_SKIP() << "no pids controller";
  spec_.pids = 60;
  for (const bool isolated : {false, true}) {
    SCOPED_TRACE(isolated);
    script("f() { f & f & wait; }; f 2>/dev/null; sleep 1000");
    const auto driver = isolated ? make_exec(options_) : make_raw_exec(options_);
    task_ = driver->start(spec_);
    EXPECT_TRUE(eventually([&] { return task_->usage().pids >= 50; }));
    EXPECT_LE(task_->usage().pids, 60U);
    end();
  }
}

TEST_F(DriverTest, ExecOpensTheDevicesThatItIsGivenAndNoOthers) {
  script("ls /dev; ls -R /dev/net; head -c 1 /dev/kmsg >/dev/null 2>&1 || echo no kmsg; cat /dev/kmsg");
  spec_.devices = {"/dev/net/tun", "/dev/null", "/etc/shadow", "/dev/../etc/shadow"};
  if (!os::exists("/dev/net/tun")) GTEST_SKIP() << "no /dev/net/tun";
  finish(*make_exec(options_));
  EXPECT_EQ(out(),
            "fd\nfull\nmqueue\nnet\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero\n"
            "/dev/net:\ntun\nno kmsg\n")
      << err();
}

TEST_F(DriverTest, RunsOnItsCoresAndOnOthersWhenItIsTold) {
  if (!options_.cgroups.has("cpuset")) GTEST_SKIP() << "no cpuset controller";
  const std::string all{trim(os::read_file("/sys/devices/system/cpu/online"))};
  if (all == "0") GTEST_SKIP() << "one core";
  for (const bool isolated : {false, true}) {
    SCOPED_TRACE(isolated);
    const std::string go = spec_.task_dir + "/local/go";
    os::remove_tree(go);
    script("set -- $(grep Cpus_allowed_list /proc/self/status); echo $2; until [ -e " +
           std::string(isolated ? "/local" : spec_.task_dir + "/local") +
           "/go ]; do sleep 0.02; done; set -- $(grep Cpus_allowed_list /proc/self/status); echo $2");
    spec_.cpuset = "0";
    const auto driver = isolated ? make_exec(options_) : make_raw_exec(options_);
    task_ = driver->start(spec_);
    EXPECT_TRUE(eventually([&] { return out() == "0\n"; })) << out();
    task_->set_cpuset(all);
    os::write_file(go, "");
    EXPECT_TRUE(task_->wait(seconds{60}));
    EXPECT_EQ(out(), "0\n" + all + "\n") << err();
    task_->destroy();
    os::remove_tree(spec_.alloc_dir + "/logs");
  }
}

TEST_F(DriverTest, ExecBeyondItsMemoryIsReportedAsOutOfMemory) {
  if (!options_.cgroups.has("memory")) GTEST_SKIP() << "no memory controller";
  spec_.config = {{"command", "tail"}, {"args", {"/dev/zero"}}};
  spec_.memory_mb = 24;
  const auto status = finish(*make_exec(options_));
  EXPECT_TRUE(status.oom_killed);
  EXPECT_EQ(status.exit, os::ExitStatus{.signal = SIGKILL});
}

TEST_F(DriverTest, ExecSeesTheMachineReadOnlyAndWritesOnlyItsOwn) {
  const std::string mine = fmt::format("of_task_{}", ::getpid());
  script(
      "for f in /etc/x /usr/x /x /sys/x /var/x /root/x; do touch $f 2>/dev/null && echo wrote $f; done;"
      "touch /tmp/" +
      mine +
      " /local/a /secrets/a /dev/shm/a && echo own; ls /tmp; id -un;"
      "ls /etc/hosts; ls /proc | grep -c '^[0-9]'; echo $$; cat " +
      path_ +
      "/precious/file; echo x > /proc/sys/vm/swappiness;"
      "grep -E 'NoNewPrivs|CapBnd|CapAmb' /proc/self/status; echo >/dev/null && echo null");
  const auto status = finish(*make_exec(options_));
  EXPECT_TRUE(status.exit.success());
  EXPECT_EQ(
      out(),
      "own\n" + mine +
          "\nnobody\n/etc/hosts\n4\n2\nCapBnd:\t00000000a80405fb\nCapAmb:\t0000000000000400\nNoNewPrivs:\t1\nnull\n")
      << err();
  EXPECT_THAT(err(), HasSubstr("precious/file: No such file or directory"));
  EXPECT_TRUE(os::exists(spec_.task_dir + "/tmp/" + mine));
  EXPECT_FALSE(os::exists("/tmp/" + mine));
}

TEST_F(DriverTest, ExecAsRootIsStillBounded) {
  script(
      "mount -t tmpfs none /mnt && echo mounted; echo 1 > /proc/sys/vm/swappiness && echo tuned; id -u; "
      "grep CapEff /proc/self/status; cat /proc/self/cgroup | grep memory; ls -d /sys/fs/cgroup/*/cgroup.procs | wc "
      "-l");
  spec_.user = "root";
  spec_.may_be_root = true;
  spec_.config.as_object()["cap_drop"] = boost::json::array{"all"};
  spec_.config.as_object()["cap_add"] = boost::json::array{"chown"};
  const auto status = finish(*make_exec(options_));
  EXPECT_TRUE(status.exit.success());
  EXPECT_THAT(out(), Not(HasSubstr("mounted")));
  EXPECT_THAT(out(), Not(HasSubstr("tuned")));
  EXPECT_THAT(out(), HasSubstr("0\nCapEff:\t0000000000000001\n"));
}

TEST_F(DriverTest, CommandsRunBesideTheTaskInItsWorld) {
  for (const bool isolated : {false, true}) {
    SCOPED_TRACE(isolated);
    const std::string mine = fmt::format("sleep 1000.{}", ::getpid());
    script("exec " + mine);
    spec_.user = "daemon";
    const auto driver = isolated ? make_exec(options_) : make_raw_exec(options_);
    task_ = driver->start(spec_);
    auto session = task_->exec(
        {.argv = {"bash", "-c", fmt::format("read x; echo got $x as $(id -un); pwd; pgrep -cfx '{}'; exit 6", mine)}});
    os::write_all(session.in, "hello\n", "input");
    session.in.reset();
    EXPECT_EQ(collect(session.out), fmt::format("got hello as daemon\n{}\n1\n", isolated ? "/" : spec_.task_dir))
        << collect(session.err);
    EXPECT_EQ(session.child.wait(), os::ExitStatus{.code = 6});
    auto terminal = task_->exec({.argv = {"stty", "size"}, .terminal = true, .rows = 30, .columns = 99});
    EXPECT_TRUE(terminal.child.wait().success());
    std::array<char, 64> text{};
    EXPECT_GT(::read(terminal.terminal.get(), text.data(), text.size() - 1), 0);
    EXPECT_STREQ(text.data(), "30 99\r\n");
    EXPECT_THROW(task_->exec({.argv = {"/no/such"}}), Error);
    // Whoever sits in the task goes with it.
    auto sitting = task_->exec({.argv = {"sleep", "1000"}});
    end();
    EXPECT_EQ(sitting.child.wait(), os::ExitStatus{.signal = SIGKILL});
    EXPECT_THROW(task_->exec({.argv = {"true"}}), Error);
  }
}

TEST_F(DriverTest, AProcessIsNoMachineThatCouldBePaused) {
  script("exec sleep 1000");
  const auto driver = make_raw_exec(options_);
  task_ = driver->start(spec_);
  const std::map<std::string, std::function<void()>> verbs = {
      {"paused", [&] { task_->pause(); }},
      {"resumed", [&] { task_->resume(); }},
      {"kept in a checkpoint", [&] { task_->checkpoint(); }},
  };
  for (const auto& [call, what] : verbs) {
    SCOPED_TRACE(call);
    try {
      what();
      ADD_FAILURE() << "it could";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::unsupported);
      EXPECT_EQ(error.message(), "the task cannot be " + call);
      EXPECT_THAT(error.text(), HasSubstr("only virtual machines can"));
      EXPECT_THAT(error.text(), HasSubstr("do:    name the machine's task"));
    }
  }
  EXPECT_EQ(task_->status().phase, TaskStatus::Phase::running);
  end();
}

TEST_F(DriverTest, ExecSharesProcessNumbersWithTheMachineOnRequest) {
  script("echo $$; sleep 1000");
  spec_.config.as_object()["pid_mode"] = "host";
  const auto driver = make_exec(options_);
  task_ = driver->start(spec_);
  ASSERT_TRUE(eventually([&] { return !out().empty(); }));
  EXPECT_EQ(out(), fmt::format("{}\n", task_->status().process.pid));
  end();
}

class KillModeProcess : public DriverTest {
 protected:
  std::unique_ptr<Driver> make(bool isolated) const { return isolated ? make_exec(options_) : make_raw_exec(options_); }
  /// The n-th run of the task, as a restart in place makes it.
  void use_run(int number) {
    spec_.keeper_dir = fmt::format("{}/keepers/web-{}", path_, number);
    spec_.run_cgroup = fmt::format("{}/7f3a9c12.runs/web/{}", parent_, number);
  }
  void mode_script(const std::string& text, bool isolated) {
    script(text);
    spec_.config.as_object()["kill_mode"] = "process";
    if (isolated) spec_.config.as_object()["pid_mode"] = "host";
  }
  std::vector<os::ProcessIdentity> inside(const std::string& cgroup) const {
    std::vector<os::ProcessIdentity> found;
    auto group = os::Cgroup::find(options_.cgroups, cgroup);
    if (!group) return found;
    for (const pid_t pid : group->processes())
      found.push_back(os::process_identity(pid).value_or(os::ProcessIdentity{}));
    group->release();
    return found;
  }
  /// Those that have become what they shall be.
  std::ptrdiff_t sleepers(const std::string& cgroup) const {
    return std::ranges::count_if(inside(cgroup), [](const os::ProcessIdentity& process) {
      return os::find_file(fmt::format("/proc/{}/comm", process.pid)) == "sleep\n";
    });
  }
  /// Starts a run that leaves a sleeper behind, ends it and clears it away; the sleeper.
  os::ProcessIdentity leave_one(Driver& driver, bool isolated) {
    mode_script("setsid sleep 1000 > /dev/null 2>&1 & exec sleep 1001", isolated);
    task_ = driver.start(spec_);
    const auto own = task_->status().process;
    EXPECT_TRUE(eventually([&] { return sleepers(spec_.run_cgroup) == 2; }));
    auto both = inside(spec_.run_cgroup);
    std::erase(both, own);
    EXPECT_EQ(both.size(), 1U);
    task_->stop(SIGKILL, {});
    EXPECT_TRUE(task_->wait(seconds{20}));
    EXPECT_EQ(task_->status().phase, TaskStatus::Phase::exited);
    EXPECT_EQ(task_->status().left_running, (std::map<std::string, std::size_t>{{"sleep", 1}}));
    task_->destroy();
    return both.empty() ? os::ProcessIdentity{} : both.front();
  }
  void expect_gone_with_its_cgroup(Driver& driver, const os::ProcessIdentity& left, const std::string& cgroup) {
    EXPECT_TRUE(driver.reap_leftovers(false)) << "it lives";
    EXPECT_TRUE(os::is_running(left));
    static_cast<void>(os::Pidfd::find(left)->signal(SIGKILL));
    EXPECT_TRUE(eventually([&] { return !driver.reap_leftovers(false); }));
    EXPECT_FALSE(os::Cgroup::find(options_.cgroups, cgroup));
    EXPECT_FALSE(os::Cgroup::find(options_.cgroups, parent_ + "/7f3a9c12.runs")) << "with the groups above";
  }
};

TEST_F(KillModeProcess, WhatARunLeavesLivesOnBesideTheNextInACgroupThatGoesWhenItIsEmpty) {
  for (const bool isolated : {false, true}) {
    SCOPED_TRACE(isolated);
    const auto driver = make(isolated);
    use_run(1);
    const auto left = leave_one(*driver, isolated);
    const std::string left_in = spec_.run_cgroup;
    EXPECT_EQ(inside(left_in), std::vector{left});

    // Neither the next run, nor its end, nor one that cannot start, touches it; and it is in nobody's way.
    use_run(2);
    spec_.pids = 3;
    mode_script("true | true; echo again", isolated);
    EXPECT_TRUE(finish(*driver).exit.success());
    EXPECT_TRUE(task_->status().left_running.empty());
    EXPECT_FALSE(os::Cgroup::find(options_.cgroups, spec_.run_cgroup));
    use_run(3);
    spec_.config.as_object()["command"] = "/no/such";
    EXPECT_THROW(driver->start(spec_), Error);
    use_run(4);
    script("true");  // the task's config may change to the other mode
    EXPECT_TRUE(finish(*driver).exit.success());
    EXPECT_TRUE(os::is_running(left));
    expect_gone_with_its_cgroup(*driver, left, left_in);
    os::remove_tree(spec_.alloc_dir + "/logs");
  }
}

TEST_F(KillModeProcess, AKilledKeeperLosesTheTasksProcessAndNothingElse) {
  for (const bool isolated : {false, true}) {
    SCOPED_TRACE(isolated);
    use_run(1);
    mode_script("setsid sleep 1000 > /dev/null 2>&1 & exec sleep 1001", isolated);
    const auto driver = make(isolated);
    task_ = driver->start(spec_);
    const auto own = task_->status().process;
    ASSERT_TRUE(eventually([&] { return sleepers(spec_.run_cgroup) == 2; }));
    const auto state = os::read_file(spec_.keeper_dir + "/state");
    ASSERT_EQ(::kill(std::stoi(state.substr(state.find("\nkeeper ") + 8)), SIGKILL), 0);
    task_.reset();
    task_ = driver->recover(spec_);
    EXPECT_EQ(task_->status().phase, TaskStatus::Phase::lost);
    EXPECT_FALSE(os::is_running(own));
    EXPECT_EQ(task_->status().left_running, (std::map<std::string, std::size_t>{{"sleep", 1}}));
    task_->destroy();
    ASSERT_EQ(inside(spec_.run_cgroup).size(), 1U);
    expect_gone_with_its_cgroup(*driver, inside(spec_.run_cgroup).front(), spec_.run_cgroup);
  }
}

TEST_F(KillModeProcess, ARunOfWhichNothingIsKnownTakesNoLeftoverAlong) {
  const auto driver = make(false);
  use_run(1);
  const auto left = leave_one(*driver, false);
  // The agent was killed between its intent and the keeper's first word.
  use_run(2);
  os::make_directories(spec_.keeper_dir, 0700);
  task_ = driver->recover(spec_);
  EXPECT_EQ(task_->status().phase, TaskStatus::Phase::lost);
  task_->destroy();
  use_run(1);
  expect_gone_with_its_cgroup(*driver, left, spec_.run_cgroup);
}

TEST_F(KillModeProcess, LeftoversCanBeEnded) {
  const auto driver = make(false);
  use_run(1);
  const auto left = leave_one(*driver, false);
  // Told to forget it twice, as after a SIGKILL between its steps.
  os::make_directories(spec_.keeper_dir, 0700);
  task_ = driver->recover(spec_);
  task_->destroy();
  EXPECT_EQ(ledger_->unsettled().size(), 1U);
  EXPECT_FALSE(driver->reap_leftovers(true));
  EXPECT_FALSE(os::is_running(left));
  EXPECT_FALSE(os::Cgroup::find(options_.cgroups, parent_ + "/7f3a9c12.runs"));
}

TEST_F(DriverTest, WrongConfigIsRefusedWithEveryProblem) {
  spec_.config = {{"args", 3}};
  try {
    make_raw_exec(options_)->start(spec_);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::invalid);
    EXPECT_EQ(e.reasons().size(), 2U);
  }
}

TEST_F(DriverTest, RawExecGivesItsTaskTheLimitsThatItsConfigNames) {
  script("ulimit -n; ulimit -Hn; ulimit -c");
  spec_.config.as_object()["ulimits"] = boost::json::object{{"nofile", "64:128"}, {"core", "0"}};
  EXPECT_TRUE(finish(*make_raw_exec(options_)).exit.success()) << err();
  EXPECT_EQ(out(), "64\n128\n0\n");
  spec_.config.as_object()["ulimits"] = boost::json::object{{"nofiles", "64"}};
  EXPECT_THAT(make_raw_exec(options_)->validate(spec_.config),
              testing::ElementsAre(HasSubstr("config.ulimits.nofiles: is no limit")));
}

TEST_F(DriverTest, ExecHoldsItsTaskToLimitsPathsDevicesAndSystemCalls) {
  script(
      "ulimit -n; ulimit -Hn; cat /etc/hostname | wc -c; ls /usr/share | wc -l; touch /local/kept && echo wrote; "
      "touch /local/fixed/x || echo fixed; mkdir /local/d || echo filtered; "
      "grep Seccomp: /proc/self/status");
  os::make_directories(spec_.task_dir + "/local/fixed");
  os::write_file(path_ + "/profile", R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls":
    [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1}]})");
  auto& keys = spec_.config.as_object();
  keys["ulimits"] = boost::json::object{{"nofile", "64:128"}};
  keys["masked_paths"] = {"/etc/hostname", "/usr/share"};
  keys["read_only_paths"] = boost::json::array{"/local/fixed"};
  keys["seccomp"] = path_ + "/profile";
  EXPECT_TRUE(finish(*make_exec(options_)).exit.success()) << err();
  EXPECT_THAT(out(), testing::StartsWith("64\n128\n0\n0\nwrote\nfixed\nfiltered\n"));
  EXPECT_THAT(out(), HasSubstr("Seccomp:\t2"));

  script(
      "head -c 1 /dev/zero | wc -c; : > /dev/null && echo null; head -c 1 /dev/port && echo port; grep Seccomp: "
      "/proc/self/status");
  spec_.config.as_object()["devices"] = boost::json::array{"/dev/null:rw"};
  spec_.config.as_object()["seccomp"] = "default";
  spec_.user = "root";
  spec_.may_be_root = true;
  EXPECT_TRUE(finish(*make_exec(options_)).exit.success()) << err();
  EXPECT_THAT(out(), HasSubstr("1\nnull\n"));
  EXPECT_THAT(out(), Not(HasSubstr("port")));
}

}  // namespace
}  // namespace underway::driver
