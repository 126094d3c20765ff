// Who makes way for whom, and what a quota holds back, with real processes: what is pushed aside has ended before what
// takes its place begins.
#include <gtest/gtest.h>

#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

/// Holds the one device of the machine. Its task notes when it began, and when it ended two seconds after it was told.
std::string holder(const std::string& id, int priority, const std::string& notes) {
  return "job \"" + id + "\" {\n  priority = " + std::to_string(priority) +
         "\n  update {\n    min_healthy_time = \"100ms\"\n  }\n  group \"g\" {\n    task \"t\" {\n"
         "      driver = \"raw_exec\"\n      config {\n        command = \"/bin/sh\"\n        args = [\"-c\", \"echo " +
         id + " begins >> " + notes + "; trap 'sleep 2; echo " + id + " ended >> " + notes +
         "; exit 0' INT; while :; do sleep 0.1; done\"]\n      }\n"
         "      resources {\n        cpu = 10\n        memory = 20\n        device \"acme/thing\" {}\n      }\n    }\n "
         " }\n}\n";
}

std::string sleepers(const std::string& id, int count) {
  return "job \"" + id +
         "\" {\n  update {\n    max_parallel = 0\n  }\n  group \"g\" {\n    count = " + std::to_string(count) +
         "\n    task \"t\" {\n      driver = \"exec\"\n      config {\n        command = \"/bin/sleep\"\n"
         "        args = [\"86398\"]\n      }\n      resources {\n        cpu = 50\n        memory = 20\n      }\n    "
         "}\n"
         "  }\n}\n";
}

std::size_t running(const Machine& machine, const std::string& id) {
  const std::string list = machine.underway({"operator", "api", "/v1/job/" + id + "/allocations"}).out;
  std::size_t count = 0;
  for (auto at = list.find("\"ClientStatus\":\"running\""); at != std::string::npos;
       at = list.find("\"ClientStatus\":\"running\"", at + 1))
    ++count;
  return count;
}

Finished put(const Machine& machine, const std::string& path, const std::string& body) {
  auto command = machine.command({"operator", "api", "-in", path});
  command.input = body;
  return run(std::move(command));
}

struct Priorities : ::testing::Test {
  void SetUp() override {
    machine.kill_agent();
    write_text(machine.directory() + "/agent.hcl",
               "client {\n  device \"acme/thing/one\" {\n    paths = [\"/dev/null\"]\n  }\n}\n");
    machine.start();
  }
  Machine machine;
  const std::string notes = machine.directory() + "/notes";
};

TEST_F(Priorities, WhatIsPushedAsideEndsBeforeItsPlaceIsTakenAndComesBackWhenItIsFree) {
  ASSERT_EQ(machine.underway({"operator", "scheduler", "set-config", "-preempt-service-scheduler=true"}).exit_code, 0);
  const auto low = machine.run_job("low", holder("low", 20, notes));
  ASSERT_EQ(low.exit_code, 0) << low.err << low.out;

  const auto near = machine.run_job("near", holder("near", 29, notes));
  EXPECT_EQ(near.exit_code, 2) << near.err << near.out;
  EXPECT_NE((near.out + near.err).find("devices: "), std::string::npos) << near.err << near.out;
  machine.underway({"job", "stop", "-purge", "near"});
  EXPECT_EQ(read_text(notes), "low begins\n");

  const auto high = machine.run_job("high", holder("high", 60, notes));
  ASSERT_EQ(high.exit_code, 0) << high.err << high.out;
  EXPECT_TRUE(eventually(seconds(20), [&] { return read_text(notes) == "low begins\nlow ended\nhigh begins\n"; }))
      << read_text(notes);
  const std::string list = machine.underway({"operator", "api", "/v1/job/low/allocations"}).out;
  EXPECT_NE(list.find("\"DesiredStatus\":\"evict\""), std::string::npos) << list;
  EXPECT_NE(list.find("Preempted by alloc ID "), std::string::npos) << list;

  machine.underway({"job", "stop", "high"});
  EXPECT_TRUE(eventually(seconds(30), [&] { return read_text(notes).ends_with("high ended\nlow begins\n"); }))
      << read_text(notes);
}

TEST_F(Priorities, AnAgentThatIsKilledInTheMiddleStillLetsNobodyBeginEarly) {
  ASSERT_EQ(machine.underway({"operator", "scheduler", "set-config", "-preempt-service-scheduler=true"}).exit_code, 0);
  ASSERT_EQ(machine.run_job("low", holder("low", 20, notes)).exit_code, 0);
  write_text(machine.directory() + "/high.hcl", holder("high", 60, notes));
  const auto registered = machine.underway({"job", "run", "-detach", machine.directory() + "/high.hcl"});
  ASSERT_EQ(registered.exit_code, 0) << registered.err;
  machine.kill_agent();
  machine.start();
  EXPECT_TRUE(eventually(seconds(30), [&] { return read_text(notes) == "low begins\nlow ended\nhigh begins\n"; }))
      << read_text(notes);
  machine.underway({"job", "stop", "-purge", "high"});
}

TEST_F(Priorities, AQuotaHoldsBackWhatIsTooMuchAndLetsItGoWhenItIsRaised) {
  const auto quota = [&](int cpu) {
    return put(machine, "/v1/quota",
               "{\"Name\": \"small\", \"Limits\": [{\"Region\": \"global\", \"RegionLimit\": {\"CPU\": " +
                   std::to_string(cpu) + "}}]}");
  };
  ASSERT_EQ(quota(120).exit_code, 0);
  ASSERT_EQ(put(machine, "/v1/namespace/default", R"({"Name": "default", "Quota": "small", "RawExecAsRoot": true})")
                .exit_code,
            0);
  const auto partly = machine.run_job("many", sleepers("many", 4));
  EXPECT_EQ(partly.exit_code, 2) << partly.err << partly.out;
  EXPECT_NE((partly.out + partly.err).find("cpu exhausted (150 needed > 120 limit)"), std::string::npos)
      << partly.out << partly.err;
  EXPECT_TRUE(eventually(seconds(20), [&] { return running(machine, "many") == 2; }));
  ASSERT_EQ(quota(200).exit_code, 0);
  EXPECT_TRUE(eventually(seconds(20), [&] { return running(machine, "many") == 4; }));
}

}  // namespace
}  // namespace underway::harness
