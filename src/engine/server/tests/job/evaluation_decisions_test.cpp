#include "server/job/evaluation_decisions.hpp"

#include <gtest/gtest.h>

#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

Code evaluation_refusal(Desk& desk, const std::vector<std::string>& ids) {
  try {
    decide(desk.tables, DeleteEvaluations{ids}, desk.context());
  } catch (const Error& error) {
    return error.code();
  }
  return Code::internal;
}

TEST(DeleteEvaluations, ForgetsThoseThatWaitAndSparesThoseBehindWhatRuns) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  model::Job large = make_job("large");
  large.groups[0].tasks[0].resources.cpu = 1'000'000;
  desk.register_job(large);
  std::string behind, blocked;
  for (const auto& evaluation : desk.tables.evaluations()) {
    if (evaluation->job_id == "web") behind = evaluation->id;
    if (evaluation->status == model::EvalStatus::blocked) blocked = evaluation->id;
  }
  EXPECT_EQ(evaluation_refusal(desk, {behind}), Code::conflict);
  EXPECT_EQ(evaluation_refusal(desk, {blocked, "nobody"}), Code::not_found);
  EXPECT_EQ(evaluation_refusal(desk, std::vector<std::string>(kMostDeletedEvaluations + 1, blocked)), Code::invalid);
  const auto decision = decide(desk.tables, DeleteEvaluations{{blocked, blocked}}, desk.context());
  EXPECT_EQ(decision.result, 1u);
  EXPECT_EQ(decision.changes.size(), 1u);
}

}  // namespace
}  // namespace underway::server::testing
