#include "server/job/standstill.hpp"

#include <gtest/gtest.h>

#include "server/job/deployment_decisions.hpp"
#include "server/testing/desk.hpp"

namespace underway::server {
namespace {

using namespace underway::server::testing;
using model::ClientStatus;
using namespace std::chrono_literals;

class StandstillTest : public ::testing::Test {
 protected:
  StandstillTest() {
    for (int i = 1; i <= 2; ++i) desk.join(make_node(i));
    desk.register_job(make("a"));
    for (const auto& row : desk.live("daemon"))
      desk.update(row->node_id, {report(row->id, ClientStatus::running, true)});
    desk.register_job(make("b"));
    for (const auto& row : desk.tables.allocations_of_job("default", "daemon")) {
      if (row->server_terminal()) desk.update(row->node_id, {report(row->id, ClientStatus::complete)});
    }
  }

  static model::Job make(const std::string& version) {
    model::Job job = make_job("daemon", 1, model::JobType::system);
    job.groups[0].tasks[0].env["VERSION"] = version;
    job.update.emplace().max_parallel = 1;
    job.update->healthy_deadline = 40s;
    return job;
  }
  std::optional<Standstill> find() {
    return find_standstill(desk.tables, *desk.tables.deployments_of_job("default", "daemon").front(), desk.clock.now(),
                           nullptr);
  }
  /// The one of the new version.
  tables::Row<model::Allocation> begun() {
    for (const auto& row : desk.live("daemon")) {
      if (row->job_version == 1) return row;
    }
    throw Error(Code::internal, "nothing was begun");
  }

  Desk desk;
};

TEST_F(StandstillTest, IsNoneWhileWhatIsBegunHasItsTime) {
  desk.clock.advance(50s);
  EXPECT_FALSE(find());
  desk.clock.advance(20s);
  ASSERT_TRUE(find());
  EXPECT_EQ(find()->since, 70s);
  EXPECT_EQ(find()->why, "'daemon' on c1 was found neither well nor unwell in its time");
  EXPECT_EQ(find()->advice, "underway alloc status " + begun()->id.substr(0, 8));
}

TEST_F(StandstillTest, NamesTheNodeThatIsNotHeardOf) {
  desk.update(begun()->node_id, {report(begun()->id, ClientStatus::running)});
  desk.down({begun()->node_id});
  desk.clock.advance(30s);
  ASSERT_TRUE(find());
  EXPECT_EQ(find()->why, "node c1 is not heard of, and 'daemon' on c1 was not found well before");
  EXPECT_NE(find()->advice.find("underway deployment fail "), std::string::npos);
}

TEST_F(StandstillTest, NamesTheOneThatIsNotWell) {
  auto bad = report(begun()->id, ClientStatus::running);
  bad.health.healthy = false;
  bad.health.description = "not healthy within 40s: its tasks do not run";
  desk.update(begun()->node_id, {bad});
  EXPECT_FALSE(find()) << "it has only just been found";
  desk.clock.advance(30s);
  ASSERT_TRUE(find());
  EXPECT_EQ(find()->why, "'daemon' on c1 is not well: not healthy within 40s: its tasks do not run");
}

TEST_F(StandstillTest, IsNoneWhenItIsOver) {
  const std::string id = desk.tables.deployments_of_job("default", "daemon").front()->id;
  desk.run(FailDeployment{id});
  desk.clock.advance(1h);
  EXPECT_FALSE(find());
}

}  // namespace
}  // namespace underway::server
