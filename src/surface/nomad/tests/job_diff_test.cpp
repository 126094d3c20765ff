#include "nomad/text/job_diff.hpp"

#include <gtest/gtest.h>

#include "base/json/json.hpp"
#include "model/diff/diff.hpp"
#include "nomad/text/job_plan.hpp"

namespace underway::nomad {
namespace {

model::Job job(std::int64_t count, std::string command) {
  model::Job out;
  out.id = out.name = "web";
  model::TaskGroup group;
  group.name = "g";
  group.count = count;
  model::Task task;
  task.name = "t";
  task.driver = "raw_exec";
  task.config = boost::json::object{{"command", command}};
  group.tasks = {task};
  out.groups = {group};
  return out;
}

std::string shown(const model::Job* before, const model::Job& after, bool verbose, const cli::Json& updates = nullptr) {
  return job_diff_text(with_unchanged(json::to_value(model::diff(before, &after)), after), verbose, updates);
}

TEST(JobDiff, OfANewJobLeavesOutWhatIsInIt) {
  const auto after = job(2, "/bin/true");
  const auto updates = json::parse(R"({"g": {"Place": 2}})");
  EXPECT_EQ(shown(nullptr, after, false, updates),
            "+ Job: \"web\"\n"
            "+ Task Group: \"g\" (2 create)\n"
            "  + Task: \"t\" (forces create)\n");
  const auto whole = shown(nullptr, after, true, updates);
  EXPECT_NE(whole.find("\n  + Count"), std::string::npos) << whole;
  EXPECT_NE(whole.find("command"), std::string::npos) << whole;
}

TEST(JobDiff, SaysWhatChangesAndForWhichGroups) {
  const auto before = job(2, "/bin/true"), after = job(3, "/bin/true");
  const auto text = shown(&before, after, false, json::parse(R"({"g": {"Place": 1, "Ignore": 2}})"));
  EXPECT_TRUE(text.starts_with("+/- Job: \"web\"\n+/- Task Group: \"g\" (1 create, 2 ignore)\n")) << text;
  EXPECT_NE(text.find("+/- Count: \"2\" => \"3\" (forces create)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Task: \"t\"\n"), std::string::npos) << "what does not change is named";
}

cli::Json plan(std::string_view updates) {
  return json::parse(
      fmt::format(R"({{"Diff": {{"Type": "Edited"}}, "Annotations": {{"DesiredTGUpdates": {{"g": {}}}}}}})", updates));
}

TEST(Plan, IsAChangeWhenAnAllocationIsMadeMovedOrStopped) {
  for (const char* update : {"Place", "Stop", "Migrate", "DestructiveUpdate", "Canary"})
    EXPECT_EQ(plan_exit_code(plan(fmt::format(R"({{"{}": 1}})", update))), 1) << update;
  EXPECT_EQ(plan_exit_code(plan(R"({"InPlaceUpdate": 2, "Ignore": 1})")), 0);
  EXPECT_EQ(plan_exit_code(json::parse(R"({"Diff": {"Type": "None"}, "Annotations": null})")), 0);
}

TEST(Plan, ToldInShortEndsWithWhatCannotBePlaced) {
  EXPECT_EQ(dry_run_text(json::parse(R"({"FailedTGAllocs": null, "Annotations": null, "Warnings": ""})"), job(1, "x")),
            "Scheduler dry-run:\n- All tasks successfully allocated.\n\n");
  const auto text = dry_run_text(
      json::parse(R"({"FailedTGAllocs": {"g": {"NodesEvaluated": 0, "CoalescedFailures": 1}}, "Annotations": null})"),
      job(2, "x"));
  EXPECT_TRUE(
      text.starts_with("Scheduler dry-run:\n- WARNING: Failed to place all allocations.\n"
                       "  Task Group \"g\" (failed to place 2 allocations):\n    * "))
      << text;
}

}  // namespace
}  // namespace underway::nomad
