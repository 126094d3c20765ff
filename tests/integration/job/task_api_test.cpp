// The Task API on a real agent: tasks of raw_exec and exec that ask the server by the socket in their secrets
// directory.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

std::string job(const std::string& driver) {
  return fmt::format(R"(job "{0}" {{
  update {{
    min_healthy_time = "200ms"
  }}
  group "g" {{
    task "first" {{
      driver = "{0}"
      lifecycle {{
        hook = "prestart"
      }}
      identity {{
        env = true
      }}
      config {{
        command = "/bin/sh"
        args    = ["-c", "curl -fsS --unix-socket $NOMAD_SECRETS_DIR/api.sock -H \"X-Nomad-Token: $NOMAD_TOKEN\" http://localhost/v1/var/nomad/jobs/{0} > $NOMAD_ALLOC_DIR/data/first"]
      }}
      resources {{
        cpu    = 10
        memory = 30
      }}
    }}
    task "t" {{
      driver = "{0}"
      identity {{
        env = true
      }}
      config {{
        command = "/bin/sleep"
        args    = ["86396"]
      }}
      resources {{
        cpu    = 10
        memory = 30
      }}
    }}
  }}
}}
)",
                     driver);
}

class TaskApiTest : public testing::TestWithParam<const char*> {
 protected:
  void start() {
    const std::string driver = GetParam();
    const auto put = machine_.underway({"var", "put", "nomad/jobs/" + driver, "password=sesame"});
    ASSERT_EQ(put.exit_code, 0) << put.err;
    ASSERT_EQ(machine_.underway({"var", "put", "nomad/jobs/other", "password=open"}).exit_code, 0);
    const auto started = machine_.run_job(driver, job(driver));
    ASSERT_EQ(started.exit_code, 0) << started.out << started.err << read_text(machine_.log());
    const std::string list = machine_.underway({"operator", "api", "/v1/job/" + driver + "/allocations"}).out;
    allocation_ = list.substr(list.find("\"ID\":\"") + 6, 36);
  }
  std::string in_task(const std::string& line) const {
    const auto done = machine_.underway({"alloc", "exec", "-task", "t", allocation_, "/bin/sh", "-c", line});
    return done.out + done.err;
  }
  /// What the task reads of `path`, and behind it the status.
  std::string ask(const std::string& path, const std::string& header = "Authorization: Bearer $NOMAD_TOKEN") const {
    return in_task("curl -sS -w ' %{http_code}' --unix-socket $NOMAD_SECRETS_DIR/api.sock -H \"" + header +
                   "\" http://localhost/v1/" + path);
  }

  Machine machine_;
  std::string allocation_;
};

TEST_P(TaskApiTest, ServesATaskByItsIdentityAlsoAfterTheAgentWasKilled) {
  if (shell("command -v curl").exit_code != 0) GTEST_SKIP() << "needs curl";
  start();
  const std::string own = std::string("var/nomad/jobs/") + GetParam();
  EXPECT_THAT(in_task("cat $NOMAD_ALLOC_DIR/data/first"), HasSubstr("sesame")) << "a prestart task has it, too";
  EXPECT_EQ(in_task("stat -c '%a %F' $NOMAD_SECRETS_DIR/api.sock"), "666 socket\n");
  EXPECT_THAT(ask(own), testing::AllOf(HasSubstr("sesame"), testing::EndsWith(" 200")));
  EXPECT_THAT(ask("var/nomad/jobs/other"), testing::EndsWith(" 403"));
  EXPECT_THAT(ask("acl/tokens"), testing::EndsWith(" 403")) << "whoever runs it, it is not root there";
  EXPECT_THAT(ask(own, "X-None: x"), testing::AllOf(HasSubstr("Unauthorized"), testing::EndsWith(" 401")));
  EXPECT_THAT(ask("status/leader", "X-None: x"), testing::EndsWith(" 401")) << "open elsewhere";
  EXPECT_THAT(ask(own, "X-Nomad-Token: guessed"), testing::EndsWith(" 403"));

  machine_.kill_agent();
  machine_.start();
  EXPECT_TRUE(eventually(seconds(20), [&] { return ask(own).ends_with(" 200"); })) << ask(own);
  const std::string row = machine_.underway({"operator", "api", "/v1/allocation/" + allocation_}).out;
  EXPECT_EQ(row.find("\"Restarts\":1"), std::string::npos) << "the task ran on";

  // What goes on and on, and goes both ways: a session by way of the socket, of somebody who may.
  const std::string made = machine_.underway({"acl", "token", "create", "-json", "-type", "management"}).out;
  const std::string mark = "\"SecretID\": \"";
  ASSERT_THAT(made, HasSubstr(mark));
  auto session = machine_.command({"alloc", "exec", "-task", "t", allocation_, "cat"});
  session.env["NOMAD_ADDR"] = "unix://" + machine_.state() + "/client/alloc/" + allocation_ + "/t/secrets/api.sock";
  session.env["NOMAD_TOKEN"] = made.substr(made.find(mark) + mark.size(), 36);
  session.input = std::string(1 << 20, 'x');
  const auto done = run(session);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, session.input);
  session.env.erase("NOMAD_TOKEN");
  session.input.clear();
  EXPECT_THAT(run(session).err, HasSubstr("Unauthorized"));
}

INSTANTIATE_TEST_SUITE_P(Drivers, TaskApiTest, testing::Values("raw_exec", "exec"),
                         [](const auto& info) { return std::string(info.param); });

/// A file tree with a shell, as users bring them.
constexpr const char* kMakeTree = R"sh(set -e
mkdir -p "$1"; cd "$1"; mkdir -p bin etc dev proc sys tmp alloc local secrets home
cp /bin/busybox bin/; for tool in sh echo id sleep stat; do ln -s busybox bin/$tool; done
touch etc/passwd etc/group etc/hosts etc/resolv.conf; chmod -R a+rX .
)sh";

constexpr const char* kUsersContainer = R"(job "own" {{
  update {{
    min_healthy_time = "200ms"
  }}
  group "g" {{
    task "t" {{
      driver = "charliecloud"
      user   = "www-data"
      config {{
        image   = "{}"
        command = "/bin/sleep"
        args    = ["86395"]
      }}
      resources {{
        cpu    = 10
        memory = 30
      }}
    }}
  }}
}}
)";

TEST(TaskApi, IsInAUsersContainerWhereItsEnvironmentSays) {
  if (shell("command -v ch-run && command -v curl").exit_code != 0) GTEST_SKIP() << "needs ch-run and curl";
  if (shell("test -x /bin/busybox").exit_code != 0) GTEST_SKIP() << "needs busybox-static";
  Machine machine;
  const std::string tree = machine.directory() + "/tree";
  ASSERT_EQ(run({.argv = {"/bin/bash", "-c", kMakeTree, "make", tree}}).exit_code, 0);
  const auto started = machine.run_job("own", fmt::format(kUsersContainer, tree));
  ASSERT_EQ(started.exit_code, 0) << started.out << started.err << read_text(machine.log());
  const auto seen = machine.underway({"alloc", "exec", "-job", "own", "/bin/sh", "-c",
                                      "echo $NOMAD_SECRETS_DIR; stat -c '%a %F' $NOMAD_SECRETS_DIR/api.sock"});
  EXPECT_EQ(seen.out, "/secrets\n666 socket\n") << seen.err;
  // The task is a while in becoming what it runs, and its command line says when it is.
  const std::string ask =
      "curl -s --unix-socket /proc/$(pgrep -x -f '/bin/sleep 86395')/root/secrets/api.sock http://x/v1/jobs";
  EXPECT_TRUE(eventually(seconds(10), [&] { return shell(ask).out.starts_with("Unauthorized"); }))
      << shell(ask).out << shell("pgrep -a -f 86395").out;
}

}  // namespace
}  // namespace underway::harness
