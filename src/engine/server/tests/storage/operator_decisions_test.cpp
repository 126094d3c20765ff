#include "server/storage/operator_decisions.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "server/testing/desk.hpp"
#include "tables/scheduler_configuration.hpp"

namespace underway::server {
namespace {

using testing::Desk;

bool put(Desk& desk, model::SchedulerConfiguration configuration, std::optional<model::Revision> cas = {}) {
  return desk.run(PutSchedulerConfiguration{configuration, cas});
}

TEST(SchedulerConfiguration, HasNomadsDefaultsButForMemoryUntilItIsWritten) {
  Desk desk;
  const auto found = tables::scheduler_configuration(desk.tables);
  EXPECT_EQ(found.algorithm, model::SchedulerAlgorithm::binpack);
  EXPECT_TRUE(found.preemption.allows(model::JobType::system));
  EXPECT_FALSE(found.preemption.allows(model::JobType::service));
  EXPECT_FALSE(found.preemption.allows(model::JobType::batch));
  EXPECT_FALSE(found.preemption.allows(model::JobType::sysbatch));
  EXPECT_TRUE(found.memory_oversubscription) << "who sets something else shall not take memory_max away with it";
  EXPECT_EQ(found.modify_index, 0);
}

TEST(SchedulerConfiguration, IsWrittenOnlyFromTheStateThatWasSeen) {
  Desk desk;
  model::SchedulerConfiguration wanted;
  wanted.algorithm = model::SchedulerAlgorithm::spread;
  wanted.preemption.service = true;
  EXPECT_FALSE(put(desk, wanted, 7));
  EXPECT_TRUE(put(desk, wanted, 0));
  const auto first = tables::scheduler_configuration(desk.tables);
  EXPECT_EQ(first.algorithm, model::SchedulerAlgorithm::spread);
  EXPECT_TRUE(first.preemption.allows(model::JobType::service));
  EXPECT_GT(first.modify_index, 0);
  EXPECT_FALSE(put(desk, {}, 0));
  EXPECT_TRUE(put(desk, {}, first.modify_index));
  tables::SchedulerConfigurationReader reader;
  EXPECT_EQ(reader.read(desk.tables).algorithm, model::SchedulerAlgorithm::binpack);
  EXPECT_TRUE(put(desk, wanted));
  EXPECT_EQ(reader.read(desk.tables).algorithm, model::SchedulerAlgorithm::spread);
  EXPECT_EQ(reader.read(desk.tables).create_index, first.create_index);
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
