// What people are told of a mistake in a file: before it does harm where that can be, else at once, and with its cause.
#include <gmock/gmock.h>

#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A cluster without hosts: its job runs on the machine itself.
class Verdicts : public testing::Test {
 protected:
  Verdicts() {
    const auto made = shell("mkdir " + directory());
    EXPECT_EQ(made.exit_code, 0) << made.err;
    write_text(directory() + "/cluster.hcl",
               "cluster \"site\" {\n  network \"site\" {\n    cidr = \"10.99.0.0/24\"\n  }\n"
               "  pool \"none\" {\n    size = 0\n    networks = [\"site\"]\n  }\n}\n");
  }
  ~Verdicts() override { machine_.underway({"down", "-yes", "site"}); }

  std::string directory() const { return machine_.directory() + "/site"; }
  void declare(const std::string& update, const std::string& config) const {
    write_text(directory() + "/daemon.hcl",
               "job \"daemon\" {\n  type = \"system\"\n  update {\n    min_healthy_time = \"100ms\"\n    " + update +
                   "\n  }\n  group \"g\" {\n    task \"t\" {\n      driver = \"raw_exec\"\n      config {\n" + config +
                   "\n      }\n      resources {\n        cpu    = 10\n        memory = 20\n      }\n    }\n  }\n}\n");
  }
  Finished apply() const { return machine_.underway({"apply", "-yes", "-timeout=50s", directory()}); }
  Finished ok(const Finished& finished) const {
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    return finished;
  }

  Machine machine_;
};

constexpr const char* kGood = "        command = \"/bin/sleep\"\n        args    = [\"86395\"]";
constexpr const char* kBad = "        command = \"/nonexistent/slurmd\"";

TEST_F(Verdicts, OfWhatNoWaitingCuresComesAtOnceAndNamesTheFirstCauseEverywhere) {
  declare("max_parallel = 0", kGood);
  ok(apply());
  EXPECT_EQ(machine_.underway({"status"}).exit_code, 0);
  declare("max_parallel = 0", kBad);
  const auto planned = machine_.underway({"plan", directory()});
  EXPECT_EQ(planned.exit_code, 1);
  EXPECT_THAT(planned.out, HasSubstr("if it fails: its node is without daemon until somebody mends it"));

  const auto failed = apply();
  EXPECT_EQ(failed.exit_code, 1) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("'/nonexistent/slurmd'"));
  EXPECT_THAT(failed.err, Not(HasSubstr("has not settled"))) << "it waited in vain";
  EXPECT_THAT(failed.err, Not(HasSubstr("\n    daemon/t: \n"))) << "an empty line of a log";

  const auto again = machine_.underway({"plan", directory()});
  EXPECT_EQ(again.exit_code, 1) << again.out << "what runs is not what is declared";
  EXPECT_THAT(again.out, HasSubstr("daemon: version 1 failed on "));
  EXPECT_EQ(apply().exit_code, 1);
  const auto status = machine_.underway({"status"});
  EXPECT_EQ(status.exit_code, 2) << "the service is away";
  for (const auto& told : {failed.err, again.out, status.out, machine_.underway({"job", "status", "daemon"}).out,
                           machine_.underway({"job", "explain", "daemon"}).out}) {
    EXPECT_THAT(told, HasSubstr("'/nonexistent/slurmd'"));
    EXPECT_THAT(told, Not(HasSubstr("unrecoverable")));
  }
  declare("max_parallel = 0", kGood);
  ok(apply());
  EXPECT_EQ(machine_.underway({"status"}).exit_code, 0);
}

TEST_F(Verdicts, OfARolloutThatFailedStandUntilItIsMended) {
  const std::string update = "max_parallel = 1\n    progress_deadline = \"0s\"\n    auto_revert = false";
  declare(update, kGood);
  ok(apply());
  declare(update, kBad);
  EXPECT_EQ(apply().exit_code, 1);
  const auto planned = machine_.underway({"plan", directory()});
  EXPECT_EQ(planned.exit_code, 1);
  EXPECT_THAT(planned.out, HasSubstr("version 1 failed on "));
  EXPECT_THAT(planned.out, HasSubstr("underway job revert daemon 0"));
  EXPECT_THAT(planned.out, Not(HasSubstr("is as declared")));
}

TEST_F(Verdicts, OnADriversConfigAreGivenBeforeAnythingIsSent) {
  declare("max_parallel = 0", std::string(kGood) + "\n        argz    = []");
  for (const auto& command : std::vector<std::vector<std::string>>{{"job", "validate", directory() + "/daemon.hcl"},
                                                                   {"job", "plan", directory() + "/daemon.hcl"},
                                                                   {"plan", directory()},
                                                                   {"apply", "-yes", directory()}}) {
    const auto refused = machine_.underway(command);
    EXPECT_NE(refused.exit_code, 0);
    EXPECT_THAT(refused.err, HasSubstr("config.argz: is not known; did you mean 'args'?"));
    EXPECT_THAT(refused.err, HasSubstr("daemon.hcl:13:9"));
  }
  write_text(machine_.directory() + "/job.json",
             R"({"Job": {"ID": "j", "TaskGroups": [{"Name": "g", "Tasks": [{"Name": "t", "Driver": "raw_exec",
                 "Config": {"command": "/bin/true", "argz": []}}]}]}})");
  auto sent = machine_.command({"operator", "api", "-in", "-X", "PUT", "/v1/jobs"});
  sent.input = read_text(machine_.directory() + "/job.json");
  const auto refused = run(sent);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.out, HasSubstr("group 'g' task 't': config.argz: is not known")) << "by the server";
}

}  // namespace
}  // namespace underway::harness
