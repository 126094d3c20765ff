// Who may use a pool although he waits elsewhere.
#include "growth/entitled.hpp"

#include <gmock/gmock.h>

namespace underway::growth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Entitled : public testing::Test {
 protected:
  Entitled() {
    pool("batch", "b1");
    pool("physics", "p1").owner = "physics";
    pool("now", "u1").qos = {"urgent", "night"};
  }
  elastic::PoolClass& pool(const std::string& name, const std::string& host) {
    PoolFacts pool;
    pool.type.name = name;
    pool.all_names = {host};
    facts_.pools.push_back(pool);
    slurm_.records.push_back({.name = host, .state = "DOWN", .partitions = {name}});
    return facts_.pools.back().type;
  }
  slurm::QueuedJob& job(const std::string& id, const std::string& account, const std::string& qos) {
    slurm_.queue.push_back(
        {.id = id, .state = "PENDING", .reason = "Resources", .account = account, .qos = qos, .partitions = {"batch"}});
    return slurm_.queue.back();
  }
  std::vector<EntitledJob> found() const { return entitled_jobs(facts_, slurm_); }

  ClusterFacts facts_;
  SlurmLook slurm_;
};

TEST_F(Entitled, JobsOfTheAccountThatPaidAndOfAQosThatIsServed) {
  job("17", "physics", "normal");
  job("18", "chemistry", "urgent");
  job("19", "chemistry", "normal");
  job("20", "", "");
  const auto all = found();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].job, "17");
  EXPECT_THAT(all[0].partitions, ElementsAre("physics", "batch"));
  EXPECT_THAT(all[0].why, HasSubstr("of account 'physics'"));
  EXPECT_THAT(all[1].partitions, ElementsAre("now", "batch"));
  EXPECT_THAT(all[1].why, HasSubstr("of QOS 'urgent'"));
  EXPECT_THAT(partitions_command(all[0]), ElementsAre("scontrol", "update", "jobid=17", "partition=physics,batch"));
}

TEST_F(Entitled, OneWhoIsOfBothMayUseBoth) {
  job("17", "physics", "urgent");
  ASSERT_EQ(found().size(), 1U);
  EXPECT_THAT(found()[0].partitions, ElementsAre("physics", "now", "batch"));
}

TEST_F(Entitled, OfTwoPoolsInOnePartitionItIsNamedOnce) {
  pool("physics2", "p2").owner = "physics";
  slurm_.records.back().partitions = {"physics"};
  job("17", "physics", "");
  ASSERT_EQ(found().size(), 1U);
  EXPECT_THAT(found()[0].partitions, ElementsAre("physics", "batch"));
}

TEST_F(Entitled, OfAnArrayThoseThatRunAreRefusedAlone) {
  EXPECT_TRUE(was_done_for_tasks("`scontrol …` failed: 1_1-6: Job is no longer pending execution\n1_7-12: No error"));
  EXPECT_FALSE(was_done_for_tasks("`scontrol …` failed: Invalid partition name specified for job 1"));
}

TEST_F(Entitled, JobsThatAreSmall) {
  pool("serial", "s1").up_to_nodes = 1;
  job("17", "chemistry", "");
  job("18", "chemistry", "").nodes_min = 2;
  job("19", "chemistry", "").nodes_max = 4;
  job("20", "chemistry", "").gres = "gres:gpu:1";
  job("21", "chemistry", "").reservation = "course";
  const auto all = found();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].job, "17");
  EXPECT_THAT(all[0].partitions, ElementsAre("serial", "batch"));
  EXPECT_THAT(all[0].why, HasSubstr("it is of 1 node, and pool 'serial' serves jobs of up to 1"));
}

TEST_F(Entitled, WhatIsThereAlreadyOrCannotBeIsLeftAlone) {
  job("1", "physics", "").partitions = {"batch", "physics"};
  job("2", "physics", "").state = "RUNNING";
  job("3", "physics", "").named_nodes = "b1";
  job("4+1", "physics", "");
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Entitled, OfAnArrayAllThatWait) {
  job("17_[3-9%4]", "physics", "");
  ASSERT_EQ(found().size(), 1U);
  EXPECT_EQ(found()[0].job, "17");
}

TEST_F(Entitled, TheQueueIsAsItWillBe) {
  job("17_[3-9%4]", "physics", "");
  job("18", "physics", "");
  job("19", "chemistry", "");
  auto all = found();
  all.pop_back();
  put_into_partitions(slurm_.queue, all);
  EXPECT_THAT(slurm_.queue[0].partitions, ElementsAre("physics", "batch"));
  EXPECT_THAT(slurm_.queue[1].partitions, ElementsAre("batch")) << "Slurm refused that one";
  EXPECT_THAT(slurm_.queue[2].partitions, ElementsAre("batch"));
}

TEST_F(Entitled, ThePartitionsThatAPoolNamesCountWhileItHasNoNode) {
  slurm_.records.clear();
  job("17", "physics", "");
  EXPECT_THAT(found(), IsEmpty()) << "nobody knows where it would run";
  facts_.pools[1].type.partitions = {"physics"};
  ASSERT_EQ(found().size(), 1U);
}

}  // namespace
}  // namespace underway::growth
