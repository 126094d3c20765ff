#include "server/operator_decisions.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "server/testing/desk.hpp"
#include "tables/scheduler_configuration.hpp"

namespace underway::server {
namespace {

using testing::Desk;

bool put(Desk& desk, model::SchedulerConfiguration configuration, std::optional<model::Revision> cas = {}) {
  return desk.run([&](const Tables& t, const Context& c) {
    return decide_put_scheduler_configuration(t, {configuration, cas}, c);
  });
}

TEST(SchedulerConfiguration, HasNomadsDefaultsUntilItIsWritten) {
  Desk desk;
  const auto found = tables::scheduler_configuration(desk.tables);
  EXPECT_EQ(found.algorithm, model::SchedulerAlgorithm::binpack);
  EXPECT_TRUE(found.preemption.allows(model::JobType::system));
  EXPECT_FALSE(found.preemption.allows(model::JobType::service));
  EXPECT_FALSE(found.preemption.allows(model::JobType::batch));
  EXPECT_FALSE(found.preemption.allows(model::JobType::sysbatch));
  EXPECT_EQ(found.modify_index, 0);
}

TEST(SchedulerConfiguration, IsWrittenOnlyFromTheStateThatWasSeen) {
  Desk desk;
  model::SchedulerConfiguration wanted;
  wanted.pause_eval_broker = true;
  wanted.preemption.system = false;
  EXPECT_FALSE(put(desk, wanted, 7));
  EXPECT_TRUE(put(desk, wanted, 0));
  const auto first = tables::scheduler_configuration(desk.tables);
  EXPECT_TRUE(first.pause_eval_broker);
  EXPECT_FALSE(first.preemption.allows(model::JobType::system));
  EXPECT_GT(first.modify_index, 0);
  EXPECT_FALSE(put(desk, {}, 0));
  EXPECT_TRUE(put(desk, {}, first.modify_index));
  tables::SchedulerConfigurationReader reader;
  EXPECT_FALSE(reader.read(desk.tables).pause_eval_broker);
  EXPECT_TRUE(put(desk, wanted));
  EXPECT_TRUE(reader.read(desk.tables).pause_eval_broker);
  EXPECT_EQ(reader.read(desk.tables).create_index, first.create_index);
}

TEST(SchedulerConfiguration, RefusesWhatNothingWouldActOn) {
  Desk desk;
  const auto refused = [&](auto change) {
    model::SchedulerConfiguration wanted;
    change(wanted);
    try {
      put(desk, wanted);
    } catch (const Error& error) {
      return error.code() == Code::unsupported;
    }
    return false;
  };
  EXPECT_TRUE(refused([](auto& wanted) { wanted.algorithm = model::SchedulerAlgorithm::spread; }));
  EXPECT_TRUE(refused([](auto& wanted) { wanted.preemption.service = true; }));
  EXPECT_TRUE(refused([](auto& wanted) { wanted.preemption.batch = true; }));
  EXPECT_TRUE(refused([](auto& wanted) { wanted.preemption.sysbatch = true; }));
  EXPECT_EQ(tables::scheduler_configuration(desk.tables).modify_index, 0);
}

TEST(SchedulerConfiguration, MayLeaveRegistrationToThoseWhoManage) {
  Desk desk;
  EXPECT_NO_THROW(refuse_registration(desk.tables, false));
  model::SchedulerConfiguration wanted;
  wanted.reject_job_registration = true;
  put(desk, wanted);
  EXPECT_NO_THROW(refuse_registration(desk.tables, true));
  try {
    refuse_registration(desk.tables, false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::denied);
  }
}

}  // namespace
}  // namespace underway::server
