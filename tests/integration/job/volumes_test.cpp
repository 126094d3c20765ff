// Dynamic host volumes on a real agent, which is killed whenever it hurts most.
#include <gtest/gtest.h>

#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

std::string volume_file(const Machine& machine, const std::string& name, const std::string& plugin,
                        const std::string& more = {}) {
  const std::string file = machine.directory() + "/" + name + ".volume.hcl";
  write_text(file, "name = \"" + name + "\"\ntype = \"host\"\nplugin_id = \"" + plugin +
                       "\"\ncapability {\n  access_mode = \"single-node-single-writer\"\n"
                       "  attachment_mode = \"file-system\"\n}\n" +
                       more);
  return file;
}

std::string job(const std::string& id) {
  return "job \"" + id +
         "\" {\n  update {\n    min_healthy_time = \"100ms\"\n  }\n  group \"g\" {\n    volume \"d\" {\n"
         "      type = \"host\"\n      source = \"data\"\n      sticky = true\n"
         "      access_mode = \"single-node-single-writer\"\n    }\n    task \"t\" {\n      driver = \"exec\"\n"
         "      user = \"root\"\n      config {\n        command = \"/bin/sh\"\n"
         "        args = [\"-c\", \"echo started >> /srv/data/log; exec sleep 86396\"]\n      }\n"
         "      volume_mount {\n        volume = \"d\"\n        destination = \"/srv/data\"\n      }\n"
         "      resources {\n        cpu = 10\n        memory = 20\n      }\n    }\n  }\n}\n";
}

/// A field of the only volume; empty when there is none.
std::string of_volume(const Machine& machine, const std::string& field) {
  const auto shown = machine.underway({"volume", "status", "-t", "{{ range . }}{{ ." + field + " }}{{ end }}"}).out;
  return shown.substr(0, shown.find('\n'));
}

std::string lines_of(const std::string& file) { return shell("cat " + file + " 2>/dev/null | wc -l").out; }

TEST(Volumes, AreLentToOneWriterAndOutliveAgentsAndAllocations) {
  Machine machine;
  const auto created = machine.underway(
      {"volume", "create", volume_file(machine, "data", "mkdir", "parameters {\n  mode = \"0700\"\n}\n")});
  ASSERT_EQ(created.exit_code, 0) << created.err << created.out;
  EXPECT_NE(created.out.find("==> Created host volume data with ID"), std::string::npos) << created.out;
  EXPECT_NE(created.out.find("State     = ready"), std::string::npos) << created.out;
  const std::string id = of_volume(machine, "ID");
  const std::string log = machine.state() + "/host_volumes/" + id + "/log";

  const auto first = machine.run_job("first", job("first"));
  ASSERT_EQ(first.exit_code, 0) << first.err << first.out;
  ASSERT_TRUE(eventually(seconds(10), [&] { return lines_of(log) == "1\n"; }));
  write_text(machine.directory() + "/second.hcl", job("second"));
  machine.underway({"job", "run", "-detach", machine.directory() + "/second.hcl"});
  EXPECT_TRUE(stays(seconds(2), [&] { return lines_of(log) == "1\n"; })) << "two writers";

  const auto refused = machine.underway({"volume", "delete", "-yes", "data"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_NE(refused.err.find("in use by allocations"), std::string::npos) << refused.err;
  EXPECT_NE(machine.underway({"volume", "status", "data"}).out.find("running"), std::string::npos);
  EXPECT_NE(machine.underway({"volume", "claim", "list"}).out.find("first"), std::string::npos);

  machine.kill_agent();
  machine.start();
  EXPECT_EQ(of_volume(machine, "State"), "ready");
  EXPECT_EQ(of_volume(machine, "ID"), id);
  EXPECT_EQ(lines_of(log), "1\n") << "the task was started again";
  machine.underway({"job", "restart", "-yes", "first"});
  EXPECT_TRUE(eventually(seconds(20), [&] { return lines_of(log) == "2\n"; })) << "the data is another's";

  machine.underway({"job", "stop", "-purge", "first"});
  EXPECT_TRUE(eventually(seconds(20), [&] { return lines_of(log) == "3\n"; })) << "whoever waited has not begun";
  machine.underway({"job", "stop", "-purge", "second"});
  EXPECT_TRUE(
      eventually(seconds(20), [&] { return machine.underway({"volume", "delete", "-yes", "data"}).exit_code == 0; }));
  EXPECT_EQ(of_volume(machine, "ID"), "");
  EXPECT_EQ(shell("ls " + machine.state() + "/host_volumes").out, "");
}

/// Counts its calls, and waits in each until it is let go.
constexpr const char* kSlowPlugin = R"sh(#!/bin/sh
set -eu
[ "$1" = fingerprint ] && { echo '{"version": "0.1.0"}'; exit 0; }
echo "$1" >> "$DHV_PLUGIN_DIR/calls.log"
[ "$1" = delete ] || mkdir -p "$DHV_VOLUMES_DIR/$DHV_VOLUME_ID"
while [ ! -e "$DHV_PLUGIN_DIR/go" ]; do sleep 0.05; done
if [ "$1" = delete ]; then rm -rf "$DHV_VOLUMES_DIR/$DHV_VOLUME_ID"; exit 0; fi
printf '{"path": "%s", "bytes": 1048576}' "$DHV_VOLUMES_DIR/$DHV_VOLUME_ID"
)sh";

TEST(Volumes, AreMadeAndDeletedOnceThoughTheAgentIsKilledInBetween) {
  Machine machine;
  machine.kill_agent();
  const std::string plugins = machine.state() + "/host_volume_plugins", calls = plugins + "/calls.log";
  shell("mkdir -p " + plugins);
  write_text(plugins + "/slow", kSlowPlugin);
  shell("chmod 755 " + plugins + " " + plugins + "/slow");
  machine.start();
  const std::string file = volume_file(machine, "data", "slow");
  {
    const Background creating(machine.command({"volume", "create", file}));
    ASSERT_TRUE(eventually(seconds(10), [&] { return lines_of(calls) == "1\n"; }));
    EXPECT_EQ(of_volume(machine, "State"), "pending");
    machine.kill_agent();
  }
  shell("touch " + plugins + "/go");
  machine.start();
  EXPECT_TRUE(eventually(seconds(30), [&] { return of_volume(machine, "State") == "ready"; }));
  const std::string id = of_volume(machine, "ID");
  EXPECT_EQ(shell("ls " + machine.state() + "/host_volumes").out, id + "\n");
  EXPECT_NE(machine.underway({"volume", "status", "data"}).out.find("Capacity  = 1 MiB"), std::string::npos);

  shell("rm " + plugins + "/go; : > " + calls);
  {
    const Background deleting(machine.command({"volume", "delete", "-yes", "data"}));
    ASSERT_TRUE(eventually(seconds(10), [&] { return lines_of(calls) == "1\n"; }));
    machine.kill_agent();
  }
  shell("touch " + plugins + "/go");
  machine.start();
  EXPECT_TRUE(eventually(seconds(30), [&] { return of_volume(machine, "ID").empty(); }));
  EXPECT_EQ(shell("ls " + machine.state() + "/host_volumes").out, "");
}

}  // namespace
}  // namespace underway::harness
