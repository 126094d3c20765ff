// What a task may use, as far as the agent may give it.
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "driver_fixture.hpp"

namespace underway::driver {
namespace {

TEST_F(DriverTest, ALimitThatTheAgentMayNotRaiseIsAsHighAsItMay) {
  // In a process of its own: what is lowered without CAP_SYS_RESOURCE stays so.
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr rlimit kFew{100, 200};
    const __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct held[2] = {};
    ::syscall(SYS_capget, &header, held);
    held[0].effective &= ~(1U << CAP_SYS_RESOURCE);
    held[0].permitted &= ~(1U << CAP_SYS_RESOURCE);
    held[0].inheritable = 0;
    if (::syscall(SYS_capset, &header, held) != 0 || ::setrlimit(RLIMIT_NOFILE, &kFew) != 0) ::_exit(2);
    script("ulimit -Sn; ulimit -Hn; ulimit -Sc");
    spec_.config.as_object()["ulimits"] = boost::json::object{{"nofile", "131072"}, {"core", "0"}};
    const auto driver = make_raw_exec(options_);
    const auto less = driver->shortfalls(spec_.config);
    const bool told = less == std::vector<std::string>{"nofile is 200 in place of 131072"};
    const bool ran = finish(*driver).exit.success() && out() == "200\n200\n0\n";
    ::_exit(told && ran ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "it said or gave something else; 2: this machine does not let it be tried";
  // What it may is given, and nothing is said.
  EXPECT_THAT(make_raw_exec(options_)->shortfalls({{"ulimits", {{"nofile", "64"}}}}), testing::IsEmpty());
}

TEST_F(DriverTest, RawExecThatDelegatesHasNeitherWeightNorLimitOfProcesses) {
  const auto shown = [&](const std::string& controller, const std::string& file) {
    const auto mount = options_.cgroups.v1_mounts().find(controller);
    const auto base = mount != options_.cgroups.v1_mounts().end() ? mount->second : options_.cgroups.v2_mount();
    return std::string(trim(os::find_file(base + "/" + spec_.cgroup + "/" + file).value_or("-")));
  };
  const bool v1 = options_.cgroups.v1_mounts().contains("cpu");
  const std::string weight = v1 ? "cpu.shares" : "cpu.weight";
  spec_.cpu_shares = 50;
  script("sleep 1000");
  const auto run = [&](bool delegate) {
    if (delegate) spec_.config.as_object()["delegate"] = true;
    const auto task = make_raw_exec(options_)->start(spec_);
    auto found = std::pair(shown("cpu", weight), shown("pids", "pids.max"));
    task->stop(SIGKILL, {});
    EXPECT_TRUE(task->wait(std::chrono::seconds(5)));
    task->destroy();
    return found;
  };
  EXPECT_NE(run(false).second, "max");
  const auto delegated = run(true);
  EXPECT_EQ(delegated.first, v1 ? "1024" : "100");
  EXPECT_EQ(delegated.second, "max");
  spec_.pids = options_.default_pids;
  EXPECT_EQ(run(true).second, "max") << "as the node fills it in";
  spec_.pids = 77;
  EXPECT_EQ(run(true).second, "77") << "who names a limit gets it";
}

}  // namespace
}  // namespace underway::driver
