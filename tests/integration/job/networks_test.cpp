// Groups with a network of their own, on a real agent: where they are reached, what they see, what is left of them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "harness/capsule/image.hpp"
#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

/// `copies` servers that say their number, each behind a port of its own of the node.
std::string web(int copies, const std::string& mode) {
  return fmt::format(R"(job "web" {{
  update {{
    min_healthy_time = "200ms"
    max_parallel     = 2
  }}
  group "g" {{
    count = {}
    network {{
      mode = "{}"
      port "http" {{
        to = 8080
      }}
    }}
    service {{
      name         = "web"
      port         = "http"
      address_mode = "alloc"
      check {{
        type     = "http"
        path     = "/number"
        interval = "1s"
        timeout  = "2s"
      }}
    }}
    task "t" {{
      driver = "raw_exec"
      config {{
        command = "/bin/sh"
        args    = ["-c", "echo copy $NOMAD_ALLOC_INDEX > local/number; exec busybox httpd -f -p $NOMAD_PORT_http -h local"]
      }}
      resources {{
        cpu    = 10
        memory = 20
      }}
    }}
  }}
}}
)",
                     copies, mode);
}

class NetworksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"busybox", "jq", "curl", "nft"})
      if (shell(std::string("command -v ") + program).exit_code != 0) GTEST_SKIP() << "needs " << program;
  }
  std::string ask(const std::string& path, const std::string& filter) const {
    auto command = machine.command({"operator", "api", path});
    const std::string file = machine.directory() + "/answer";
    write_text(file, run(command).out);
    return shell("jq -r '" + filter + "' " + file).out;
  }
  /// Of the job's allocations that run, a line each.
  std::string running(const std::string& job, const std::string& field) const {
    return ask("/v1/job/" + job + "/allocations?resources=true",
               "sort_by(.Name)[] | select(.ClientStatus == \"running\") | " + field);
  }
  std::string in_task(const std::string& job, const std::string& task, const std::string& line) const {
    const std::string id = running(job, ".ID").substr(0, 36);
    const auto done = machine.underway({"alloc", "exec", "-task", task, id, "/bin/sh", "-c", line});
    return done.out + done.err;
  }
  static std::string curl(const std::string& address) {
    return shell("curl -s -m 5 http://" + address + "/number").out;
  }
  /// Links, rules and pins of allocations.
  std::string left() const {
    const std::string kept = machine.state() + "/client/network/";
    return shell("ip -o link | grep -o ' alloc-[^@]*'; nft list tables | grep alloc-; ls " + kept + "ns; ls " + kept +
                 "records")
        .out;
  }

  Machine machine;
};

TEST_F(NetworksTest, TwoCopiesHaveTheSamePortOnOneNodeAndOutliveItsAgent) {
  const auto started = machine.run_job("web", web(2, "bridge"));
  ASSERT_EQ(started.exit_code, 0) << started.out << started.err << read_text(machine.log());
  const std::string addresses = ask("/v1/service/web", "sort_by(.Address)[] | \"\\(.Address):\\(.Port)\"");
  EXPECT_EQ(addresses, "172.26.64.2:8080\n172.26.64.3:8080\n") << "the check passed there, or the job would not run";
  std::string first = running("web", ".ID").substr(0, 36);
  EXPECT_THAT(ask("/v1/allocation/" + first, ".NetworkStatus | .InterfaceName + \" \" + .Address"),
              HasSubstr("eth0 172.26.64."));
  const std::string by_node =
      ask("/v1/allocation/" + first, ".AllocatedResources.Shared.Ports[0] | \"\\(.HostIP):\\(.Value)\"");
  const auto both = [&] {
    return curl("172.26.64.2:8080") + curl("172.26.64.3:8080") + curl(by_node.substr(0, by_node.size() - 1));
  };
  const std::string said = both();
  EXPECT_THAT(said, HasSubstr("copy 0"));
  EXPECT_THAT(said, HasSubstr("copy 1"));
  EXPECT_EQ(said.size(), 3 * std::string("copy 0\n").size()) << said;
  EXPECT_THAT(in_task("web", "t", "env"), HasSubstr("NOMAD_ALLOC_ADDR_http=172.26.64."));

  machine.kill_agent();
  EXPECT_EQ(both(), said) << "nobody needs the agent";
  // What belongs to no allocation: somebody's whose record is lost.
  const std::string stray = machine.state() + "/client/network/ns/00000000-0000-4000-8000-00000000dead";
  ASSERT_EQ(shell("touch " + stray + " && unshare --net=" + stray + " true").exit_code, 0);
  machine.start();
  EXPECT_EQ(both(), said);
  EXPECT_EQ(shell("test -e " + stray).exit_code, 1);
  EXPECT_EQ(running("web", ".TaskStates.t.Restarts"), "0\n0\n");
  EXPECT_THAT(in_task("web", "t", "ip -o -4 addr show eth0"), HasSubstr("172.26.64."))
      << "commands beside the task are in its network";

  EXPECT_EQ(machine.underway({"job", "stop", "web"}).exit_code, 0);
  EXPECT_TRUE(eventually(seconds(20), [&] { return left().empty(); })) << left();
}

TEST_F(NetworksTest, AgentKilledWhileItMakesThemMakesThemAgain) {
  const std::string file = machine.directory() + "/web.hcl";
  write_text(file, web(4, "bridge"));
  machine.underway({"job", "run", "-detach", file});
  machine.kill_agent();
  machine.start();
  const auto started = machine.run_job("web", web(4, "bridge"));
  EXPECT_EQ(started.exit_code, 0) << started.out << started.err;
  EXPECT_EQ(ask("/v1/service/web", "[.[].Address] | unique | length"), "4\n");
  machine.underway({"job", "stop", "-purge", "web"});
  EXPECT_TRUE(eventually(seconds(20), [&] { return left().empty(); })) << left();
}

TEST_F(NetworksTest, TasksOfAllDriversShareOneNetworkAndItsNames) {
  if (shell("command -v crun || command -v runc").exit_code != 0) GTEST_SKIP() << "needs crun or runc";
  const auto made = make_image(machine.directory());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto started = machine.run_job("mix", R"(job "mix" {
  update {
    min_healthy_time = "200ms"
  }
  group "g" {
    network {
      mode     = "bridge"
      hostname = "mix.lab"
      dns {
        servers  = ["10.99.0.1"]
        searches = ["lab"]
        options  = ["ndots:2"]
      }
    }
    task "server" {
      driver = "exec"
      config {
        command = "/bin/busybox"
        args    = ["httpd", "-f", "-p", "127.0.0.1:8080", "-h", "/etc"]
      }
      resources {
        cpu    = 10
        memory = 20
      }
    }
    task "client" {
      driver = "podman"
      config {
        image   = "oci:)" + machine.directory() + R"(/image:v1"
        command = "/bin/sleep"
        args    = ["86395"]
      }
      resources {
        cpu    = 10
        memory = 20
      }
    }
  }
}
)");
  ASSERT_EQ(started.exit_code, 0) << started.out << started.err << read_text(machine.log());
  for (const char* task : {"server", "client"}) {
    SCOPED_TRACE(task);
    EXPECT_EQ(in_task("mix", task, "hostname"), "mix.lab\n");
    EXPECT_THAT(in_task("mix", task, "cat /etc/hosts"), HasSubstr("172.26.64.2 mix.lab\n"));
    const std::string resolver = in_task("mix", task, "cat /etc/resolv.conf");
    EXPECT_THAT(resolver, HasSubstr("nameserver 10.99.0.1\nsearch lab\noptions ndots:2\n"));
    EXPECT_EQ(in_task("mix", task, "readlink /proc/self/ns/net"),
              in_task("mix", "server", "readlink /proc/self/ns/net"));
  }
  EXPECT_NE(in_task("mix", "server", "readlink /proc/self/ns/net"), shell("readlink /proc/self/ns/net").out);
  EXPECT_THAT(in_task("mix", "client", "wget -q -O - http://127.0.0.1:8080/hosts"), HasSubstr("mix.lab"))
      << "they reach each other by loopback";
  EXPECT_NE(shell("hostname").out, "mix.lab\n");

  machine.kill_agent();
  machine.start();
  EXPECT_EQ(in_task("mix", "client", "hostname"), "mix.lab\n");
  EXPECT_EQ(in_task("mix", "client", "readlink /proc/self/ns/net"),
            in_task("mix", "server", "readlink /proc/self/ns/net"));
  machine.underway({"job", "stop", "-purge", "mix"});
  EXPECT_TRUE(eventually(seconds(20), [&] { return left().empty(); })) << left();
}

TEST_F(NetworksTest, NoneIsLoopbackAndAModeThatTheNodeLacksIsNotPlaced) {
  const std::string idle = R"(job "idle" {
  update {
    min_healthy_time = "200ms"
  }
  group "g" {
    network {
      mode = "none"
    }
    task "t" {
      driver = "exec"
      config {
        command = "/bin/sleep"
        args    = ["86394"]
      }
      resources {
        cpu    = 10
        memory = 20
      }
    }
  }
}
)";
  const auto started = machine.run_job("idle", idle);
  ASSERT_EQ(started.exit_code, 0) << started.out << started.err;
  EXPECT_EQ(in_task("idle", "t", "ip -o link | cut -d: -f2"), " lo\n");
  const std::string file = machine.directory() + "/wan.hcl";
  write_text(file, web(1, "cni/wan"));
  EXPECT_THAT(machine.underway({"job", "plan", file}).out, HasSubstr("missing network"));
}

}  // namespace
}  // namespace underway::harness
