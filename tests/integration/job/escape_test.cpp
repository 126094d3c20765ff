// What somebody who may submit jobs to a fresh namespace tries against the machines, on a real agent: each attempt is
// refused, or worth nothing; and with the right that the namespace gives, it works.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "harness/capsule/image.hpp"
#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

std::string job(const std::string& driver, const std::string& user, const std::string& config,
                const std::string& group = {}) {
  return fmt::format(R"(job "escape" {{
  group "g" {{
    {}
    restart {{
      attempts = 10
      delay    = "100ms"
      mode     = "delay"
      interval = "1m"
    }}
    task "t" {{
      driver = "{}"
      {}
      config {{
        {}
      }}
      resources {{
        cpu    = 10
        memory = 40
      }}
    }}
  }}
}}
)",
                     group, driver, user.empty() ? "" : "user = \"" + user + "\"", config);
}

/// `line` and then a long sleep. Quotes in it are single ones.
std::string shell_config(const std::string& line) {
  return "command = \"/bin/sh\"\n        args = [\"-c\", \"" + line + "; echo done; exec sleep 1000\"]";
}

class EscapeTest : public testing::Test {
 protected:
  EscapeTest() {
    // As below /var/lib: it is not the place of the test that keeps others out.
    const std::string& place = machine_.directory();
    shell("chmod o+x " + place + " " + place + "/state " + place + "/state/client");
    root({"namespace", "apply", "viz"});
    write_text(file("viz.hcl"), "namespace \"viz\" {\n  policy = \"write\"\n}\n");
    root({"acl", "policy", "apply", "viz", file("viz.hcl")});
    const auto made = root({"acl", "token", "create", "-json", "-name", "anna", "-policy", "viz", "-ttl", "1h"});
    const std::string mark = "\"SecretID\": \"";
    secret_ = made.substr(made.find(mark) + mark.size(), 36);
  }
  ~EscapeTest() override { machine_.underway({"job", "stop", "-purge", "-namespace", "viz", "escape"}); }

  std::string file(const std::string& name) const { return machine_.directory() + "/" + name; }
  std::string root(std::vector<std::string> arguments) const {
    const auto done = machine_.underway(std::move(arguments));
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done.out;
  }
  Finished anna(std::vector<std::string> arguments) const {
    auto command = machine_.command(std::move(arguments));
    command.env["NOMAD_TOKEN"] = secret_;
    command.env["NOMAD_NAMESPACE"] = "viz";
    return run(command);
  }
  Finished submit(const std::string& text) const {
    write_text(file("job.hcl"), text);
    return anna({"job", "run", "-detach", file("job.hcl")});
  }
  std::string allocation() const {
    const auto list = root({"operator", "api", "/v1/job/escape/allocations?namespace=viz"});
    const auto at = list.find("\"ID\":\"");
    return at == std::string::npos ? std::string() : list.substr(at + 6, 36);
  }
  std::string output() const { return anna({"alloc", "logs", allocation()}).out; }
  /// What it says until it has tried everything.
  std::string runs(const std::string& text) {
    const auto submitted = submit(text);
    EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
    std::string said;
    EXPECT_TRUE(eventually(seconds(30), [&] { return (said = output()).find("done\n") != std::string::npos; }))
        << said << anna({"alloc", "status", allocation()}).out << read_text(machine_.log());
    return said;
  }
  void end() const { root({"job", "stop", "-purge", "-namespace", "viz", "escape"}); }
  std::string on_host(const std::string& path) const {
    return machine_.state() + "/client/alloc/" + allocation() + "/" + path;
  }

  Machine machine_;
  std::string secret_;
};

TEST_F(EscapeTest, WhatTheNamespaceDoesNotGiveIsRefused) {
  const std::string image = "image = \"busybox\"\n        ";
  const struct {
    std::string text, flag;
  } kAttempts[] = {
      {job("exec", "root", shell_config("id")), "-allow-right root"},
      {job("exec", "0", shell_config("id")), "-allow-right root"},
      {job("exec", "", shell_config("id") + "\n        pid_mode = \"host\""), "-allow-right host_namespaces"},
      {job("exec", "", shell_config("id") + "\n        devices = [\"/dev/mem\"]"), "-allow-right devices"},
      {job("exec", "", shell_config("id") + "\n        seccomp = \"unconfined\""), "-raw-exec-as-root"},
      {job("exec", "", shell_config("id"), "network {\n      port \"nfs\" {\n        static = 999\n      }\n    }"),
       "-allow-right low_ports"},
      {job("raw_exec", "", shell_config("id")), "-raw-exec-as-root"},
      {job("raw_exec", "root", shell_config("id")), "-raw-exec-as-root"},
      {job("capsule", "", "image = \"x\""), "-raw-exec-as-root"},
      {job("podman", "", image + "privileged = true"), "-raw-exec-as-root"},
      {job("podman", "", image + "userns = \"host\""), "-allow-right root"},
      {job("podman", "", image + "volumes = [\"/:/host\"]"), "-allow-right host_paths"},
      {job("podman", "", image + "pid_mode = \"host\""), "-allow-right host_namespaces"},
      {job("docker", "", image + "devices = [\"/dev/mem\"]"), "-allow-right devices"},
      {job("docker", "", image + "cap_add = [\"sys_admin\"]"), "-raw-exec-as-root"},
      {job("charliecloud", "root", image), "-allow-right root"}};
  for (const auto& attempt : kAttempts) {
    const auto done = submit(attempt.text);
    EXPECT_NE(done.exit_code, 0) << attempt.text;
    EXPECT_THAT(done.err, HasSubstr("`underway namespace apply " + attempt.flag + " viz` allows it")) << attempt.text;
  }
  EXPECT_NE(anna({"namespace", "apply", "-allow-right", "root", "viz"}).exit_code, 0) << "nobody gives it to himself";
}

TEST_F(EscapeTest, AnExecTaskReachesNothingOfTheMachine) {
  const std::string said = runs(job(
      "exec", "",
      shell_config("cat /etc/shadow && echo shadow; ls " + machine_.state() + "/client && echo allocations; ls " +
                   machine_.state() +
                   "/server && echo server; cp /bin/cat /local/cat && chmod 4755 /local/cat; mknod /local/mem c 1 1 && "
                   "echo device; chown root /local/cat && echo given; (kill -0 " +
                   std::to_string(machine_.agent_pid()) + ") && echo agent; ls /proc | grep -c '^[0-9]'; " +
                   "cat /proc/self/uid_map") +
          "\n        cap_add = [\"dac_override\", \"chown\", \"mknod\", \"setuid\", \"kill\"]"));
  for (const auto* gained : {"shadow", "allocations", "server", "device", "given", "agent"})
    EXPECT_THAT(said, Not(HasSubstr(gained)));
  EXPECT_THAT(said, HasSubstr("     65534      65534          1\n"));
  // Another user of the host does not get near what it left there.
  const auto other = [](const std::string& command) {
    // Beneath a shell: setpriv itself finds what it starts with the rights that it is about to lose.
    return shell("setpriv --reuid daemon --regid daemon --clear-groups sh -c '" + command + "'").exit_code;
  };
  const std::string copy = on_host("t/local/cat");
  ASSERT_EQ(shell("test -u " + copy).exit_code, 0) << "the copy is not there";
  EXPECT_NE(other(copy + " /dev/null"), 0);
  EXPECT_NE(other("ls " + on_host("alloc")), 0);
  EXPECT_NE(other("ls " + on_host("t/private")), 0);
}

TEST_F(EscapeTest, LinksOfItsMakingGiveNothingAwayWhenItStartsAgain) {
  const std::string victim = file("victim");
  ASSERT_EQ(::mkdir(victim.c_str(), 0700), 0);
  const auto untouched = [&] {
    struct stat st{};
    return ::stat(victim.c_str(), &st) == 0 && (st.st_mode & 07777) == 0700 && st.st_uid == 0;
  };
  // The second time it finds what it has done, and what became of it.
  const std::string tries =
      "if [ -e $NOMAD_ALLOC_DIR/tmp/twice ]; then ls -ld $NOMAD_ALLOC_DIR/data; else touch $NOMAD_ALLOC_DIR/tmp/twice; "
      "cd $NOMAD_ALLOC_DIR; mv data d; ln -s " +
      victim + " data; mv logs l; ln -s " + victim + " logs; cd $NOMAD_TASK_DIR/..; mv local l; ln -s " + victim +
      " local; mv private p; ln -s " + victim + " private; exit 1; fi";
  for (const auto* driver : {"exec", "raw_exec"}) {
    SCOPED_TRACE(driver);
    const auto said = runs(job(driver, "nobody", shell_config(tries)));
    EXPECT_TRUE(untouched());
    EXPECT_EQ(shell("ls -A " + victim).out, "");
    end();
  }
}

TEST_F(EscapeTest, WithTheRightItWorksAndWithoutItTheNodeRefuses) {
  root({"namespace", "apply", "-allow-right", "root", "-allow-right", "host_namespaces", "viz"});
  const auto said = runs(job("exec", "root",
                             shell_config("id -u; head -c 4 /etc/shadow; echo; kill -0 " +
                                          std::to_string(machine_.agent_pid()) + " && echo agent") +
                                 "\n        pid_mode = \"host\""));
  EXPECT_THAT(said, testing::StartsWith("0\nroot\nagent\n"));
  // It runs on, and does not start again.
  root({"namespace", "apply", "-deny-right", "root", "viz"});
  const auto id = allocation();
  EXPECT_EQ(anna({"alloc", "status", id}).out.find("does not give"), std::string::npos);
  const auto refused = [&] {
    anna({"alloc", "restart", id});  // again, should the node not have heard of it yet
    return anna({"alloc", "status", id}).out.find("namespace 'viz' does not give the right 'root'") !=
           std::string::npos;
  };
  EXPECT_TRUE(eventually(seconds(20), refused)) << anna({"alloc", "status", id}).out;
}

TEST_F(EscapeTest, RootOfAContainerIsNobodyOfTheHostUnlessTheNamespaceSaysSo) {
  if (shell("command -v crun || command -v runc").exit_code != 0) GTEST_SKIP() << "needs crun or runc";
  if (shell("test -x /bin/busybox").exit_code != 0) GTEST_SKIP() << "needs busybox-static";
  const auto made = make_image(machine_.directory());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  root({"namespace", "apply", "-allow-right", "host_paths", "viz"});
  const std::string config = "image = \"oci:" + machine_.directory() + "/image:v1\"\n        " +
                             shell_config("id -u; cat /proc/self/uid_map; cat /host/shadow; echo x > /alloc/data/x");
  const std::string volume = "\n        volumes = [\"/etc:/host:ro\"]";
  const auto said = runs(job("podman", "", config + volume));
  EXPECT_THAT(said, testing::StartsWith("0\n"));
  EXPECT_THAT(said, Not(HasSubstr("         0          0 ")));
  EXPECT_THAT(said, Not(HasSubstr("root:")));
  end();
  root({"namespace", "apply", "-allow-right", "root", "viz"});
  const auto allowed = runs(job("podman", "", config + volume));
  EXPECT_THAT(allowed, HasSubstr("         0          0 "));
  EXPECT_THAT(allowed, HasSubstr("root:"));
}

}  // namespace
}  // namespace underway::harness
