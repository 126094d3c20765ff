#include <boost/json/parse.hpp>

#include "driver/driver.hpp"

namespace underway::driver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RawExecConfig, ReportsEveryProblemAtOnceWithItsKey) {
  const auto driver = make_raw_exec({});
  EXPECT_THAT(driver->validate(boost::json::parse(R"({"comand": "x", "args": "y", "oom_score_adj": "high"})")),
              ElementsAre("config.command: is required", "config.args: must be a list of strings",
                          "config.oom_score_adj: must be a whole number",
                          "config.comand: is not known; did you mean 'command'?"));
  EXPECT_THAT(driver->validate(boost::json::parse(R"({"command": "x", "work_dir": "a/b"})")),
              ElementsAre("config.work_dir: must be an absolute path"));
  EXPECT_THAT(driver->validate(boost::json::parse(R"({"command": ""})")), ElementsAre("config.command: is empty"));
  EXPECT_THAT(driver->validate(boost::json::parse("[]")), ElementsAre("config: must be an object"));
}

TEST(RawExecConfig, TakesNumbersAsTextAndVariablesAsTheyAre) {
  const auto driver = make_raw_exec({});
  EXPECT_THAT(driver->validate(boost::json::parse(
                  R"({"command": "${NOMAD_TASK_DIR}/x", "args": ["-p", 6817, true], "work_dir": "${NOMAD_ALLOC_DIR}",
                      "oom_score_adj": "${meta.oom}", "denied_envvars": ["AWS_*"]})")),
              ElementsAre());
}

TEST(KillMode, IsOneOfSystemdsTwoWords) {
  const auto config = [](const std::string& more) { return boost::json::parse(R"({"command": "x")" + more + "}"); };
  const std::vector<std::unique_ptr<Driver>> drivers = [] {
    std::vector<std::unique_ptr<Driver>> both;
    both.push_back(make_raw_exec({}));
    both.push_back(make_exec({}));
    return both;
  }();
  for (const auto& driver : drivers) {
    SCOPED_TRACE(driver->name());
    EXPECT_THAT(driver->validate(config(R"(, "kill_mode": "control-group")")), ElementsAre());
    EXPECT_THAT(driver->validate(config(R"(, "kill_mode": "mixed")")),
                ElementsAre("config.kill_mode: must be 'control-group' or 'process'"));
  }
  EXPECT_THAT(drivers[0]->validate(config(R"(, "kill_mode": "process")")), ElementsAre());
  EXPECT_THAT(drivers[1]->validate(config(R"(, "kill_mode": "process")")),
              ElementsAre(HasSubstr("config.kill_mode: 'process' needs pid_mode = 'host'")));
  EXPECT_THAT(drivers[1]->validate(config(R"(, "kill_mode": "process", "pid_mode": "host")")), ElementsAre());
}

TEST(ExecConfig, AllowsOnlyCapabilitiesOfTheNodesList) {
  const auto driver = make_exec({});
  EXPECT_THAT(
      driver->validate(boost::json::parse(R"({"command": "x", "cap_add": ["net_bind_service"], "cap_drop": ["ALL"]})")),
      ElementsAre());
  EXPECT_THAT(driver->validate(
                  boost::json::parse(R"({"command": "x", "cap_add": ["sys_admin", "choown"], "pid_mode": "mine"})")),
              ElementsAre(HasSubstr("'sys_admin' is not among those that this node allows"),
                          HasSubstr("there is no capability 'choown'; did you mean 'chown'?"),
                          "config.pid_mode: must be 'private' or 'host'"));
}

}  // namespace
}  // namespace underway::driver
