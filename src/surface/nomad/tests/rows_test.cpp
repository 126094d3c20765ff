#include "nomad/text/rows.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "base/json/json.hpp"
#include "nomad/text/deployment_text.hpp"

namespace underway::nomad {
namespace {

/// Instants are shown in the zone of the machine.
class Rows : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
};

constexpr std::string_view kAllocations = R"([
  {"ID": "478ce836-aaaa-bbbb-cccc-000000000001", "EvalID": "5e2badb6-b7cf-5177-8281-8fe14f7193d2",
   "NodeID": "5ed166e8-9480-b465-a348-deb745024394", "NodeName": "n1", "TaskGroup": "cache", "JobVersion": 0,
   "DesiredStatus": "stop", "ClientStatus": "complete", "CreateIndex": 10,
   "CreateTime": 1500998107000000000, "ModifyTime": 1500998108000000000},
  {"ID": "c2b4606d-1b02-0d8d-5fdd-031167cd4c91", "EvalID": "5e2badb6-b7cf-5177-8281-8fe14f7193d2",
   "NodeID": "35085106-9480-b465-a348-deb745024394", "NodeName": "ubuntu", "TaskGroup": "cache", "JobVersion": 2,
   "DesiredStatus": "run", "ClientStatus": "running", "CreateIndex": 12,
   "CreateTime": 1500998400000000000, "ModifyTime": 1500998410000000000}
])";

TEST_F(Rows, OfAllocationsHaveNomadsColumnsNewestFirst) {
  const auto text = allocations_text(json::parse(kAllocations).as_array(), true);
  EXPECT_EQ(
      text,
      "ID                                    Eval ID                               Node ID                           "
      "    Node Name  Task Group  Version  Desired  Status    Created               Modified\n"
      "c2b4606d-1b02-0d8d-5fdd-031167cd4c91  5e2badb6-b7cf-5177-8281-8fe14f7193d2  "
      "35085106-9480-b465-a348-deb745024394  ubuntu     cache       2        run      running   "
      "2017-07-25T16:00:00Z  2017-07-25T16:00:10Z\n"
      "478ce836-aaaa-bbbb-cccc-000000000001  5e2badb6-b7cf-5177-8281-8fe14f7193d2  "
      "5ed166e8-9480-b465-a348-deb745024394  n1         cache       0        stop     complete  "
      "2017-07-25T15:55:07Z  2017-07-25T15:55:08Z\n");
  const auto brief = allocations_text(json::parse(kAllocations).as_array(), false);
  EXPECT_TRUE(brief.starts_with("ID        Node ID   Task Group  Version  Desired  Status    Created"));
  EXPECT_NE(brief.find("\nc2b4606d  35085106  cache       2        run      running "), std::string::npos) << brief;
  EXPECT_EQ(allocations_text({}, false), "No allocations placed\n");
}

TEST_F(Rows, OfEvaluationsSayWhetherSomethingCouldNotBePlaced) {
  const auto rows = json::parse(R"([
    {"ID": "73bb867a-0000", "Priority": 50, "TriggeredBy": "job-register", "Status": "blocked", "CreateIndex": 3,
     "FailedTGAllocs": {"g": {}}},
    {"ID": "85052989-0000", "Priority": 50, "TriggeredBy": "job-register", "Status": "complete", "CreateIndex": 2,
     "FailedTGAllocs": {"g": {}}},
    {"ID": "e44a39e8-0000", "Priority": 50, "TriggeredBy": "deployment-watcher", "Status": "canceled",
     "CreateIndex": 1, "FailedTGAllocs": null}])");
  EXPECT_EQ(job_evaluations_text(rows.as_array(), false),
            "ID        Priority  Triggered By        Status    Placement Failures\n"
            "73bb867a  50        job-register        blocked   N/A - In Progress\n"
            "85052989  50        job-register        complete  true\n"
            "e44a39e8  50        deployment-watcher  canceled  false\n");
}

TEST_F(Rows, OfDeploymentsAreThoseOfNomad) {
  const auto rows = json::parse(R"([
    {"ID": "06ca68a2-0000", "JobID": "example", "JobVersion": 0, "Status": "successful", "CreateIndex": 1,
     "StatusDescription": "Deployment completed successfully"},
    {"ID": "0b23b149-0000", "JobID": "example", "JobVersion": 1, "Status": "running", "CreateIndex": 2,
     "StatusDescription": "Deployment is running but requires manual promotion"}])");
  EXPECT_EQ(deployments_text(rows.as_array(), false),
            "ID        Job ID   Job Version  Status      Description\n"
            "0b23b149  example  1            running     Deployment is running but requires manual promotion\n"
            "06ca68a2  example  0            successful  Deployment completed successfully\n");
}

TEST_F(Rows, OfADeploymentsGroupsLeaveOutWhatIsTheSameForAll) {
  const auto plain = json::parse(R"({"ID": "06ca68a2-0000", "JobID": "example", "JobVersion": 0,
    "Status": "successful", "StatusDescription": "Deployment completed successfully", "TaskGroups": {
      "cache": {"DesiredTotal": 2, "PlacedAllocs": 2, "HealthyAllocs": 2, "UnhealthyAllocs": 0,
                "ProgressDeadline": 600000000000, "RequireProgressBy": "2021-06-09T15:20:27Z"}}})");
  EXPECT_EQ(deployment_text(plain, false),
            "ID          = 06ca68a2\n"
            "Job ID      = example\n"
            "Job Version = 0\n"
            "Status      = successful\n"
            "Description = Deployment completed successfully\n"
            "\n"
            "Deployed\n"
            "Task Group  Desired  Placed  Healthy  Unhealthy  Progress Deadline\n"
            "cache       2        2       2        0          2021-06-09T15:20:27Z\n");
  const auto canary = json::parse(R"({"ID": "0b23b149-0000", "JobID": "example", "JobVersion": 1,
    "Status": "running", "StatusDescription": "", "TaskGroups": {
      "cache": {"DesiredTotal": 2, "DesiredCanaries": 1, "Promoted": false, "PlacedAllocs": 1, "HealthyAllocs": 0,
                "UnhealthyAllocs": 0, "AutoRevert": true, "ProgressDeadline": 600000000000, "RequireProgressBy": "0001-01-01T00:00:00Z"},
      "web": {"DesiredTotal": 2, "DesiredCanaries": 0, "PlacedAllocs": 2, "HealthyAllocs": 2, "UnhealthyAllocs": 0}}})");
  EXPECT_EQ(deployment_text(canary, false),
            "ID          = 0b23b149\n"
            "Job ID      = example\n"
            "Job Version = 1\n"
            "Status      = running\n"
            "Description = <none>\n"
            "\n"
            "Deployed\n"
            "Task Group  Auto Revert  Promoted  Desired  Canaries  Placed  Healthy  Unhealthy  Progress Deadline\n"
            "cache       true         false     2        1         1       0        0          N/A\n"
            "web         false        N/A       2        0         2       2        0          N/A\n");
  const auto unlimited = json::parse(R"({"ID": "0b23b149-0000", "TaskGroups": {"web": {"DesiredTotal": 2}}})");
  EXPECT_EQ(deployment_text(unlimited, false).find("Progress Deadline"), std::string::npos);
  EXPECT_EQ(deployment_text(nullptr, false), "No deployment found\n");
}

}  // namespace
}  // namespace underway::nomad
