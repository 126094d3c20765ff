// What tasks hold of a node, on a real agent: a volume, a core, a device.
#include <gtest/gtest.h>

#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

std::string job(const std::string& id, const std::string& group, const std::string& task,
                const std::string& resources) {
  return "job \"" + id + "\" {\n  update {\n    min_healthy_time = \"100ms\"\n  }\n  group \"g\" {\n" + group +
         "    task \"t\" {\n      driver = \"exec\"\n      config {\n        command = \"/bin/sleep\"\n"
         "        args = [\"86397\"]\n      }\n" +
         task + "      resources {\n        memory = 20\n" + resources + "      }\n    }\n  }\n}\n";
}

std::string in_task(const Machine& machine, const std::string& id, const std::string& line) {
  const std::string list = machine.underway({"operator", "api", "/v1/job/" + id + "/allocations"}).out;
  const auto begin = list.find("\"ID\":\"") + 6;
  return machine.underway({"alloc", "exec", list.substr(begin, 36), "/bin/sh", "-c", line}).out;
}

std::string cores_of(const Machine& machine, const std::string& id) {
  return in_task(
      machine, id,
      "for p in /proc/[0-9]*; do grep -qx sleep $p/comm && grep Cpus_allowed_list $p/status | cut -f2; done");
}

TEST(Holdings, AreTheTasksAloneAndSurviveTheAgent) {
  const std::string all = shell("cat /sys/devices/system/cpu/online").out;
  if (all == "0\n") GTEST_SKIP() << "one core: nothing would be left for others";
  Machine machine;
  machine.kill_agent();
  const std::string volume = machine.directory() + "/volume";
  shell("mkdir -m 777 " + volume + " && echo kept > " + volume + "/data");
  write_text(machine.directory() + "/agent.hcl",
             "client {\n  host_volume \"scratch\" {\n    path = \"" + volume +
                 "\"\n  }\n  device \"acme/thing/one\" {\n    paths = [\"/dev/net/tun\", \"/dev/gone\"]\n  }\n}\n");
  machine.start();

  const auto others = machine.run_job("others", job("others", "", "", "        cpu = 10\n"));
  ASSERT_EQ(others.exit_code, 0) << others.err;
  EXPECT_EQ(cores_of(machine, "others"), all);
  const std::string asks = "    volume \"d\" {\n      type = \"host\"\n      source = \"scratch\"\n    }\n";
  const std::string mounts =
      "      volume_mount {\n        volume = \"d\"\n        destination = \"/srv/holdings/data\"\n      }\n";
  const std::string holds = "        cores = 1\n        secrets = 2\n        device \"acme/thing\" {}\n";
  const auto holder = machine.run_job("holder", job("holder", asks, mounts, holds));
  ASSERT_EQ(holder.exit_code, 0) << holder.err << holder.out;
  EXPECT_EQ(in_task(machine, "holder", "cat /srv/holdings/data/data; ls /dev/net; echo $UNDERWAY_DEVICE_THING"),
            "kept\ntun\ntun\n");
  EXPECT_EQ(in_task(machine, "holder", "echo $NOMAD_CPU_CORES"), "0\n");
  EXPECT_EQ(cores_of(machine, "holder"), "0\n");
  EXPECT_EQ(in_task(machine, "holder", "df -m --output=size /secrets | tail -1 | tr -d ' '"), "2\n");
  EXPECT_NE(cores_of(machine, "others"), all) << "whoever shares keeps off";
  EXPECT_EQ(in_task(machine, "others", "ls -d /dev/net 2>/dev/null; ls -d /srv/holdings 2>/dev/null"), "");

  machine.kill_agent();
  machine.start();
  const auto second = machine.run_job("second", job("second", "", "", "        cpu = 10\n"));
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NE(cores_of(machine, "second"), all) << "what the agent found again is still held";
  machine.underway({"job", "stop", "-purge", "holder"});
  EXPECT_TRUE(eventually(seconds(20), [&] { return cores_of(machine, "others") == all; }));
  EXPECT_EQ(shell("cat " + volume + "/data").out, "kept\n");
}

}  // namespace
}  // namespace underway::harness
