// Upgrades of a capsule on one agent, with a service that has a schema and a site that has a script of its own: good
// ones, one that the rehearsal refuses, one that fails when it is live, the way back, and deaths in each phase.
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "harness/machine.hpp"

#include <gtest/gtest.h>

namespace underway::harness {
namespace {

using std::chrono::seconds;
namespace fs = std::filesystem;

/// Counts rows. A newer one migrates what an older one has written; an older one cannot read what a newer one has. Its
/// end can be held up.
constexpr const char* kService = R"SH(#!/bin/sh
[ -e /srv/schema ] || echo VERSION >/srv/schema
if [ "$(cat /srv/schema)" -gt VERSION ]; then echo "a schema of the future"; exit 1; fi
if [ "$(cat /srv/schema)" -lt VERSION ]; then sed -i 's/^/migrated /' /srv/rows; echo VERSION >/srv/schema; fi
trap 'while [ -e /site/hold.stop ]; do sleep 0.02; done; exit 0' TERM
while :; do
  echo row >>/srv/rows
  sleep 0.1 & wait $!
done
)SH";

constexpr const char* kImage = R"SH(image "svc" {
  version = "LABEL"
  from directory "root-LABEL" {}
  service "svc" {
    command = ["/bin/service"]
    ready   = ["/bin/sh", "-c", "[ \"$(cat /srv/schema)\" = VERSION ] && grep -q row /srv/rows"]
  }
}
)SH";

constexpr const char* kJob = R"SH(job "svc" {
  type = "service"
  update {
    min_healthy_time = "200ms"
  }
  group "svc" {
    restart {
      attempts = 1
      delay    = "1s"
      interval = "10m"
      mode     = "fail"
    }
    task "svc" {
      driver       = "capsule"
      kill_timeout = "25s"
      config {
        image = "svc:1"
        bind "/site" {
          source = "SITE"
        }
        step "before_stop" {
          command = ["/bin/sh", "-c", "while [ -e /site/hold.before_stop ]; do sleep 0.02; done"]
        }
        step "check" {
          command = ["/bin/check"]
        }
      }
      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
)SH";

/// What the site has built around the service: it counts rows by what `show` says.
constexpr const char* kScript = R"SH(#!/bin/sh
while [ -e /site/hold.rehearse ]; do sleep 0.02; done
rows=$(show | sed -n 's/^rows //p')
[ "${rows:-0}" -gt 0 ] && exit 0
echo "the sum of rows is '$rows'"
exit 1
)SH";

std::string with(std::string text, const std::string& what, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += value.size())
    text.replace(at, what.size(), value);
  return text;
}

class CapsuleUpgrade : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::access("/bin/busybox", X_OK) != 0) GTEST_SKIP() << "needs busybox-static";
    fs::create_directories(site());
    write_text(at("sums.sh"), kScript);
    ok({"capsule", "keys", "generate", "ops", "-o", at("ops.key")});
    build("1", "1", "rows");
    ok({"capsule", "keys", "trust", at("ops.pub")});
    ok({"capsule", "push", at("svc-1.capsule")});
    const auto ran = machine_.run_job("svc", with(kJob, "SITE", site()));
    ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err << read_text(machine_.log());
    ASSERT_TRUE(eventually(seconds(20), [&] { return rows() > 0; })) << log();
  }

  std::string at(const std::string& name) const { return machine_.directory() + "/" + name; }
  std::string site() const { return at("site"); }
  Finished ok(std::vector<std::string> arguments) const {
    auto finished = machine_.underway(arguments);
    EXPECT_EQ(finished.exit_code, 0) << arguments[1] << ": " << finished.out << finished.err;
    return finished;
  }
  /// `label` names it, `version` is that of its schema, `word` is what `show` calls rows, `packages` are as dpkg has
  /// them.
  void build(const std::string& label, const std::string& version, const std::string& word,
             const std::string& packages = "") const {
    const std::string root = at("root-" + label);
    fs::create_directories(root + "/var/lib/dpkg");
    write_text(root + "/var/lib/dpkg/status", packages);
    for (const auto* part : {"/bin", "/etc", "/srv", "/site"}) fs::create_directories(root + part);
    fs::copy_file("/bin/busybox", root + "/bin/busybox");
    for (const auto* applet : {"sh", "cat", "grep", "sed", "sleep", "wc", "ps"})
      fs::create_symlink("busybox", root + "/bin/" + applet);
    const auto program = [&](const std::string& name, const std::string& text) {
      write_text(root + "/bin/" + name, text);
      fs::permissions(root + "/bin/" + name, fs::perms(0755));
    };
    program("service", with(kService, "VERSION", version));
    program("show", "#!/bin/sh\necho \"" + word + " $(wc -l </srv/rows)\"\n");
    const std::string fails = version == "1" ? "" : "[ ! -e /site/fail ] && ";
    program("check", "#!/bin/sh\nwhile [ -e /site/hold.check ]; do sleep 0.02; done\n" + fails +
                         "[ \"$(cat /srv/schema)\" = " + version + " ]\n");
    write_text(root + "/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
    write_text(root + "/etc/group", "root:x:0:\n");
    write_text(at("svc-" + label + ".hcl"), with(with(kImage, "LABEL", label), "VERSION", version));
    ok({"capsule", "build", at("svc-" + label + ".hcl"), "-o", at("svc-" + label + ".capsule"), "-key", at("ops.key")});
  }

  std::string inside(const std::string& line) const {
    return machine_.underway({"alloc", "exec", "-job", "svc", "sh", "-c", line}).out;
  }
  int rows() const {
    const auto said = inside("wc -l </srv/rows");
    return said.empty() || said[0] < '0' || said[0] > '9' ? 0 : std::stoi(said);
  }
  std::string schema() const { return inside("cat /srv/schema"); }
  std::string init() const { return inside("cat /proc/1/stat"); }
  std::string status() const { return machine_.underway({"capsule", "status", "svc"}).out; }
  std::string log() const { return status() + read_text(machine_.log()); }
  /// Of the upgrade under way; empty: none, or nobody answers.
  std::string phase() const {
    const auto text = machine_.underway({"capsule", "status", "-json", "svc"}).out;
    const auto from = text.find("\"Upgrade\": {");
    const auto key = text.find("\"Phase\": \"", from == std::string::npos ? text.size() : from);
    return key == std::string::npos ? "" : text.substr(key + 10, text.find('"', key + 10) - key - 10);
  }
  bool reaches(const std::string& wanted) const {
    return eventually(seconds(40), [&] { return phase() == wanted; });
  }
  /// It has ended, and runs.
  bool at_rest() const {
    return eventually(seconds(90), [&] {
      const auto text = machine_.underway({"capsule", "status", "-json", "svc"}).out;
      return text.find("\"State\": \"held\"") != std::string::npos && phase().empty() && rows() > 0;
    });
  }
  void hold(const std::string& what) const { write_text(site() + "/hold." + what, ""); }
  void let_go(const std::string& what) const { fs::remove(site() + "/hold." + what); }
  void restart() {
    machine_.kill_agent();
    machine_.start();
  }
  Command upgrade(const std::string& image) const {
    auto command = machine_.command({"capsule", "upgrade", "svc", "-image", image, "-script", at("sums.sh")});
    command.limit = seconds(120);
    return command;
  }

  Machine machine_;
};

TEST_F(CapsuleUpgrade, MigratesTheDataSaysWhatToWriteAndIsTakenBack) {
  build("2", "2", "rows");
  const auto upgraded = run(upgrade(at("svc-2.capsule")));
  ASSERT_EQ(upgraded.exit_code, 0) << upgraded.out << upgraded.err << log();
  EXPECT_EQ(schema(), "2\n");
  EXPECT_EQ(inside("sed -n 1p /srv/rows"), "migrated row\n");
  for (const auto* tried : {"start", "check", "sums.sh"})
    EXPECT_NE(upgraded.out.find(tried), std::string::npos) << upgraded.out;
  EXPECT_NE(upgraded.err.find("it was away for"), std::string::npos) << upgraded.err;
  EXPECT_NE(upgraded.err.find("Let its job file say so"), std::string::npos) << upgraded.err;
  std::cerr << upgraded.out << upgraded.err;
  const auto history = ok({"job", "history", "svc"}).out;
  EXPECT_NE(history.find("Version     = 1"), std::string::npos) << history;
  const auto planned = machine_.underway({"job", "plan", at("svc.hcl")});
  EXPECT_EQ(planned.exit_code, 1) << "the file still names the old image";
  EXPECT_NE(status().find("The way back"), std::string::npos) << status();

  const auto back = run(machine_.command({"capsule", "upgrade", "-revert", "-yes", "svc"}));
  ASSERT_EQ(back.exit_code, 0) << back.out << back.err << log();
  std::cerr << back.err;
  EXPECT_EQ(schema(), "1\n");
  EXPECT_EQ(inside("sed -n 1p /srv/rows"), "row\n");
  EXPECT_EQ(machine_.underway({"job", "plan", at("svc.hcl")}).exit_code, 0) << "it is as the file says again";
}

TEST_F(CapsuleUpgrade, AnOutputThatTheSitesScriptCannotReadIsRefusedAndNothingHappens) {
  build("2", "2", "ROWS:");
  const std::string before = init();
  const auto refused = run(upgrade(at("svc-2.capsule")));
  EXPECT_EQ(refused.exit_code, 1) << refused.out << refused.err;
  EXPECT_NE(refused.out.find("the sum of rows is ''"), std::string::npos) << refused.out;
  EXPECT_NE(refused.err.find("was not touched"), std::string::npos) << refused.err;
  std::cerr << refused.out << refused.err;
  const auto start_of = [](const std::string& stat) {
    std::string rest = stat.substr(stat.rfind(')') + 2);
    for (int field = 3; field < 22; ++field) rest = rest.substr(rest.find(' ') + 1);
    return rest.substr(0, rest.find(' '));
  };
  EXPECT_EQ(start_of(init()), start_of(before)) << "the same process runs";
  EXPECT_EQ(schema(), "1\n");
  EXPECT_EQ(inside("grep -c migrated /srv/rows"), "0\n");
  const auto rehearsed = machine_.underway({"capsule", "upgrade", "svc", "-image", "svc:2", "-rehearse-only"});
  EXPECT_EQ(rehearsed.exit_code, 0) << "without the script nothing is wrong with it: " << rehearsed.err;
  EXPECT_EQ(start_of(init()), start_of(before));
}

TEST_F(CapsuleUpgrade, ToASlurmThatIsOlderThanThatOfTheNodesIsRefusedUnlessItIsWanted) {
  if (::access("/usr/sbin/slurmd", X_OK) != 0) GTEST_SKIP() << "needs slurmd";
  const auto listed = ok({"node", "status"}).out;
  const auto row = listed.rfind('\n', listed.size() - 2) + 1;
  const auto node = ok({"node", "status", "-verbose", listed.substr(row, listed.find(' ', row) - row)});
  EXPECT_NE(node.out.find("slurm.version"), std::string::npos) << node.out;
  build("2", "2", "rows",
        "Package: slurmctld\nStatus: install ok installed\nVersion: 19.05.5-1\n\n"
        "Package: slurmdbd\nStatus: install ok installed\nVersion: 1:18.08.9-1+deb10u2\n");
  EXPECT_NE(ok({"capsule", "inspect", at("svc-2.capsule")}).out.find("slurmctld 19.05.5, slurmdbd 18.08.9"),
            std::string::npos);
  const auto refused = run(upgrade(at("svc-2.capsule")));
  EXPECT_EQ(refused.exit_code, 1);
  for (const auto* said : {"its slurmdbd 18.08.9 is older than its slurmctld 19.05.5",
                           "its slurmctld 19.05.5 is older than the slurmd ", "-any-slurm-version"})
    EXPECT_NE(refused.err.find(said), std::string::npos) << refused.err;
  std::cerr << refused.err;
  EXPECT_EQ(schema(), "1\n");

  write_text(at("svc-2.job.hcl"), with(read_text(at("svc.hcl")), "svc:1", "svc:2"));
  const auto planned = machine_.underway({"job", "plan", at("svc-2.job.hcl")});
  EXPECT_EQ(planned.exit_code, 1);
  EXPECT_NE(planned.err.find("warning: capsule 'svc': its slurmctld 19.05.5 is older"), std::string::npos)
      << planned.err;

  auto wanted = upgrade("svc:2");
  wanted.argv.emplace_back("-any-slurm-version");
  const auto upgraded = run(wanted);
  EXPECT_EQ(upgraded.exit_code, 0) << upgraded.err << log();
  EXPECT_EQ(schema(), "2\n");
}

TEST_F(CapsuleUpgrade, WhatFailsWhenItIsLiveComesBackWithTheOldData) {
  build("2", "2", "rows");
  hold("before_stop");
  Background upgrading(upgrade(at("svc-2.capsule")));
  ASSERT_TRUE(reaches("before_stop")) << log();
  write_text(site() + "/fail", "");
  const int before = rows();
  let_go("before_stop");
  ASSERT_TRUE(reaches("check")) << log();
  EXPECT_EQ(schema(), "2\n") << "it was migrated, live";
  ok({"capsule", "upgrade", "-cancel", "svc"});
  EXPECT_EQ(upgrading.wait(seconds(60)), 1) << log();
  ASSERT_TRUE(at_rest()) << log();
  EXPECT_EQ(schema(), "1\n");
  EXPECT_EQ(inside("grep -c migrated /srv/rows"), "0\n");
  EXPECT_GE(rows(), before) << "what the old one had written is there";
  EXPECT_NE(status().find("went back"), std::string::npos) << status();
}

TEST_F(CapsuleUpgrade, GoesOnAfterServerAndAgentWereKilledInEachPhase) {
  build("2", "2", "rows");
  ok({"capsule", "push", at("svc-2.capsule")});
  for (const std::string killed_in : {"stage", "rehearse", "before_stop", "stop", "check"}) {
    SCOPED_TRACE(killed_in);
    if (killed_in != "stage" && killed_in != "check") hold(killed_in);
    ok({"capsule", "upgrade", "svc", "-image", "svc:2", "-script", at("sums.sh"), "-detach"});
    if (killed_in == "check") {
      hold("before_stop");
      ASSERT_TRUE(reaches("before_stop")) << log();
      hold("check");  // not in the rehearsal
      let_go("before_stop");
    }
    if (killed_in != "stage") {
      ASSERT_TRUE(reaches(killed_in)) << log();
    }
    restart();
    if (killed_in != "stage") let_go(killed_in);
    ASSERT_TRUE(at_rest()) << log();
    EXPECT_EQ(schema(), "2\n") << log();
    const auto back = run(machine_.command({"capsule", "upgrade", "-revert", "-yes", "svc"}));
    ASSERT_EQ(back.exit_code, 0) << back.out << back.err << log();
    EXPECT_EQ(schema(), "1\n");
  }
}

TEST_F(CapsuleUpgrade, GoesBackThoughServerAndAgentAreKilledOnTheWay) {
  build("2", "2", "rows");
  hold("before_stop");
  ok({"capsule", "upgrade", "svc", "-image", at("svc-2.capsule"), "-detach"});
  ASSERT_TRUE(reaches("before_stop")) << log();
  write_text(site() + "/fail", "");
  let_go("before_stop");
  ASSERT_TRUE(reaches("check")) << log();
  restart();
  ASSERT_TRUE(reaches("check")) << log();
  hold("stop");
  ok({"capsule", "upgrade", "-cancel", "svc"});
  ASSERT_TRUE(reaches("roll_back")) << log();
  restart();
  let_go("stop");
  ASSERT_TRUE(at_rest()) << log();
  EXPECT_EQ(schema(), "1\n");
  EXPECT_EQ(inside("grep -c migrated /srv/rows"), "0\n");
}

}  // namespace
}  // namespace underway::harness
