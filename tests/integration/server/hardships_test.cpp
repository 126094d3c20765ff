// Agents that are stopped for longer than anybody waits for them: nothing that runs is lost by it, nothing is begun
// twice, and it ends by itself.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "harness/capsule/two_agents.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

class Hardships : public testing::Test {
 protected:
  bool is_ready() const { return agents.underway({"node", "status"}).out.find(" ready") != std::string::npos; }
  /// Pids of keepers of this test's node.
  std::vector<int> keepers() const {
    std::vector<int> pids;
    std::istringstream words(shell("for p in $(pgrep -f underway-keeper); do grep -qsz " + agents.file("node") +
                                   " /proc/$p/cmdline && " + "echo $p; done")
                                 .out);
    for (int pid = 0; words >> pid;) pids.push_back(pid);
    return pids;
  }
  /// Its allocations that are wanted.
  std::string wanted(const std::string& job) const {
    return agents
        .underway({"operator", "api", "/v1/job/" + job + "/allocations?filter=DesiredStatus%20%3D%3D%20%22run%22"})
        .out;
  }
  std::size_t count_wanted(const std::string& job) const {
    const auto text = wanted(job);
    std::size_t count = 0;
    for (auto at = text.find("\"DesiredStatus\":"); at != std::string::npos;
         at = text.find("\"DesiredStatus\":", at + 1))
      ++count;
    return count;
  }

  TwoAgents agents;
};

TEST_F(Hardships, WhoIsStoppedForLongerThanAnybodyWaitsTakesUpWhereHeWas) {
  agents.start("  min_heartbeat_ttl = \"2s\"\n  heartbeat_grace = \"1s\"\n  failover_heartbeat_ttl = \"2s\"\n");
  ASSERT_EQ(agents.run_sleeper("web").exit_code, 0) << agents.log("server") << agents.log("node");
  const auto pid = agents.pid_of_task("web");
  const auto expect_same = [&](const char* who) {
    EXPECT_TRUE(eventually(seconds(30), [&] { return is_ready(); })) << who << agents.log("node");
    EXPECT_EQ(agents.pid_of_task("web"), pid) << who;
    EXPECT_TRUE(eventually(seconds(30),
                           [&] {
                             return count_wanted("web") == 1 &&
                                    wanted("web").find("\"ClientStatus\":\"running\"") != std::string::npos;
                           }))
        << who << wanted("web");
    EXPECT_EQ(agents.underway({"alloc", "exec", "-i=false", "-t=false", "-job", "web", "/bin/true"}).exit_code, 0)
        << who;
  };
  agents.node().signal(SIGSTOP);
  EXPECT_TRUE(eventually(seconds(30), [&] { return !is_ready(); })) << "nobody missed it";
  agents.node().signal(SIGCONT);
  expect_same("the agent");
  // A server that was away counts nobody's silence during that time.
  agents.server().signal(SIGSTOP);
  EXPECT_TRUE(stays(seconds(4), [&] { return agents.pid_of_task("web") == pid; })) << "longer than the node's patience";
  agents.server().signal(SIGCONT);
  expect_same("the server");
  for (const int keeper : keepers()) ::kill(keeper, SIGSTOP);
  ASSERT_FALSE(keepers().empty());
  EXPECT_TRUE(stays(seconds(3), [&] { return is_ready(); })) << "a keeper that says nothing holds up its agent";
  for (const int keeper : keepers()) ::kill(keeper, SIGCONT);
  expect_same("the keeper");
}

}  // namespace
}  // namespace underway::harness
