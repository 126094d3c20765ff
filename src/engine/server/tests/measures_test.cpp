#include "server/measures.hpp"

#include <gtest/gtest.h>

#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

/// What counting everything gives.
void expect_counted(const Desk& desk, const Measures& measures, const char* when) {
  SCOPED_TRACE(when);
  std::int64_t running = 0, pending = 0, ready = 0;
  std::map<std::string, std::int64_t> groups;
  for (const auto& row : desk.tables.allocations()) {
    running += row->client_status == model::ClientStatus::running ? 1 : 0;
    pending += row->client_status == model::ClientStatus::pending && !row->server_terminal() ? 1 : 0;
    ++groups[Measures::group_key(row->ns, row->job_id, row->group)];
  }
  for (const auto& node : desk.tables.nodes()) ready += node->ready() ? 1 : 0;
  EXPECT_EQ(measures.allocations_running(), running);
  EXPECT_EQ(measures.allocations_pending(), pending);
  EXPECT_EQ(measures.nodes(), static_cast<std::int64_t>(desk.tables.nodes().size()));
  EXPECT_EQ(measures.nodes_ready(), ready);
  EXPECT_EQ(measures.jobs(), static_cast<std::int64_t>(desk.tables.jobs().size()));
  std::map<std::string, std::int64_t> found;
  for (const auto& [key, c] : measures.groups())
    found[key] = c.starting + c.running + c.complete + c.failed + c.lost + c.unknown;
  EXPECT_EQ(found, groups);
}

TEST(Measures, CountAsThingsChangeWhatCountingEverythingWouldGive) {
  Desk desk;
  Measures measures(desk.tables);
  desk.tables.follow(&measures);
  expect_counted(desk, measures, "nothing yet");
  desk.join(make_node(1));
  desk.join(make_node(2));
  desk.register_job(make_job("web", 3));
  desk.register_job(make_job("db", 1));
  expect_counted(desk, measures, "placed");
  EXPECT_EQ(measures.jobs(model::JobStatus::pending) + measures.jobs(model::JobStatus::running), 2);
  const auto rows = desk.tables.allocations_of_job("default", "web");
  ASSERT_EQ(rows.size(), 3U);
  desk.update(rows[0]->node_id, {report(rows[0]->id, model::ClientStatus::running)});
  desk.update(rows[1]->node_id, {report(rows[1]->id, model::ClientStatus::failed)});
  expect_counted(desk, measures, "reported");
  const auto& web = measures.groups().at(Measures::group_key("default", "web", "g"));
  EXPECT_EQ(web.running, 1);
  EXPECT_EQ(web.failed, 1);
  EXPECT_GE(web.starting, 1);

  // As after a commit that failed, or a snapshot that was restored.
  Measures late(desk.tables);
  desk.tables.follow(&late);
  expect_counted(desk, late, "came later");
  EXPECT_EQ(late.jobs(model::JobStatus::running), measures.jobs(model::JobStatus::running));
}

TEST(Measures, ForgetAGroupWithItsLastAllocation) {
  Desk desk;
  Measures measures(desk.tables);
  desk.tables.follow(&measures);
  desk.join(make_node(1));
  desk.register_job(make_job("web", 1));
  ASSERT_EQ(measures.groups().size(), 1U);
  std::vector<tables::Change> changes;
  changes.push_back(tables::DeleteAllocation{desk.only("web")->id});
  desk.tables.apply(std::move(changes), desk.tables.revision() + 1);
  EXPECT_TRUE(measures.groups().empty()) << "or a server that runs batch jobs for years would keep all their names";
}

}  // namespace
}  // namespace underway::server::testing
