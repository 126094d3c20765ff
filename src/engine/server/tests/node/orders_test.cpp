#include "server/node/orders.hpp"

#include "server/access/namespace_decisions.hpp"
#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

using model::ClientStatus;

TEST(Orders, BeginWithEverythingEvenIfThatIsNothing) {
  Desk desk;
  desk.join(make_node(1));
  Orders orders(uuid(1));
  Dependents dependents;
  const auto first = orders.next(desk.tables, dependents);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->full);
  EXPECT_TRUE(first->set.empty());
  EXPECT_FALSE(orders.next(desk.tables, dependents));
}

TEST(Orders, TellDifferencesAndEachJobVersionOnce) {
  Desk desk;
  desk.join(make_node(1));
  Orders orders(uuid(1));
  Dependents dependents;
  orders.next(desk.tables, dependents);
  desk.register_job(make_job("web", 2));
  const auto added = orders.next(desk.tables, dependents);
  ASSERT_TRUE(added);
  EXPECT_FALSE(added->full);
  EXPECT_EQ(added->set.size(), 2u);
  EXPECT_EQ(added->jobs.size(), 1u);
  EXPECT_TRUE(added->jobs.contains("default/web@0"));
  desk.register_job(make_job("web", 3));  // in place: the two are told of their new version
  const auto grown = orders.next(desk.tables, dependents);
  ASSERT_TRUE(grown);
  EXPECT_EQ(grown->set.size(), 3u);
  EXPECT_TRUE(grown->jobs.contains("default/web@1"));
  desk.join(make_node(1));
  EXPECT_FALSE(orders.next(desk.tables, dependents));
}

TEST(Orders, SayNothingOfWhatTheNodeItselfReported) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  Orders orders(uuid(1));
  Dependents dependents;
  orders.next(desk.tables, dependents);
  desk.update(uuid(1), {report(desk.only("web")->id, ClientStatus::running, true)});
  EXPECT_FALSE(orders.next(desk.tables, dependents));
}

TEST(Orders, HoldADependentWhileWhatItNeedsDoesNotWork) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("munge"));
  desk.register_job(depending_on(make_job("slurmctld"), "munge"));
  Orders orders(uuid(1));
  Dependents dependents;
  const auto first = orders.next(desk.tables, dependents);
  const auto waiting = desk.only("slurmctld")->id;
  const auto order_of = [&](const protocol::AllocationsMessage& message) {
    for (const auto& order : message.set) {
      if (order.allocation.id == waiting) return order;
    }
    throw Error(Code::internal, "no order");
  };
  EXPECT_FALSE(order_of(*first).start);
  EXPECT_EQ(order_of(*first).waiting_for, "'munge' to be healthy");
  const auto munge = desk.only("munge")->id;
  desk.update(uuid(1), {report(munge, ClientStatus::running, true)});
  EXPECT_TRUE(order_of(*orders.next(desk.tables, dependents)).start);
  EXPECT_FALSE(orders.next(desk.tables, dependents));
  // Whether or not it has started meanwhile: what ends now is not started again, and what runs is let run.
  desk.update(uuid(1), {report(munge, ClientStatus::running)});
  const auto held = orders.next(desk.tables, dependents);
  ASSERT_TRUE(held);
  EXPECT_FALSE(order_of(*held).start);
  EXPECT_FALSE(order_of(*held).pause);
  EXPECT_EQ(order_of(*held).waiting_for, "'munge' to be healthy");
  EXPECT_FALSE(orders.next(desk.tables, dependents));
  desk.update(uuid(1), {report(munge, ClientStatus::running, true)});
  EXPECT_TRUE(order_of(*orders.next(desk.tables, dependents)).start);
}

TEST(Orders, CarryWhatTheNamespaceGivesAndSaySoWhenThatChanges) {
  Desk desk;
  desk.join(make_node(1));
  model::Namespace ns;
  ns.name = "default";
  ns.host_rights = {"root", "devices"};
  const auto put = [&] { desk.run(PutNamespace{ns}); };
  put();
  desk.register_job(make_job("web"));
  Orders orders(uuid(1));
  Dependents dependents;
  auto message = orders.next(desk.tables, dependents);
  ASSERT_TRUE(message);
  ASSERT_EQ(message->set.size(), 1u);
  EXPECT_EQ(message->set[0].host_rights, (std::vector<std::string>{"root", "devices"}));
  EXPECT_FALSE(orders.next(desk.tables, dependents));
  ns.host_rights.clear();
  put();
  message = orders.next(desk.tables, dependents);
  ASSERT_TRUE(message) << "a right is taken back";
  EXPECT_TRUE(message->set[0].host_rights.empty());
  ns.raw_exec_as_root = true;
  put();
  message = orders.next(desk.tables, dependents);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->set[0].host_rights, std::vector<std::string>{"node"});
  Orders everywhere(uuid(1), true);
  EXPECT_EQ(everywhere.next(desk.tables, dependents)->set.at(0).host_rights, std::vector<std::string>{"node"});
}

TEST(Orders, RemoveWhatTheServerHasForgotten) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto id = desk.only("web")->id;
  Orders orders(uuid(1));
  Dependents dependents;
  orders.next(desk.tables, dependents);
  std::vector<Change> changes;
  changes.push_back(tables::DeleteAllocation{id});
  desk.commit(std::move(changes));
  const auto message = orders.next(desk.tables, dependents);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->remove, std::vector<std::string>{id});
}

TEST(Orders, SendAJobThatWasPurgedAndCameBackAnew) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  Orders orders(uuid(1));
  Dependents dependents;
  orders.next(desk.tables, dependents);
  desk.run(DeregisterJob{"default", "web", true});
  model::Job other = make_job("web");
  other.groups[0].tasks[0].config = boost::json::object{{"command", "/bin/true"}};
  desk.register_job(other);
  ASSERT_EQ(desk.only("web")->job_version, 0);
  const auto message = orders.next(desk.tables, dependents);
  ASSERT_TRUE(message);
  ASSERT_TRUE(message->jobs.contains("default/web@0"));
  EXPECT_EQ(message->jobs.at("default/web@0").groups[0].tasks[0].config.at("command").as_string(), "/bin/true");
}

}  // namespace
}  // namespace underway::server::testing
