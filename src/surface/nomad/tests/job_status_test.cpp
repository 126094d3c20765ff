#include "nomad/text/job_status.hpp"

#include <gtest/gtest.h>

#include "base/json/json.hpp"

namespace underway::nomad {
namespace {

std::string shown(std::string_view evaluations) { return placement_failure_text(json::parse(evaluations).as_array()); }

constexpr std::string_view kFailed = R"("FailedTGAllocs": {"g": {"CoalescedFailures": 0, "NodesEvaluated": 0}})";

TEST(JobStatus, TellsWhyAJobHasNoRoomAsLongAsItWaits) {
  const std::string failed =
      fmt::format(R"({{"ID": "a", "Status": "complete", "BlockedEval": "b", "CreateIndex": 5, {}}})", kFailed);
  const std::string waits = R"({"ID": "b", "Status": "blocked", "CreateIndex": 6})";
  const auto text = shown(fmt::format("[{}, {}]", waits, failed));
  EXPECT_NE(text.find("Placement Failure\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Task Group \"g\":\n"), std::string::npos) << text;
  EXPECT_EQ(shown(fmt::format("[{}]", failed)), "") << "nobody waits: there was room later";
  EXPECT_EQ(shown("[]"), "");
}

}  // namespace
}  // namespace underway::nomad
