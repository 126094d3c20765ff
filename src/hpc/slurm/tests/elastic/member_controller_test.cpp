// What the loop of nodes that come and go reads in the tables, and writes there.
#include "slurm/elastic/member_controller.hpp"

#include <gmock/gmock.h>

#include "server/testing/desk.hpp"
#include "tables/file_reports.hpp"
#include "tables/slurm_members.hpp"

namespace underway::slurm {
namespace {

using model::SlurmMember;
using model::SlurmMembership;
using server::testing::Desk;
using server::testing::make_job;
using server::testing::make_node;
using server::testing::report;
using server::testing::uuid;
using testing::ElementsAre;
using testing::IsEmpty;

model::Host host_row(const std::string& name, model::HostStatus status = model::HostStatus::running) {
  model::Host out;
  out.name = name;
  out.cluster = "demo";
  out.pool = "burst";
  out.status = status;
  return out;
}
std::optional<SlurmMember> row(const Desk& desk, const std::string& name) {
  return tables::find_record<SlurmMember>(desk.tables, "demo/" + name);
}

TEST(SlurmMembers, AreWrittenDownOfHostsThatExistAndOnlyWhatIsNew) {
  Desk desk;
  desk.commit({tables::PutHost{host_row("b1")}, tables::PutHost{host_row("b2", model::HostStatus::stopping)}});
  const SlurmMember waits{.cluster = "demo", .host = "b1", .description = "its agent has not joined"};
  NoteMembers note{"demo", {waits, waits, waits}, {}};
  note.members[1].host = "b2";
  note.members[2].host = "b3";
  desk.run(note);
  ASSERT_TRUE(row(desk, "b1"));
  EXPECT_EQ(row(desk, "b1")->updated_at, unix_nanos(desk.clock.now()));
  EXPECT_FALSE(row(desk, "b2")) << "Slurm has not heard of it, and will not";
  EXPECT_FALSE(row(desk, "b3"));
  const auto before = desk.store.revision();
  desk.run(note);
  EXPECT_EQ(desk.store.revision(), before);
  // One that has a row goes on having it.
  desk.commit({tables::PutHost{host_row("b1", model::HostStatus::stopping)}});
  note.members[0].status = SlurmMembership::released;
  desk.run(note);
  EXPECT_EQ(row(desk, "b1")->status, SlurmMembership::released);
  desk.run(NoteMembers{"demo", {}, {"b1"}});
  EXPECT_FALSE(row(desk, "b1"));
}

TEST(SlurmMembers, AreLookedAfterByTheSlurmctldOfTheirCluster) {
  Desk desk;
  desk.join(make_node(1));
  EXPECT_FALSE(controller_of(desk.tables, "demo").declared);
  auto job = make_job("batch-system");
  job.groups[0].tasks[0].name = "slurmctld";
  desk.register_job(job);
  job = *desk.tables.find_job("default", "batch-system");
  job.cluster = "demo";  // as the directory of a cluster has it
  desk.commit({tables::PutJob{job, std::nullopt}});
  auto found = controller_of(desk.tables, "demo");
  EXPECT_TRUE(found.declared);
  EXPECT_FALSE(found.place) << "it does not run yet";
  auto update = report(desk.only("batch-system")->id, model::ClientStatus::running);
  update.task_states = {{"slurmctld", {}}};
  desk.update(uuid(1), {update});
  found = controller_of(desk.tables, "demo");
  ASSERT_TRUE(found.place);
  EXPECT_EQ(found.place->task, "slurmctld");
  EXPECT_FALSE(controller_of(desk.tables, "other").declared);
}

TEST(SlurmMembers, AreNotReadyWhileFilesOrChecksAreNot) {
  Desk desk;
  desk.join(make_node(1));
  EXPECT_THAT(reasons_in_tables(desk.tables, uuid(1)), IsEmpty());
  model::FileReport files{.node_id = uuid(1), .node = "c1", .refused = "its key is not believed"};
  files.problems.push_back({"/etc/slurm/gres.conf", model::FileState::drifted, "somebody changed it"});
  auto of_capsule = files;
  of_capsule.capsule = "slurm";
  auto of_other = files;
  of_other.node_id = uuid(2);
  desk.commit({tables::put_record(files), tables::put_record(of_capsule), tables::put_record(of_other)});

  auto job = make_job("health", 1, model::JobType::system);
  model::Service service;
  service.name = "gpu";
  service.checks.push_back({.name = "gpu",
                            .type = "script",
                            .interval = std::chrono::seconds(10),
                            .timeout = std::chrono::seconds(5),
                            .command = "/usr/bin/nvidia-smi",
                            .task = "t"});
  job.groups[0].tasks[0].services = {service};
  auto unchecked = make_job("munge", 1, model::JobType::system);
  auto slurmd = job;
  slurmd.id = "slurmd";
  slurmd.groups[0].tasks[0].name = "slurmd";
  slurmd.groups[0].tasks[0].services[0].checks[0].task = "slurmd";
  for (const auto& one : {job, unchecked, slurmd}) desk.register_job(one);
  for (const auto& id : {"health", "munge"})
    desk.update(uuid(1), {report(desk.only(id)->id, model::ClientStatus::running)});
  auto of_slurmd = report(desk.only("slurmd")->id, model::ClientStatus::running);
  of_slurmd.task_states = {{"slurmd", {}}};
  desk.update(uuid(1), {of_slurmd});
  EXPECT_THAT(reasons_in_tables(desk.tables, uuid(1)),
              ElementsAre("its files are not the newest: its key is not believed",
                          "/etc/slurm/gres.conf: somebody changed it", "the checks of 'health' do not pass"));
  desk.update(uuid(1), {report(desk.only("health")->id, model::ClientStatus::running, true)});
  files.refused.clear();
  files.problems.clear();
  desk.commit({tables::put_record(files)});
  EXPECT_THAT(reasons_in_tables(desk.tables, uuid(1)), IsEmpty());
}

}  // namespace
}  // namespace underway::slurm
