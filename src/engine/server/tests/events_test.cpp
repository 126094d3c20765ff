#include "server/events.hpp"

#include <gtest/gtest.h>

#include "acl/login.hpp"
#include "server/testing/desk.hpp"
#include "tables/host_volumes.hpp"
#include "tables/node_pools.hpp"

namespace underway::server::testing {
namespace {

using model::ClientStatus;

/// A desk whose changes are told.
struct Told : Desk {
  explicit Told(std::size_t most = 1000) : events(tables, clock, most) { tables.follow(&events); }

  template <class Action>
  std::vector<Event> after(Action action) {
    auto reader = events.read_from(events.newest() + 1);
    action();
    events.publish();
    std::vector<Event> out;
    while (const auto batch = reader.next()) out.insert(out.end(), batch->events.begin(), batch->events.end());
    return out;
  }
  static std::vector<std::string> words(const std::vector<Event>& events) {
    std::vector<std::string> out;
    for (const auto& event : events) out.push_back(fmt::format("{} {}", describe::spell(event.topic), event.type));
    return out;
  }

  EventBuffer events;
};

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(Events, TellWhatHappensInNomadsWords) {
  Told told;
  EXPECT_EQ(Told::words(told.after([&] { told.join(make_node(1)); })).front(), "Node NodeRegistration");
  const auto registered = told.after([&] { told.register_job(make_job("web")); });
  const auto words = Told::words(registered);
  EXPECT_TRUE(has(words, "Job JobRegistered"));
  EXPECT_TRUE(has(words, "Evaluation EvaluationUpdated"));
  EXPECT_TRUE(has(words, "Allocation PlanResult"));
  EXPECT_TRUE(has(words, "Job PlanResult")) << "it runs: no word of ours, which clients with a list of words refuse";
  const auto id = told.only("web")->id;
  const auto ran = told.after([&] { told.update(uuid(1), {report(id, ClientStatus::running, true)}); });
  EXPECT_EQ(Told::words(ran).front(), "Allocation AllocationUpdated");
  EXPECT_EQ(key_of(ran.front()), id);
  EXPECT_EQ(filter_keys_of(ran.front()).front(), "web");
  EXPECT_EQ(namespace_of(ran.front()), "default");
  const auto stopped = told.after([&] { told.run(DeregisterJob{"default", "web", true}); });
  EXPECT_TRUE(has(Told::words(stopped), "Job JobDeregistered"));
  EXPECT_TRUE(has(Told::words(stopped), "Allocation PlanResult"));
  const auto down = told.after([&] { told.down({uuid(1)}); });
  const auto node = std::find_if(down.begin(), down.end(), [](const auto& e) { return e.topic == EventTopic::node; });
  ASSERT_NE(node, down.end());
  EXPECT_EQ(node->type, "NodeEvent");
  EXPECT_EQ(namespace_of(*node), "");
  EXPECT_EQ(key_of(*node), uuid(1));
  const auto eligibility = told.after([&] { told.run(SetEligibility{uuid(1), model::Eligibility::ineligible}); });
  EXPECT_EQ(Told::words(eligibility).front(), "Node NodeEligibility");
}

TEST(Events, TellOfServicesWhenTheyComeAndGo) {
  Told told;
  told.join(make_node(1));
  model::Job job = make_job("web");
  model::Service service;
  service.name = "page";
  job.groups[0].services.push_back(service);
  told.register_job(job);
  const auto id = told.only("web")->id;
  auto running = report(id, ClientStatus::running, true);
  const auto came = told.after([&] { told.update(uuid(1), {running}); });
  ASSERT_TRUE(has(Told::words(came), "Service ServiceRegistration"));
  running.task_states["t"].restarts = 0;
  running.health.description = "another word";
  const auto same = Told::words(told.after([&] { told.update(uuid(1), {running}); }));
  EXPECT_FALSE(has(same, "Service ServiceRegistration")) << "nothing about the service has changed";
  const auto gone = told.after([&] { told.update(uuid(1), {report(id, ClientStatus::complete)}); });
  EXPECT_TRUE(has(Told::words(gone), "Service ServiceDeregistration"));
}

TEST(Events, OfDeploymentsTellWhatChanged) {
  Told told;
  told.join(make_node(1));
  model::Job job = make_job("web");
  job.update.emplace();
  EXPECT_TRUE(has(Told::words(told.after([&] { told.register_job(job); })), "Deployment PlanResult"));
  const auto id = told.only("web")->id;
  const auto words = Told::words(told.after([&] { told.update(uuid(1), {report(id, ClientStatus::running, true)}); }));
  EXPECT_TRUE(has(words, "Deployment DeploymentAllocHealth") || has(words, "Deployment DeploymentStatusUpdate"));
  EXPECT_TRUE(has(words, "Deployment DeploymentStatusUpdate")) << "it is successful now";
}

TEST(Events, TellOfVolumesAndPools) {
  Told told;
  model::HostVolume volume;
  volume.ns = "physics";
  volume.id = uuid(7);
  volume.name = "data";
  volume.node_id = uuid(1);
  volume.plugin_id = model::kMkdirPlugin;
  const auto made = told.after([&] { told.commit({tables::put_record(volume)}); });
  EXPECT_EQ(Told::words(made), std::vector<std::string>{"HostVolume HostVolumeRegistered"});
  EXPECT_EQ(key_of(made[0]), uuid(7));
  EXPECT_EQ(namespace_of(made[0]), "physics");
  EXPECT_EQ(filter_keys_of(made[0]), (std::vector<std::string>{"data", uuid(1), "mkdir"}));
  EXPECT_EQ(std::get<Row<model::HostVolume>>(made[0].row)->modify_index, made[0].index);
  const auto gone = told.after([&] { told.commit({tables::delete_record<model::HostVolume>(uuid(7))}); });
  EXPECT_EQ(Told::words(gone), std::vector<std::string>{"HostVolume HostVolumeDeleted"});
  EXPECT_EQ(std::get<Row<model::HostVolume>>(gone[0].row)->name, "data") << "as it last was";

  model::NodePool pool;
  pool.name = "gpu";
  const auto pools = told.after([&] {
    told.commit({tables::put_record(pool)});
    told.commit({tables::delete_record<model::NodePool>("gpu")});
  });
  EXPECT_EQ(Told::words(pools), (std::vector<std::string>{"NodePool NodePoolUpserted", "NodePool NodePoolDeleted"}));
  EXPECT_EQ(key_of(pools[0]), "gpu");
  model::HostVolumeClaim claim;
  claim.id = "c";
  EXPECT_TRUE(told.after([&] { told.commit({tables::put_record(claim)}); }).empty()) << "no topic of Nomad's";
}

TEST(Events, TellWhoMayDoWhat) {
  Told told;
  model::AuthMethod method;
  method.name = "site";
  model::BindingRule rule;
  rule.id = uuid(3);
  rule.auth_method = "site";
  const auto events = told.after([&] {
    told.commit({tables::PutAclPolicy{{"readers", "", "", std::nullopt, 0, 0}}});
    told.commit({tables::Put<model::AclRole>{{uuid(2), "staff", "", {}, 0, 0}}});
    told.commit({tables::PutAclToken{{.accessor_id = uuid(1)}}});
    told.commit({tables::put_record(method), tables::put_record(rule)});
    told.commit({tables::DeleteAclToken{uuid(1)}});
  });
  EXPECT_EQ(Told::words(events),
            (std::vector<std::string>{"ACLPolicy ACLPolicyUpserted", "ACLRole ACLRoleUpserted",
                                      "ACLToken ACLTokenUpserted", "ACLAuthMethod ACLAuthMethodUpserted",
                                      "ACLBindingRule ACLBindingRuleUpserted", "ACLToken ACLTokenDeleted"}));
  std::vector<std::string> keys;
  for (const auto& event : events) keys.push_back(key_of(event));
  EXPECT_EQ(keys, (std::vector<std::string>{"readers", uuid(2), uuid(1), "site", uuid(3), uuid(1)}));
  EXPECT_EQ(filter_keys_of(events[1]), std::vector<std::string>{"staff"});
  EXPECT_EQ(filter_keys_of(events[4]), std::vector<std::string>{"site"});
}

TEST(Events, OfARecordThatCannotBeReadAreNotTold) {
  Told told;
  model::Record record;
  record.kind = tables::RecordOf<model::HostVolume>::kind;
  record.name = uuid(7);
  record.body = json::parse(R"({"ID": "x", "State": "of-a-later-version"})");
  EXPECT_TRUE(told.after([&] { told.commit({tables::PutRecord{record}}); }).empty());
}

TEST(Events, AreNotTellableBeforeTheyAreDurable) {
  Told told;
  auto reader = told.events.read_from(0);
  told.tables.apply({tables::PutNode{make_node(1)}}, told.store.revision() + 1);
  EXPECT_EQ(reader.next(), nullptr);
  told.tables.load(told.store);  // the commit failed
  told.events.publish();
  EXPECT_EQ(reader.next(), nullptr) << "what was never durable is never told";
}

TEST(Events, AreReplayedFromAnIndex) {
  Told told;
  for (int i = 1; i <= 5; ++i) {
    told.commit({tables::PutNode{make_node(i)}});
    told.events.publish();
  }
  const auto index = told.tables.find_node(uuid(3))->modify_index;
  auto reader = told.events.read_from(index);
  EXPECT_EQ(key_of(reader.next()->events.front()), uuid(3)) << "the index itself is among them";
  EXPECT_EQ(key_of(reader.next()->events.front()), uuid(4));
  EXPECT_EQ(key_of(told.events.read_from(0).next()->events.front()), uuid(1));
  EXPECT_EQ(told.events.read_from(index + 100).next(), nullptr);
  EXPECT_EQ(told.events.complete_from(), 1);
}

TEST(Events, AreForgottenAndASlowReaderIsToldSo) {
  Told told(3);
  auto slow = told.events.read_from(0);
  for (int i = 1; i <= 10; ++i) {
    told.commit({tables::PutNode{make_node(i)}});
    told.events.publish();
    if (i == 1) slow.next();
  }
  const auto oldest = told.tables.find_node(uuid(8))->modify_index;
  EXPECT_EQ(told.events.complete_from(), oldest);
  EXPECT_EQ(told.events.read_from(0).next()->index, oldest) << "the next that is there";
  try {
    slow.next();
    FAIL() << "it has missed events";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::exhausted);
    EXPECT_NE(error.one_line().find(fmt::format("is of index {}", oldest)), std::string::npos) << error.one_line();
  }
}

TEST(Events, OfOneCommitAreKeptTogetherHoweverManyTheyAre) {
  Told told(3);
  std::vector<Change> many;
  for (int i = 1; i <= 50; ++i) many.push_back(tables::PutNode{make_node(i)});
  auto reader = told.events.read_from(0);
  told.commit(std::move(many));
  told.events.publish();
  EXPECT_EQ(reader.next()->events.size(), 50u);
  told.commit({tables::PutNode{make_node(51)}});
  told.events.publish();
  EXPECT_EQ(told.events.read_from(0).next()->events.size(), 1u);
}

TEST(Events, BeginAnewWhenTheTablesAreLoadedFromAStoreThatHasMovedOn) {
  Told told;
  told.commit({tables::PutNode{make_node(1)}});
  told.events.publish();
  auto reader = told.events.read_from(0);
  reader.next();
  store::Transaction elsewhere;  // as a restarted server finds it
  elsewhere.then.emplace_back(store::Put{"x/elsewhere", "1"});
  told.store.commit(std::move(elsewhere), [](const auto&) {});
  told.store.step();
  told.tables.load(told.store);
  EXPECT_EQ(told.events.complete_from(), told.store.revision() + 1);
  EXPECT_THROW(reader.next(), Error);
  EXPECT_EQ(told.events.read_from(0).next(), nullptr) << "rows that were read are no news";
}

}  // namespace
}  // namespace underway::server::testing
