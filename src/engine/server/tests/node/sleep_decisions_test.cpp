#include "server/node/sleep_decisions.hpp"

#include <gmock/gmock.h>

#include "server/job/dependencies.hpp"
#include "server/testing/desk.hpp"

namespace underway::server {
namespace {

using model::ClientStatus;
using testing::asked;
using testing::Desk;
using ::testing::HasSubstr;
using testing::make_job;
using testing::make_node;
using testing::report;
using testing::uuid;

/// A node of 1024 MiB with a machine of 600 on it.
class Sleep : public ::testing::Test {
 protected:
  Sleep() {
    auto node = make_node(1, 4000, 1024);
    node.drivers["qemu"] = {true, true, "", {}};
    node.attributes["driver.qemu"] = "1";
    desk.join(node);
    desk.register_job(machine("vm"));
    id = desk.only("vm")->id;
    desk.update(uuid(1), {report(id, ClientStatus::running, true)});
  }

  static model::Job machine(const std::string& name) {
    auto job = make_job(name);
    auto& task = job.groups[0].tasks[0];
    task.driver = "qemu";
    task.config = boost::json::object{{"image", "/srv/image"}};
    task.resources.memory_mb = 600;
    return job;
  }
  tables::Row<model::Allocation> row() const { return desk.tables.find_allocation(id); }
  void told(bool asleep, const std::string& trouble = {}, std::optional<std::int64_t> of = {}) {
    auto update = report(id, ClientStatus::running);
    update.sleep = model::AllocSleepReport{of.value_or(row()->sleep->since), asleep, trouble};
    desk.update(uuid(1), {update});
  }
  Gate gate() {
    Dependents dependents(nullptr);
    return gate_of(desk.tables, dependents, *row());
  }
  template <class Request>
  Error refusal(Request request) {
    try {
      decide(desk.tables, request, desk.context());
    } catch (const Error& error) {
      return error;
    }
    return {Code::internal, "it was done"};
  }

  Desk desk;
  std::string id;
};

TEST_F(Sleep, GivesItsRoomToOthersOnceItSleepsAndNotBefore) {
  desk.register_job(machine("other"));
  EXPECT_TRUE(desk.live("other").empty()) << "there is no room";
  desk.run(SleepAllocation{id});
  EXPECT_TRUE(desk.live("other").empty()) << "it is only on its way";
  const auto now = gate();
  EXPECT_FALSE(now.start);
  EXPECT_TRUE(now.pause && now.suspend);
  EXPECT_EQ(now.waiting_for, "being woken");
  told(true);
  EXPECT_EQ(desk.live("other").size(), 1u);
  EXPECT_EQ(row()->client_status, ClientStatus::running);
  EXPECT_TRUE(row()->sleeps());
  EXPECT_EQ(desk.live("vm").size(), 1u) << "nothing takes its place";
}

TEST_F(Sleep, IsWokenWhereThereIsRoom) {
  desk.run(SleepAllocation{id});
  told(true);
  desk.register_job(machine("other"));
  const auto lacks = refusal(WakeAllocation{id});
  EXPECT_EQ(lacks.code(), Code::exhausted);
  EXPECT_THAT(lacks.text(), HasSubstr("it needs 600 MiB of memory, and c1 has 424 free"));
  EXPECT_TRUE(row()->sleeps());

  desk.run(DeregisterJob{.ns = "default", .id = "other"});
  desk.run(WakeAllocation{id});
  EXPECT_FALSE(row()->sleep->wanted);
  EXPECT_TRUE(gate().start);
  desk.register_job(machine("other"));
  EXPECT_TRUE(desk.live("other").empty()) << "the room is its own before it runs";
}

TEST_F(Sleep, IsWokenOnTheWayWithoutAskingForRoom) {
  desk.run(SleepAllocation{id});
  const auto first = row()->sleep->since;
  desk.run(WakeAllocation{id});
  EXPECT_GT(row()->sleep->since, first);
  told(true, "", first);
  EXPECT_FALSE(row()->sleep->asleep) << "that was said of an earlier wish";
  desk.run(SleepAllocation{id});
  told(false, "the disk is full", first);
  EXPECT_TRUE(row()->sleep->wanted);
}

TEST_F(Sleep, IsGivenUpWithTheReasonWhenItCannotBe) {
  desk.run(SleepAllocation{id});
  const auto ordered = row()->alloc_modify_index;
  told(false, "the disk is full");
  EXPECT_FALSE(row()->sleep->wanted);
  EXPECT_EQ(row()->sleep->trouble, "the disk is full");
  EXPECT_GT(row()->alloc_modify_index, ordered) << "its node has to hear of it";
  EXPECT_TRUE(gate().start);
  desk.run(SleepAllocation{id});
  EXPECT_EQ(row()->sleep->trouble, "");
}

TEST_F(Sleep, IsAskedForOnce) {
  desk.run(WakeAllocation{id});
  EXPECT_FALSE(row()->sleep);
  desk.run(SleepAllocation{id});
  const auto since = row()->sleep->since;
  desk.run(SleepAllocation{id});
  EXPECT_EQ(row()->sleep->since, since);
}

TEST_F(Sleep, IsForMachinesThatRun) {
  EXPECT_EQ(refusal(SleepAllocation{uuid(7)}).code(), Code::not_found);
  EXPECT_EQ(refusal(WakeAllocation{uuid(7)}).code(), Code::not_found);

  auto plain = make_job("plain");
  plain.groups[0].tasks[0].resources.memory_mb = 100;
  desk.register_job(plain);
  const auto other = desk.only("plain")->id;
  EXPECT_THAT(refusal(SleepAllocation{other}).text(), HasSubstr("it is pending"));
  desk.update(uuid(1), {report(other, ClientStatus::running)});
  const auto unsupported = refusal(SleepAllocation{other});
  EXPECT_EQ(unsupported.code(), Code::unsupported);
  EXPECT_THAT(unsupported.text(), HasSubstr("its task 't' has the driver 'raw_exec': only virtual machines can"));

  desk.run(DeregisterJob{.ns = "default", .id = "vm"});
  EXPECT_THAT(refusal(SleepAllocation{id}).text(), HasSubstr("it is not wanted any more"));
}

}  // namespace
}  // namespace underway::server
