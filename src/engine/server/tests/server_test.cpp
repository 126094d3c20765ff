#include "server/server.hpp"

#include "server/testing/desk.hpp"
#include "server/testing/fake_node.hpp"

namespace underway::server::testing {
namespace {

using async::awaitable;
using model::ClientStatus;
using model::NodeStatus;

/// A server with nodes whose links are in memory.
class ServerTest : public ::testing::Test {
 protected:
  ServerTest() { start(); }
  ~ServerTest() override { stop(); }

  static Options quick() {
    Options options;
    options.root_by_raw_exec = true;
    options.heartbeat_ttl = std::chrono::milliseconds(80);
    options.heartbeat_grace = std::chrono::milliseconds(80);
    options.start_grace = std::chrono::milliseconds(150);
    options.link_patience = std::chrono::milliseconds(50);
    options.collect_every = std::chrono::hours(1);
    return options;
  }
  void start(Options options = quick()) {
    server = std::make_unique<Server>(loop.executor(), store, clock, ids, options);
    server->start();
  }
  void stop() {
    for (auto& [number, node] : nodes) loop.run_until_done(node->stop());
    nodes.clear();
    loop.run_until_done(server->stop());
    loop.context().restart();
    loop.context().poll();
    server.reset();
  }
  FakeNode& add(int number, model::Node node, std::string secret = "secret") {
    auto& slot = nodes[number];
    slot = std::make_unique<FakeNode>(loop.executor(), *server, std::move(node), std::move(secret));
    return *slot;
  }
  FakeNode& join(int number) {
    FakeNode& node = add(number, make_node(number));
    loop.run_until_done(node.join());
    return node;
  }
  Registered run(model::Job job) {
    RegisterJob request{std::move(job), {}, {}};
    return loop.run_until_done(server->apply(std::move(request)));
  }
  AppliedCluster apply_cluster(const ApplyCluster& request) {
    auto completed = loop.run_until_done(server->completed(request));
    return loop.run_until_done(server->apply(std::move(completed)));
  }
  const Tables& tables() const { return const_cast<Server&>(*server).writer().tables(); }
  std::vector<tables::Row<model::Allocation>> live(const std::string& job) const {
    auto rows = tables().allocations_of_job("default", job);
    std::erase_if(rows, [](const auto& row) { return row->terminal(); });
    return rows;
  }
  bool healthy(const std::string& job, std::size_t count = 1) const {
    const auto rows = live(job);
    return rows.size() == count && std::all_of(rows.begin(), rows.end(), [](const auto& r) { return r->is_ready(); });
  }
  template <class Condition>
  void until(Condition condition) {
    run_until(loop, condition);
  }
  template <class Call>
  Error refusal(Call call) {
    try {
      call();
    } catch (const Error& error) {
      return error;
    }
    return Error(Code::internal, "nothing was refused");
  }

  async::Loop loop;
  store::MemoryStore store;
  SystemClock clock;
  SeededIds ids{5};
  std::unique_ptr<Server> server;
  std::map<int, std::unique_ptr<FakeNode>> nodes;
};

TEST_F(ServerTest, PlacesAJobOnALinkedNodeAndHearsThatItIsHealthy) {
  FakeNode& node = join(1);
  EXPECT_EQ(node.registered.node_id, node.id());
  EXPECT_EQ(node.registered.heartbeat_ttl, quick().heartbeat_ttl);
  run(make_job("web", 2));
  until([&] { return healthy("web", 2); });
  EXPECT_EQ(node.orders.size(), 2u);
  EXPECT_TRUE(node.jobs.contains("default/web@0"));
  EXPECT_TRUE(server->linked(node.id()));
}

TEST_F(ServerTest, StartsADependentWhenItsDependencyIsHealthy) {
  FakeNode& node = join(1);
  node.obedient = false;
  run(make_job("munge"));
  run(depending_on(make_job("slurmctld"), "munge"));
  until([&] { return node.orders.size() == 2; });
  const auto munge = live("munge").front()->id, slurmctld = live("slurmctld").front()->id;
  EXPECT_TRUE(node.orders.at(munge).start);
  EXPECT_FALSE(node.orders.at(slurmctld).start);
  EXPECT_EQ(node.orders.at(slurmctld).waiting_for, "'munge' to be healthy");
  loop.run_until_done(node.tell({report(munge, ClientStatus::running, true)}));
  until([&] { return node.orders.at(slurmctld).start; });
}

TEST_F(ServerTest, StartsADependentOnAnotherNodeToo) {
  FakeNode& first = join(1);
  first.obedient = false;
  run(make_job("munge"));
  until([&] { return first.orders.size() == 1; });
  loop.run_until_done(server->apply(SetEligibility{uuid(1), model::Eligibility::ineligible}));
  FakeNode& second = join(2);
  run(depending_on(make_job("slurmctld"), "munge"));
  until([&] { return second.orders.size() == 1; });
  EXPECT_FALSE(second.orders.begin()->second.start);
  loop.run_until_done(first.tell({report(live("munge").front()->id, ClientStatus::running, true)}));
  until([&] { return second.orders.begin()->second.start; });
}

TEST_F(ServerTest, StopsTheOldBeforeItStartsTheNewInItsPlace) {
  FakeNode& node = join(1);
  run(make_job("web"));
  until([&] { return healthy("web"); });
  const auto old = live("web").front()->id;
  node.obedient = false;
  model::Job changed = make_job("web");
  changed.groups[0].tasks[0].env["A"] = "b";
  run(changed);
  until([&] { return node.orders.size() == 2; });
  const auto fresh = live("web").front()->id;
  EXPECT_EQ(node.orders.at(old).allocation.desired_status, model::DesiredStatus::stop);
  EXPECT_FALSE(node.orders.at(fresh).start);
  EXPECT_EQ(node.orders.at(fresh).waiting_for, "allocation " + old.substr(0, 8) + " to stop");
  loop.run_until_done(node.tell({report(old, ClientStatus::complete)}));
  until([&] { return node.orders.at(fresh).start; });
}

TEST_F(ServerTest, MarksANodeDownThatFallsSilentAndMovesItsWork) {
  FakeNode& first = join(1);
  model::Job job = make_job("web");
  job.groups[0].disconnect.emplace();  // says nothing: it is lost with its node
  run(job);
  until([&] { return healthy("web"); });
  join(2);
  first.silent = true;  // the connection stands: a half-open link
  until([&] { return tables().find_node(uuid(1))->status == NodeStatus::down; });
  until([&] { return healthy("web"); });
  EXPECT_EQ(live("web").front()->node_id, uuid(2));
  EXPECT_FALSE(server->linked(uuid(1)));
  EXPECT_EQ(tables().find_node(uuid(1))->status_description, "no heartbeat was heard in time");
}

TEST_F(ServerTest, ANodeThatComesBackInTimeLosesNothing) {
  FakeNode& node = join(1);
  run(make_job("web"));
  until([&] { return healthy("web"); });
  const auto id = live("web").front()->id;
  node.cut();
  until([&] { return !server->linked(uuid(1)); });
  loop.run_until_done(node.join());
  until([&] { return node.received.size() == 2 || node.received.back().full; });
  EXPECT_TRUE(node.received.back().full);
  EXPECT_EQ(live("web").front()->id, id);
  EXPECT_EQ(tables().find_node(uuid(1))->status, NodeStatus::ready);
}

TEST_F(ServerTest, ASilentNodeIsDisconnectedAndGoesOnWhereItWas) {
  FakeNode& node = join(1);
  run(make_job("web"));
  until([&] { return healthy("web"); });
  const auto id = live("web").front()->id;
  node.cut();
  until([&] { return tables().find_node(uuid(1))->status == NodeStatus::disconnected; });
  until([&] { return live("web").front()->client_status == ClientStatus::unknown; });
  node.running = {report(id, ClientStatus::running, true)};
  loop.run_until_done(node.join());
  until([&] { return healthy("web"); });
  EXPECT_EQ(live("web").front()->id, id);
  EXPECT_EQ(live("web").front()->unknown_since, 0);
}

TEST_F(ServerTest, DrainsANodeByItselfUntilItIsEmpty) {
  join(1);
  run(make_job("web", 2));
  until([&] { return healthy("web", 2); });
  join(2);
  DrainNode drain;
  drain.node_id = uuid(1);
  drain.drain.emplace();
  loop.run_until_done(server->apply(drain));
  until([&] { return !tables().find_node(uuid(1))->drain; });
  EXPECT_EQ(tables().find_node(uuid(1))->last_drain->status, model::DrainStatus::complete);
  until([&] { return healthy("web", 2); });
  for (const auto& row : live("web")) EXPECT_EQ(row->node_id, uuid(2));
}

TEST_F(ServerTest, EndsADrainAtItsDeadlineThoughNothingElseHappens) {
  join(1);
  run(make_job("web"));
  until([&] { return healthy("web"); });
  DrainNode drain;
  drain.node_id = uuid(1);
  drain.drain.emplace().deadline = std::chrono::seconds(3);
  loop.run_until_done(server->apply(drain));
  until([&] { return !live("web").empty() && live("web").front()->transition.migrate; });
  EXPECT_TRUE(healthy("web")) << "it has no other place, and time";
  until([&] { return !tables().find_node(uuid(1))->drain; });
  EXPECT_TRUE(live("web").empty());
}

TEST_F(ServerTest, ANewLinkReplacesTheOldOneAndIsToldEverything) {
  FakeNode& node = join(1);
  run(make_job("web"));
  until([&] { return healthy("web"); });
  const auto old = node.connection;
  const auto before = node.received.size();
  loop.run_until_done(node.join());  // the old one was not known to be dead
  until([&] { return !old->is_open(); });
  until([&] { return node.received.size() > before; });
  EXPECT_TRUE(node.received.back().full);
  EXPECT_EQ(node.received.back().set.size(), 1u);
  EXPECT_TRUE(server->linked(uuid(1)));
  run(make_job("other"));
  until([&] { return healthy("other"); });
  EXPECT_FALSE(node.received.back().full);
}

TEST_F(ServerTest, RefusesANodeWithAnotherSecret) {
  join(1);
  FakeNode& impostor = add(2, make_node(1), "stolen");
  const auto error = refusal([&] { loop.run_until_done(impostor.join()); });
  EXPECT_EQ(error.code(), Code::denied);
  EXPECT_TRUE(server->linked(uuid(1)));
  EXPECT_TRUE(nodes[1]->connection->is_open());
}

TEST_F(ServerTest, RefusesALinkThatTurnsIntoAnotherNode) {
  FakeNode& node = join(1);
  node.node() = make_node(2);
  EXPECT_EQ(refusal([&] { loop.run_until_done(node.register_again()); }).code(), Code::denied);
  EXPECT_FALSE(tables().find_node(uuid(2)));
}

TEST_F(ServerTest, RefusesReportsOfWhoHasNotRegistered) {
  const auto [mine, theirs] = link::FakeSocket::pair();
  const auto connection = link::Connection::make(loop.executor(), mine, link::Side::dialler, {});
  async::TaskGroup tasks(loop.executor(), "test");
  auto run_link = [](std::shared_ptr<link::Connection> c) -> awaitable<void> {
    try {
      co_await c->run();
    } catch (const Error&) {  // the link ends with the test
    }
  };
  tasks.spawn("mine", run_link(connection));
  tasks.spawn("theirs", server->serve_link(theirs));
  EXPECT_EQ(refusal([&] { loop.run_until_done(connection->call("update", boost::json::object{})); }).code(),
            Code::unavailable)
      << "he is to ask again when he has";
  connection->abort();
  loop.run_until_done(tasks.wait());
}

TEST_F(ServerTest, TakesFreshFingerprintsOverTheSameLink) {
  FakeNode& node = join(1);
  node.node().attributes["gpu"] = "yes";
  loop.run_until_done(node.register_again());
  EXPECT_EQ(tables().find_node(uuid(1))->attributes.at("gpu"), "yes");
  EXPECT_TRUE(node.connection->is_open());
}

TEST_F(ServerTest, HasANodeRegisterAgainThatWasDeclaredDownWhileItLinked) {
  FakeNode& node = join(1);
  loop.run_until_done(server->apply(MarkNodesDown{{uuid(1)}, "race"}));
  until([&] { return !node.connection->is_open(); });
  loop.run_until_done(node.join());
  EXPECT_EQ(tables().find_node(uuid(1))->status, NodeStatus::ready);
}

TEST_F(ServerTest, AsksANodeAndOpensStreamsToIt) {
  FakeNode& node = join(1);
  node.answers["fs.ls"] = [](const boost::json::value& body) {
    return boost::json::value(boost::json::array{body.at("Path")});
  };
  node.streams["logs"] = [](boost::json::value, std::shared_ptr<link::Stream> stream) -> awaitable<void> {
    co_await stream->write("line\n");
    stream->end();
  };
  auto body = boost::json::value(boost::json::object{{"Path", "/x"}});
  EXPECT_EQ(loop.run_until_done(server->call_node(uuid(1), "fs.ls", body)).at(0).as_string(), "/x");
  auto read = [](Server& s) -> awaitable<std::string> {
    const auto stream = co_await s.open_stream(uuid(1), "logs", boost::json::object{});
    const auto chunk = co_await stream->read();
    co_return chunk ? chunk->bytes : "";
  };
  EXPECT_EQ(loop.run_until_done(read(*server)), "line\n");
}

TEST_F(ServerTest, SaysWhyANodeCannotBeAsked) {
  auto ask = [&](const std::string& id) {
    return refusal([&] { loop.run_until_done(server->call_node(id, "fs.ls", boost::json::object{})); });
  };
  EXPECT_EQ(ask(uuid(9)).code(), Code::not_found);
  FakeNode& node = join(1);
  node.cut();
  until([&] { return !server->linked(uuid(1)); });
  const auto error = ask(uuid(1));
  EXPECT_EQ(error.code(), Code::unavailable);
  EXPECT_EQ(error.message(), "node 'c1' is not linked");
}

TEST_F(ServerTest, WaitsForTheLinkOfAReadyNodeThatIsAsked) {
  stop();
  Options patient = quick();
  patient.heartbeat_ttl = patient.link_patience = std::chrono::seconds(30);
  start(patient);
  FakeNode& node = join(1);
  node.answers["fs.ls"] = [](const boost::json::value&) { return boost::json::value("files"); };
  node.cut();
  until([&] { return !server->linked(uuid(1)); });
  std::string answer;
  auto ask = [](Server& s, std::string& out) -> awaitable<void> {
    auto body = boost::json::value(boost::json::object{});
    const auto value = co_await s.call_node(uuid(1), "fs.ls", std::move(body));
    out = std::string(value.as_string());
  };
  async::TaskGroup asking(loop.executor(), "asking");
  asking.spawn("ask", ask(*server, answer));
  loop.run_until_done(node.join());
  until([&] { return !answer.empty(); });
  EXPECT_EQ(answer, "files");
  loop.run_until_done(asking.stop());
}

TEST_F(ServerTest, AppliesNothingOfAClusterWithOneBadJob) {
  ApplyCluster request;
  request.cluster.name = "hpc";
  request.cluster.networks.push_back({"management", "10.77.0.0/24", false});
  request.cluster.pools.resize(1);
  request.cluster.pools[0].name = "compute";
  request.jobs.push_back({make_job("good"), {}, {}});
  request.jobs.push_back({make_job("bad"), {}, {}});
  request.jobs[1].job.groups.clear();
  const auto revision = store.revision();
  EXPECT_EQ(refusal([&] { apply_cluster(request); }).code(), Code::invalid);
  EXPECT_EQ(store.revision(), revision);
  request.jobs[1].job = make_job("bad");
  EXPECT_EQ(apply_cluster(request).registered.size(), 2u);
  loop.run_until_done(server->apply(StopCluster{"hpc"}));
  EXPECT_TRUE(tables().find_job("default", "good")->stop);
}

TEST_F(ServerTest, StopsAnAllocationAndAJobOnRequest) {
  join(1);
  run(make_job("web"));
  until([&] { return healthy("web"); });
  const auto old = live("web").front()->id;
  const auto eval = loop.run_until_done(server->apply(StopAllocation{old}));
  EXPECT_TRUE(tables().find_evaluation(eval));
  until([&] { return healthy("web") && live("web").front()->id != old; });
  DeregisterJob stop_request{"default", "web", false};
  loop.run_until_done(server->apply(stop_request));
  until([&] { return tables().find_job("default", "web")->status == model::JobStatus::dead; });
  const auto collected = loop.run_until_done(server->apply(Collect{Retention::none()}));
  EXPECT_EQ(collected.jobs, 1);
  EXPECT_EQ(collected.allocations, 2);
  until([&] { return nodes[1]->orders.empty(); });  // and the node is told to forget them
}

TEST_F(ServerTest, PlansWithoutDoing) {
  join(1);
  const auto revision = store.revision();
  const auto plan = loop.run_until_done(server->plan_job(make_job("web", 2)));
  EXPECT_EQ(plan.plan.created.size(), 2u);
  EXPECT_EQ(store.revision(), revision);
}

TEST_F(ServerTest, RestartedFromItsStoreItKnowsEverythingAndWaitsForItsNodes) {
  join(1);
  run(make_job("web"));
  until([&] { return healthy("web"); });
  const auto id = live("web").front()->id;
  stop();
  start();
  EXPECT_EQ(live("web").front()->id, id);
  EXPECT_EQ(tables().find_node(uuid(1))->status, NodeStatus::ready);
  FakeNode& node = join(1);
  until([&] { return !node.received.empty(); });
  EXPECT_TRUE(node.received.front().full);
  EXPECT_EQ(node.received.front().set.size(), 1u);
  EXPECT_TRUE(node.received.front().set.front().start);
}

TEST_F(ServerTest, RestartedItGivesUpNodesThatStayAway) {
  join(1);
  join(2);
  stop();
  start();
  join(2);
  until([&] { return tables().find_node(uuid(1))->status == NodeStatus::down; });
  EXPECT_EQ(tables().find_node(uuid(2))->status, NodeStatus::ready);
}

TEST_F(ServerTest, ACallerThatGoesAwayDoesNotTakeItsRegistrationBack) {
  store.hold();
  async::TaskGroup callers(loop.executor(), "callers");
  auto call = [](Server& s, model::Job job) -> awaitable<void> {
    RegisterJob request{std::move(job), {}, {}};
    co_await s.apply(std::move(request));
  };
  callers.spawn("first", call(*server, make_job("first")));
  until([&] { return store.waiting() == 1; });
  callers.spawn("second", call(*server, make_job("second")));
  loop.context().restart();
  loop.context().poll();
  callers.cancel();
  loop.run_until_done(callers.wait());
  store.release();
  until([&] { return tables().find_job("default", "second") != nullptr; });
}

}  // namespace
}  // namespace underway::server::testing
