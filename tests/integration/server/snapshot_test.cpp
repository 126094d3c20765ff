// The state of a real server in a file, and back, also when it is killed meanwhile.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

std::string job(const std::string& id) {
  return "job \"" + id +
         "\" {\n  update {\n    min_healthy_time = \"100ms\"\n  }\n  group \"g\" {\n    task \"t\" {\n"
         "      driver = \"raw_exec\"\n      user = \"root\"\n      config {\n        command = \"/bin/sleep\"\n"
         "        args = [\"86395\"]\n      }\n      resources {\n        cpu = 10\n        memory = 20\n      }\n"
         "    }\n  }\n}\n";
}

Finished curl(const Machine& machine, const std::string& rest) {
  return shell("curl -sS --unix-socket " + machine.state() + "/run/agent.sock " + rest);
}

std::string jobs(const Machine& machine) {
  return curl(machine, "http://x/v1/jobs | grep -o '\"ID\":\"[a-z]*\"' | sort | tr -d '\\n'").out;
}

std::string pid_of_task(const Machine& machine, const std::string& id) {
  return shell("for p in $(pgrep -x sleep); do tr '\\0' '\\n' < /proc/$p/environ | grep -qx NOMAD_JOB_ID=" + id +
               " && grep -qsz " + machine.directory() + " /proc/$p/environ && echo $p; done")
      .out;
}

constexpr const char* kOld = "\"ID\":\"kept\"";
constexpr const char* kNew = "\"ID\":\"kept\"\"ID\":\"later\"";

TEST(Snapshot, IsRestoredWhileWhatItHasGoesOn) {
  if (shell("command -v curl").exit_code != 0) GTEST_SKIP() << "curl is not installed";
  Machine machine;
  ASSERT_EQ(machine.run_job("kept", job("kept")).exit_code, 0);
  const std::string file = machine.directory() + "/state.tgz", socket_put = "-X PUT --data-binary @" + file;
  const auto saved = curl(machine, "-D " + file + ".head -o " + file + " http://x/v1/operator/snapshot");
  ASSERT_EQ(saved.exit_code, 0) << saved.err;
  EXPECT_EQ(shell("tar -tzf " + file).out, "meta.json\nstate.bin\nSHA256SUMS\n");
  EXPECT_EQ(shell("cd " + machine.directory() + " && tar -xzf state.tgz && sha256sum -c --quiet SHA256SUMS").exit_code,
            0);
  EXPECT_EQ(shell("grep -i '^digest: sha-256=' " + file + ".head | cut -d= -f2- | tr -d '\\r\\n'").out,
            shell("openssl dgst -sha256 -binary " + file + " | base64 | tr -d '\\n'").out);

  const std::string pid = pid_of_task(machine, "kept");
  ASSERT_FALSE(pid.empty());
  ASSERT_EQ(machine.run_job("later", job("later")).exit_code, 0);
  ASSERT_EQ(jobs(machine), kNew);
  const auto cut = curl(machine, "-w '%{http_code}' -X PUT --data-binary @- http://x/v1/operator/snapshot < /dev/null");
  EXPECT_NE(cut.out.find("400"), std::string::npos) << cut.out;
  const auto half = shell("head -c 700 " + file + " | curl -sS -w '%{http_code}' --unix-socket " + machine.state() +
                          "/run/agent.sock -X PUT --data-binary @- http://x/v1/operator/snapshot");
  EXPECT_NE(half.out.find("400"), std::string::npos) << half.out;
  EXPECT_EQ(jobs(machine), kNew);

  const auto restored = curl(machine, "-w '%{http_code}' " + socket_put + " http://x/v1/operator/snapshot");
  EXPECT_EQ(restored.out, "200") << restored.err;
  EXPECT_EQ(jobs(machine), kOld);
  EXPECT_TRUE(eventually(seconds(20), [&] { return pid_of_task(machine, "later").empty(); })) << "nobody wants it";
  EXPECT_EQ(pid_of_task(machine, "kept"), pid);
  EXPECT_TRUE(eventually(seconds(20),
                         [&] { return machine.underway({"node", "status"}).out.find("ready") != std::string::npos; }));
  EXPECT_EQ(machine.run_job("later", job("later")).exit_code, 0) << "it goes on from there";
}

TEST(Snapshot, IsTheOldOrTheNewStateWheneverTheServerIsKilled) {
  if (shell("command -v curl").exit_code != 0) GTEST_SKIP() << "curl is not installed";
  Machine machine;
  ASSERT_EQ(machine.run_job("kept", job("kept")).exit_code, 0);
  const std::string old_file = machine.directory() + "/old.tgz", new_file = machine.directory() + "/new.tgz";
  ASSERT_EQ(curl(machine, "-o " + old_file + " http://x/v1/operator/snapshot").exit_code, 0);
  ASSERT_EQ(machine.run_job("later", job("later")).exit_code, 0);
  ASSERT_EQ(curl(machine, "-o " + new_file + " http://x/v1/operator/snapshot").exit_code, 0);
  std::mt19937 random(20261122);
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE(round);
    const Background restoring(
        Command{.argv = {"/bin/sh", "-c",
                         "curl -s --unix-socket " + machine.state() + "/run/agent.sock -X PUT --data-binary @" +
                             (round % 2 == 0 ? old_file : new_file) + " http://x/v1/operator/snapshot"}});
    std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution(1, 60)(random)));
    machine.kill_agent();
    machine.start();
    const std::string found = jobs(machine);
    EXPECT_TRUE(found == kOld || found == kNew) << found;
  }
  EXPECT_EQ(curl(machine, "-w '%{http_code}' -X PUT --data-binary @" + new_file + " http://x/v1/operator/snapshot").out,
            "200");
  EXPECT_EQ(jobs(machine), kNew);
}

}  // namespace
}  // namespace underway::harness
