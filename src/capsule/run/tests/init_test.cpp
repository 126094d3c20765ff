// pid 1 of a capsule: order, readiness, restarts, steps, the end.
#include <signal.h>

#include "base/text.hpp"
#include "os/file.hpp"
#include "run/init/spec.hpp"
#include "tests/capsules.hpp"

namespace underway::run {
namespace {

std::string service(const std::string& name, const std::string& script, const std::string& more = "") {
  boost::json::object block = boost::json::parse("{" + more + "}").as_object();
  block["command"] = boost::json::array{"/bin/sh", "-c", script};
  return boost::json::serialize(boost::json::object{{name, boost::json::array{block}}});
}

class Init : public Capsules {
 protected:
  /// A config of these services; `more` is put beside them.
  std::string services(const std::vector<std::string>& all, const std::string& more = "{}") {
    boost::json::object config = boost::json::parse(more).as_object();
    config["image"] = plain_image();
    config["service"] = boost::json::parse("[" + join(all, ",") + "]");
    return boost::json::serialize(config);
  }
  static std::string state_of(const Status& status, const std::string& name) {
    for (const auto& service : status.services) {
      if (service.name == name) return service.state;
    }
    return "absent";
  }
  std::string state_of(const TaskSpec& run, const std::string& name) { return state_of(control(run).status(), name); }
};

TEST_F(Init, StartsWhatIsNeededFirstAndWaitsUntilItIsReady) {
  const auto run = spec(
      "web", services({service("late", "test -e /run/first && echo late; sleep 1000", R"("depends_on": ["first"])"),
                       service("first", "echo first; sleep 1000", R"("ready": ["/bin/ls", "/run/first"])")}));
  auto& task = start(run);
  EXPECT_TRUE(eventually([&] { return out(run) == "first: first\n"; })) << out(run);
  EXPECT_EQ(state_of(run, "first"), "starting");
  EXPECT_EQ(state_of(run, "late"), "waiting");
  EXPECT_EQ(control(run).status().phase, "starting");
  shell(task, "touch /run/first");
  EXPECT_TRUE(eventually([&] { return out(run) == "first: first\nlate: late\n"; })) << out(run);
  EXPECT_TRUE(eventually([&] { return control(run).status().healthy(); }));
  end(task);
}

TEST_F(Init, StopsInReverseOrderEachWithItsSignalAndItsTime) {
  const auto trap = [](const char* name, const char* signal) {
    return fmt::format("trap 'echo {0} ends; exit 0' {1}; while true; do sleep 0.05; done", name, signal);
  };
  const auto run = spec("web", services({service("db", trap("db", "INT"), R"("stop_signal": "SIGINT")"),
                                         service("app", trap("app", "TERM"), R"("depends_on": ["db"])"),
                                         service("deaf", "trap '' TERM; while true; do sleep 0.05; done",
                                                 R"("stop_timeout": "200ms", "depends_on": ["app"])")},
                                        R"({"step": [{"before_stop": [{"command": ["/bin/echo", "flush"]}]}]})"));
  auto& task = start(run);
  ASSERT_TRUE(eventually([&] { return control(run).status().healthy(); }));
  shell(task, "sleep 0.2");  // until the shells have set their traps
  task.stop(SIGTERM, seconds{20});
  ASSERT_TRUE(task.wait(seconds{30}));
  EXPECT_EQ(task.status().exit, (os::ExitStatus{.code = 0, .signal = 0}));
  EXPECT_EQ(out(run), "app: app ends\ndb: db ends\n");
  EXPECT_THAT(err(run), HasSubstr("init: step before_stop: flush\ninit: deaf: did not end in time and was killed\n"));
  task.destroy();
  tasks_.clear();
}

TEST_F(Init, StartsAgainWhatEndsWithGrowingPausesAndGivesUp) {
  const auto run =
      spec("web", services({service("crash", "echo x >> /local/runs; exit 7"), service("well", "sleep 1000")},
                           R"({"attempts": 3})"));
  auto& task = start(run);
  ASSERT_TRUE(task.wait(seconds{30}));
  EXPECT_EQ(task.status().exit.code, 1);
  EXPECT_EQ(os::read_file(run.task_dir + "/local/runs"), "x\nx\nx\n");
  EXPECT_THAT(err(run), HasSubstr("init: crash: ended with exit code 7, starting it again in 100 ms\n"));
  EXPECT_THAT(err(run), HasSubstr("init: crash: ended with exit code 7, starting it again in 200 ms\n"));
  EXPECT_THAT(err(run), HasSubstr("init: stopping: service crash has failed\n"));
  task.destroy();
  tasks_.clear();
}

TEST_F(Init, LeavesAloneWhatIsNotToBeStartedAgain) {
  const auto run = spec("web", services({service("once", "exit 0", R"("restart": "never")"),
                                         service("on_failure", "exit 0", R"("restart": "on_failure")"),
                                         service("after", "sleep 1000", R"("depends_on": ["once"])")}));
  auto& task = start(run);
  EXPECT_TRUE(eventually([&] { return control(run).status().healthy(); }));
  EXPECT_TRUE(eventually([&] { return state_of(run, "once") == "done"; }));
  EXPECT_TRUE(eventually([&] { return state_of(run, "on_failure") == "done"; }));
  control(run).restart("after");
  EXPECT_TRUE(eventually([&] {
    const auto status = control(run).status();
    return status.healthy() && status.services[2].restarts == 1;
  }));
  end(task);
  const auto wrong = spec("other", services({service("once", "exit 3", R"("restart": "never")")}));
  auto& other = start(wrong);
  ASSERT_TRUE(other.wait(seconds{20}));
  EXPECT_EQ(other.status().exit.code, 1);
  other.destroy();
  tasks_.clear();
  const auto done = spec("third", services({service("once", "exit 0", R"("restart": "never")")}));
  auto& third = start(done);
  ASSERT_TRUE(third.wait(seconds{20}));
  EXPECT_EQ(third.status().exit.code, 0);
  third.destroy();
  tasks_.clear();
}

TEST_F(Init, LetsNothingActBeforeTheProbeHasSucceeded) {
  const auto probe = R"({"step": [{"probe": [{"command": ["/bin/ls", "/local/reachable"], "timeout": "30s"}]}]})";
  const auto run = spec("web", services({service("main", "echo acted; sleep 1000")}, probe));
  auto& task = start(run);
  EXPECT_TRUE(eventually([&] { return err(run).find("No such file") != std::string::npos; })) << err(run);
  EXPECT_EQ(control(run).status().phase, "probing");
  EXPECT_EQ(out(run), "");
  shell(task, "touch /local/reachable");
  EXPECT_TRUE(eventually([&] { return out(run) == "main: acted\n"; }));
  EXPECT_EQ(control(run).status().steps.at("probe"), 0);
  end(task);
  const auto never = R"({"step": [{"probe": [{"command": ["/bin/false"], "timeout": "300ms"}]}]})";
  const auto lost = spec("other", services({service("main", "echo acted; sleep 1000")}, never));
  auto& other = start(lost);
  ASSERT_TRUE(other.wait(seconds{20}));
  EXPECT_EQ(other.status().exit.code, 75);
  EXPECT_EQ(out(lost), "");
  EXPECT_THAT(err(lost), HasSubstr("the step probe did not succeed, so no service was started"));
  other.destroy();
  tasks_.clear();
}

TEST_F(Init, RunsStepsWhenAskedAndTellsWhatTheySaid) {
  const auto steps = R"({"step": [{"check": [{"command": ["/bin/sh", "-c", "echo fine; id -un"]}]},
                                  {"check": [{"command": ["/bin/sh", "-c", "id -un; id -G"], "user": "munge"}]},
                                  {"quiesce": [{"command": ["/bin/sh", "-c", "echo no; exit 4"]}]},
                                  {"unquiesce": [{"command": ["/bin/sleep", "100"], "timeout": "100ms"}]}]})";
  const auto run = spec("web", services({service("main", "sleep 1000")}, steps));
  auto& task = start(run);
  ASSERT_TRUE(eventually([&] { return control(run).status().healthy(); }));
  const auto check = control(run).run_step(image::Moment::check);
  EXPECT_EQ(check.result, 0);
  EXPECT_EQ(check.output, "fine\nroot\nmunge\n107 200\n");
  const auto quiesce = control(run).run_step(image::Moment::quiesce);
  EXPECT_EQ(quiesce.result, 4);
  EXPECT_EQ(quiesce.output, "no\n");
  EXPECT_EQ(control(run).run_step(image::Moment::unquiesce).result, 124);
  EXPECT_EQ(control(run).run_step(image::Moment::before_stop).result, 0);
  EXPECT_EQ(control(run).status().steps.at("quiesce"), 4);
  EXPECT_THROW(control(run).restart("nobody"), Error);
  end(task);
}

TEST_F(Init, RunsServicesAsTheImagesUsersWithTheirEnvironment) {
  const auto run =
      spec("web", services({service("main", "id -un; id -G; echo $HOME $GREETING $NOMAD_JOB_ID; sleep 1000",
                                    R"("user": "munge", "environment": {"GREETING": "hello"})")}));
  auto& task = start(run);
  EXPECT_TRUE(eventually([&] { return out(run) == "main: munge\nmain: 107 200\nmain: /run/munge hello web\n"; }))
      << out(run);
  end(task);
  const auto wrong = spec("other", services({service("main", "true", R"("user": "who", "restart": "never")")}));
  auto& other = start(wrong);
  ASSERT_TRUE(other.wait(seconds{20}));
  EXPECT_THAT(err(wrong), HasSubstr("main: cannot become user 'who': not found in /etc/passwd\n"));
  other.destroy();
  tasks_.clear();
}

TEST_F(Init, PassesSignalsOnAndReapsWhatIsLeftToIt) {
  const auto run = spec(
      "web", services({service("main", "trap 'echo reload' HUP; (sleep 0.05 &); while true; do sleep 0.05; done")}));
  auto& task = start(run);
  ASSERT_TRUE(eventually([&] { return control(run).status().healthy(); }));
  EXPECT_TRUE(eventually([&] {
    task.signal(SIGHUP);
    return out(run).find("main: reload\n") != std::string::npos;
  }));
  EXPECT_TRUE(eventually([&] { return shell(task, "ps -o stat,comm").find('Z') == std::string::npos; }));
  end(task);
}

}  // namespace
}  // namespace underway::run
