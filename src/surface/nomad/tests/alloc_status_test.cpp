#include "nomad/text/alloc_status.hpp"

#include <gtest/gtest.h>

#include "base/json/json.hpp"

namespace underway::nomad {
namespace {

const cli::Json& allocation() {
  static const cli::Json value = json::parse(R"({
    "ID": "478ce836-aaaa-bbbb-cccc-000000000001", "Name": "web.g[0]", "TaskGroup": "g", "ClientStatus": "running",
    "Job": {"TaskGroups": [{"Name": "g", "Tasks": [
      {"Name": "main", "Lifecycle": null},
      {"Name": "after", "Lifecycle": {"Hook": "poststop", "Sidecar": false}},
      {"Name": "side", "Lifecycle": {"Hook": "prestart", "Sidecar": true}},
      {"Name": "before", "Lifecycle": {"Hook": "prestart", "Sidecar": false}}]}]},
    "AllocatedResources": {"Tasks": {"main": {"Cpu": {"CpuShares": 100}, "Memory": {"MemoryMB": 64,
                                                                                   "MemoryMaxMB": 128}}},
                           "Shared": {"DiskMB": 300}},
    "TaskStates": {"main": {"State": "running", "Events": []}, "after": {"State": "pending"},
                   "side": {"State": "running"}, "before": {"State": "dead"}}})");
  return value;
}

TEST(AllocStatus, HasTasksWithALifecycleFirstAndItsSidecarsBehindThem) {
  EXPECT_EQ(tasks_in_order(allocation()), (std::vector<std::string>{"after", "before", "side", "main"}));
}

TEST(AllocStatus, TellsWhatTheTaskMayUse) {
  const auto text = task_text(allocation(), "main", nullptr, false);
  EXPECT_NE(text.find("Task \"main\" is \"running\""), std::string::npos) << text;
  EXPECT_NE(text.find("100 MHz"), std::string::npos) << text;
  EXPECT_NE(text.find("Max: 128 MiB"), std::string::npos) << text;
}

TEST(AllocStatus, WithStatsTellsEachThingThatWasMeasured) {
  const auto usage = json::parse(R"({"main": {"ResourceUsage": {
    "CpuStats": {"Measured": ["Percent", "Throttled Periods"], "Percent": 12.5, "ThrottledPeriods": 3,
                 "TotalTicks": 42.0},
    "MemoryStats": {"Measured": ["RSS", "Max Usage"], "RSS": 1048576, "MaxUsage": 2097152}}}})");
  const auto plain = task_text(allocation(), "main", usage, false);
  EXPECT_EQ(plain.find("CPU Stats"), std::string::npos) << plain;
  const auto text = task_text(allocation(), "main", usage, true);
  for (const char* part : {"Memory Stats\n", "CPU Stats\n", "12.50%", "1.0 MiB", "2.0 MiB"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

}  // namespace
}  // namespace underway::nomad
