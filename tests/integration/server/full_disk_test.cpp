// The server's disk is full: it refuses changes, answers what is asked, says so in its status, and goes on by itself
// when there is room. A real server on a small file system, and a node elsewhere.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <optional>

#include "harness/command.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

const std::string kProgram = binary_dir() + "/bin/underway";

/// Agents have a network of their own, and what the server keeps lies on a tmpfs.
class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    ::mkdir(file("server").c_str(), 0755);
    ASSERT_EQ(::mount("tmpfs", file("server").c_str(), "tmpfs", 0, "size=24m"), 0) << "needs root";
    // It is there once its first process sleeps in it.
    ASSERT_TRUE(
        eventually(seconds(10), [&] { return read_text(fmt::format("/proc/{}/comm", network_.pid())) == "sleep\n"; }));
  }
  void TearDown() override {
    for (auto* agent : {&node_, &server_}) {
      if (!*agent) continue;
      (*agent)->signal(SIGTERM);
      (*agent)->wait(seconds(20));
      agent->reset();
    }
    // The keeper of the task that has ended, and its secrets, wait for an agent; without their directory they go.
    const std::string& mine = directory_.path();
    EXPECT_TRUE(eventually(seconds(10), [&] {
      return shell("awk '{print $5}' /proc/self/mountinfo | grep " + mine + " | xargs -r umount -q; ! grep -q " + mine +
                   " /proc/self/mountinfo")
                 .exit_code == 0;
    }));
    shell("rm -rf " + file("node"));
    EXPECT_TRUE(eventually(seconds(10), [&] {
      return shell("! ls -l /proc/[0-9]*/fd 2>/dev/null | grep -q " + mine).exit_code == 0;
    })) << "a keeper is left";
  }

  void start() {
    write_text(file("server.hcl"),
               fmt::format("data_dir = \"{}\"\nname = \"mgmt\"\nserver {{\n  enabled = true\n}}\n", file("server")));
    server_.emplace(agent("server"));
    ASSERT_TRUE(eventually(seconds(20), [&] { return underway({"node", "status"}).exit_code == 0; })) << log("server");
    const auto token = underway({"node", "join-token", "create"});
    ASSERT_EQ(token.exit_code, 0) << token.err;
    write_text(file("token"), token.out);
    ::chmod(file("token").c_str(), 0600);
    write_text(file("node.hcl"),
               fmt::format("data_dir = \"{}\"\nname = \"c1\"\nclient {{\n  enabled = true\n  servers = "
                           "[\"https://127.0.0.1:4646\"]\n  join_token_file = \"{}\"\n}}\nplugin \"raw_exec\" {{\n  "
                           "config {{\n    enabled = true\n  }}\n}}\n",
                           file("node"), file("token")));
    node_.emplace(agent("node"));
    ASSERT_TRUE(eventually(seconds(20), [&] {
      return underway({"node", "status"}).out.find(" ready") != std::string::npos;
    })) << log("node");
  }
  Command agent(const std::string& name) const {
    return {
        .argv = {"nsenter", "--net", "--target", std::to_string(network_.pid()), "/bin/sh", "-c",
                 fmt::format("exec {} agent -config {} >>{} 2>&1", kProgram, file(name + ".hcl"), file(name + ".log"))},
        .limit = seconds(300)};
  }
  Finished underway(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), kProgram);
    return run({.argv = std::move(arguments), .env = {{"UNDERWAY_STATE", file("server")}}});
  }
  Finished put(const std::string& name) const {
    return underway({"var", "put", "-force", "site/" + name, "value=" + std::string(60000, 'x')});
  }
  void fill() const { shell("dd if=/dev/zero of=" + file("server/filler") + " bs=64k 2>/dev/null"); }
  void make_room() const { shell("rm " + file("server/filler")); }
  /// What was taken before the disk was full may still fit; then a change is refused.
  Finished first_refusal() const {
    Finished refused;
    EXPECT_TRUE(eventually(seconds(30), [&] {
      refused = put("filler");
      return refused.exit_code != 0;
    }));
    return refused;
  }
  void expect_told() const {
    const auto status = underway({"status"});
    EXPECT_EQ(status.exit_code, 1);
    EXPECT_THAT(status.out, HasSubstr("Needs you:\n! the server cannot write its state since 2"));
    EXPECT_THAT(status.out, HasSubstr("changes are refused, what runs goes on\n    why: "));
    EXPECT_THAT(status.out, HasSubstr("database or disk is full"));
    EXPECT_THAT(status.out, HasSubstr("nothing needs to be restarted"));
    EXPECT_THAT(status.out, HasSubstr("c1")) << "the rest is told as ever";
    EXPECT_THAT(underway({"operator", "api", "/v1/metrics?format=prometheus"}).out, HasSubstr("underway_writable 0\n"));
    const auto health = underway({"operator", "api", "/v1/agent/health"});
    EXPECT_THAT(health.out + health.err, HasSubstr("the server cannot write its state since "));
    EXPECT_EQ(underway({"var", "get", "site/before"}).exit_code, 0) << "what is known can be read";
  }
  /// Nobody asks for a change meanwhile: the server looks by itself.
  void expect_recovery() const {
    EXPECT_TRUE(eventually(seconds(20), [&] { return underway({"status"}).exit_code == 0; }))
        << underway({"status"}).out;
    const auto after = put("after");
    EXPECT_EQ(after.exit_code, 0) << after.err;
    EXPECT_THAT(underway({"status"}).out, testing::Not(HasSubstr("cannot write")));
    EXPECT_THAT(underway({"operator", "api", "/v1/metrics?format=prometheus"}).out, HasSubstr("underway_writable 1\n"));
    // The node's reports are written, too.
    write_text(file("job.hcl"),
               "job \"web\" {\n  update {\n    min_healthy_time = \"200ms\"\n  }\n  group \"web\" {\n    task \"web\" "
               "{\n      driver = \"raw_exec\"\n      config {\n        "
               "command = \"/bin/sleep\"\n        args    = [\"300\"]\n      }\n    }\n  }\n}\n");
    const auto ran = underway({"job", "run", file("job.hcl")});
    EXPECT_EQ(ran.exit_code, 0) << ran.err << log("server");
    EXPECT_EQ(underway({"job", "stop", "web"}).exit_code, 0);
  }
  std::string log(const std::string& name) const { return read_text(file(name + ".log")); }
  std::string file(const std::string& name) const { return directory_.path() + "/" + name; }

  TemporaryDirectory directory_;
  Background network_{{.argv = {"unshare", "--net", "/bin/sh", "-c", "ip link set lo up && exec sleep infinity"}}};
  std::optional<Background> server_, node_;
};

TEST_F(FullDisk, RefusesChangesOfTheStateSaysSoAndEndsByItself) {
  start();
  ASSERT_EQ(put("before").exit_code, 0);
  ASSERT_EQ(underway({"namespace", "apply", "-raw-exec-as-root", "default"}).exit_code, 0);
  EXPECT_EQ(underway({"status"}).exit_code, 0);
  fill();
  const auto refused = first_refusal();
  EXPECT_THAT(refused.err, HasSubstr("cannot write the store"));
  EXPECT_THAT(refused.err, HasSubstr("database or disk is full"));
  expect_told();
  make_room();
  expect_recovery();
  EXPECT_THAT(log("server"), HasSubstr("the state can be written again, after"));
}

}  // namespace
}  // namespace underway::harness
