// Ephemeral disks that follow their allocation, between real agents: one server, two nodes.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "harness/command.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

const std::string kProgram = binary_dir() + "/bin/underway";

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

/// Notes on its disk, and in its own directory, that it was there.
std::string database(const std::string& disk, const std::string& version) {
  return fmt::format(R"(job "db" {{
  update {{
    min_healthy_time = "100ms"
  }}
  group "g" {{
    disconnect {{
      lost_after = "1s"
    }}
    ephemeral_disk {{
      {}
    }}
    task "t" {{
      driver = "exec"
      env {{
        VERSION = "{}"
      }}
      config {{
        command = "/bin/sh"
        args    = ["-c", "echo $VERSION >> /alloc/data/log; echo $VERSION >> /local/log; exec sleep 86393"]
      }}
      resources {{
        cpu    = 10
        memory = 20
      }}
    }}
  }}
}}
)",
                     disk, version);
}

class DisksTest : public testing::Test {
 protected:
  void SetUp() override {
    if (shell("command -v jq").exit_code != 0) GTEST_SKIP() << "needs jq";
    write_text(file("server.hcl"), "data_dir = \"" + file("server") +
                                       "\"\nname = \"mgmt\"\nserver {\n  enabled = true\n  min_heartbeat_ttl = "
                                       "\"2s\"\n  heartbeat_grace = \"1s\"\n}\nports {\n  http = " +
                                       std::to_string(port_) + "\n}\nacl {\n  enabled = false\n}\n");
    server_.emplace(agent("server"));
    ASSERT_TRUE(eventually(seconds(20), [&] { return underway({"node", "status"}).exit_code == 0; })) << log("server");
    for (const char* name : {"c1", "c2"}) {
      const auto token = underway({"node", "join-token", "create"});
      ASSERT_EQ(token.exit_code, 0) << token.err;
      write_text(file(std::string(name) + ".token"), token.out);
      ::chmod(file(std::string(name) + ".token").c_str(), 0600);
      write_text(file(std::string(name) + ".hcl"),
                 "data_dir = \"" + file(name) + "\"\nname = \"" + name +
                     "\"\nclient {\n  enabled = true\n  servers = [\"https://127.0.0.1:" + std::to_string(port_) +
                     "\"]\n  join_token_file = \"" + file(std::string(name) + ".token") + "\"\n}\n");
      start(name);
    }
    ASSERT_TRUE(eventually(seconds(30),
                           [&] { return ask("/v1/nodes", "[.[] | select(.Status == \"ready\")] | length") == "2"; }))
        << log("c1") << log("c2");
  }
  void TearDown() override {
    underway({"job", "stop", "-purge", "db"});
    eventually(seconds(10),
               [&] { return ask("/v1/allocations", "[.[] | select(.ClientStatus == \"running\")] | length") == "0"; });
    nodes_.clear();
    server_.reset();
    // Tasks of an agent that was killed are held by their keepers, which have files of ours open.
    shell(
        fmt::format("for p in /proc/[0-9]*; do pid=${{p#/proc/}}; [ $pid = $$ ] || [ $pid = {1} ] && continue; "
                    "{{ grep -qsz {0} $p/environ $p/cmdline || ls -l $p/fd 2>/dev/null | grep -q {0}; }} && "
                    "kill -9 $pid; done; sleep 0.2; "
                    "awk '{{print $5}}' /proc/self/mountinfo | grep {0} | xargs -r umount -q",
                    directory_.path(), ::getpid()));
  }

  void start(const std::string& name) {
    nodes_.erase(name);
    nodes_.emplace(name, agent(name));
  }
  void kill(const std::string& name) {
    nodes_.at(name).signal(SIGKILL);
    nodes_.at(name).wait(seconds(5));
  }
  Command agent(const std::string& name) const {
    return {.argv = {"/bin/sh", "-c",
                     std::string("exec ") + kProgram + " agent -config " + file(name + ".hcl") + " >>" +
                         file(name + ".log") + " 2>&1"},
            .limit = seconds(300)};
  }
  Finished underway(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), kProgram);
    return run({.argv = std::move(arguments),
                .env = {{"UNDERWAY_STATE", file("server")}, {"NO_COLOR", "1"}},
                .directory = directory_.path()});
  }
  std::string ask(const std::string& path, const std::string& filter) const {
    write_text(file("answer"), underway({"operator", "api", path}).out);
    std::string out = shell("jq -r '" + filter + "' " + file("answer")).out;
    if (out.ends_with('\n')) out.pop_back();
    return out;
  }
  /// Runs a version, and waits until it does.
  void run_version(const std::string& disk, const std::string& version) {
    write_text(file("db.hcl"), database(disk, version));
    const auto done = underway({"job", "run", file("db.hcl")});
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err << log("c1") << log("c2");
  }
  std::string running(const std::string& field) const {
    return ask("/v1/job/db/allocations",
               ".[] | select(.ClientStatus == \"running\" and .DesiredStatus == \"run\") | " + field);
  }
  /// What lies on the disk of the one that runs, and in its task's own directory.
  std::string disk() const {
    const std::string root = file(running(".NodeName")) + "/client/alloc/" + running(".ID");
    return read_text(root + "/alloc/data/log") + read_text(root + "/t/local/log");
  }
  /// As soon as the one that runs has had its turn.
  void expect_disk(const std::string& text) const {
    EXPECT_TRUE(eventually(seconds(20), [&] { return disk() == text; })) << disk();
  }
  std::string other_than(const std::string& node) const { return node == "c1" ? "c2" : "c1"; }
  std::string log(const std::string& name) const { return read_text(file(name + ".log")); }
  std::string file(const std::string& name) const { return directory_.path() + "/" + name; }

  TemporaryDirectory directory_;
  int port_ = free_port();
  std::optional<Background> server_;
  std::map<std::string, Background> nodes_;
};

TEST_F(DisksTest, StayWithTheirAllocationOnItsNodeAndFollowItToAnother) {
  const std::string disk_follows = "sticky = true\nmigrate = true";
  run_version(disk_follows, "one");
  const std::string first = running(".NodeName");
  run_version(disk_follows, "two");
  EXPECT_EQ(running(".NodeName"), first);
  expect_disk("one\ntwo\none\ntwo\n");  // the shared data, and the task's own

  // The agent dies while the next one gets the disk.
  write_text(file("db.hcl"), database(disk_follows, "three"));
  underway({"job", "run", "-detach", file("db.hcl")});
  kill(first);
  start(first);
  EXPECT_TRUE(eventually(seconds(30), [&] {
    return running(".JobVersion") == "2" && disk() == "one\ntwo\nthree\none\ntwo\nthree\n";
  })) << disk();

  const auto drained = underway({"node", "drain", "-enable", "-yes", running(".NodeID")});
  EXPECT_EQ(drained.exit_code, 0) << drained.err;
  const std::string second = other_than(first);
  ASSERT_TRUE(eventually(seconds(30), [&] { return running(".NodeName") == second; })) << log("c1") << log("c2");
  expect_disk("one\ntwo\nthree\nthree\none\ntwo\nthree\nthree\n");
  EXPECT_EQ(shell("stat -c %U " + file(second) + "/client/alloc/*/t/local/log").out, "nobody\n");
  EXPECT_EQ(shell("ls -d " + file("c1") + "/client/alloc/*/.arriv* " + file("c2") + "/client/alloc/*/.arriv*").out, "");
}

TEST_F(DisksTest, FollowAnAllocationThatAPersonStops) {
  const auto follows = [&](const std::string& old, const std::string& with) {
    return eventually(seconds(30), [&] { return !running(".ID").empty() && running(".ID") != old && disk() == with; });
  };
  const std::string disk_follows = "sticky = true\nmigrate = true";
  run_version(disk_follows, "one");
  const std::string first = running(".ID"), node = running(".NodeName");
  ASSERT_EQ(underway({"alloc", "stop", "-detach", first}).exit_code, 0);
  ASSERT_TRUE(follows(first, "one\none\none\none\n")) << log("server");
  EXPECT_EQ(running(".NodeName"), node);
  const std::string second = running(".ID");
  EXPECT_EQ(ask("/v1/allocation/" + second, ".PreviousAllocation"), first);
  EXPECT_EQ(ask("/v1/allocation/" + first, ".NextAllocation"), second);

  // Its node takes nothing more: to the other one, over the links.
  const std::string node_id = running(".NodeID");
  ASSERT_EQ(underway({"node", "eligibility", "-disable", node_id}).exit_code, 0);
  ASSERT_EQ(underway({"alloc", "stop", "-detach", second}).exit_code, 0);
  ASSERT_TRUE(follows(second, "one\none\none\none\none\none\n")) << log("server");
  EXPECT_EQ(running(".NodeName"), other_than(node));

  // Nothing follows what is not wanted.
  ASSERT_EQ(underway({"job", "stop", "db"}).exit_code, 0);
  run_version(disk_follows, "two");
  expect_disk("two\ntwo\n");
}

TEST_F(DisksTest, OfANodeThatIsGoneAreEmpty) {
  run_version("sticky = true\nmigrate = true", "one");
  const std::string first = running(".NodeName");
  kill(first);
  const std::string second = other_than(first);
  ASSERT_TRUE(eventually(seconds(40), [&] { return running(".NodeName") == second; })) << log("server");
  expect_disk("one\none\n");
  EXPECT_THAT(underway({"alloc", "status", running(".ID")}).out, HasSubstr("this one begins empty"));
}

}  // namespace
}  // namespace underway::harness
