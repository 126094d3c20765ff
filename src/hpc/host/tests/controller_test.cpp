#include "host/controller.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "server/testing/desk.hpp"
#include "server/testing/fake_node.hpp"

namespace underway::host {
namespace {

/// Hosts that are made at once; what their agents say is put in their mouths.
class FakeProvider final : public Provider {
 public:
  void prepare(const ClusterSpec&) override {}
  HostInfo create(const HostSpec& host) override {
    const std::scoped_lock lock(mutex_);
    HostInfo info{.cluster = host.cluster, .name = host.name, .status = model::HostStatus::running};
    hosts_.push_back(info);
    ++made_;
    return info;
  }
  bool destroy(const std::string&, const std::string& name) override {
    const std::scoped_lock lock(mutex_);
    return std::erase_if(hosts_, [&](const auto& host) { return host.name == name; }) > 0;
  }
  std::vector<HostInfo> list() override {
    const std::scoped_lock lock(mutex_);
    return hosts_;
  }
  std::string last_words(const std::string& cluster, const std::string& name) override {
    const std::scoped_lock lock(mutex_);
    return words_.empty() ? "" : fmt::format("{} of {} in {}", words_, name, cluster);
  }
  std::vector<HostInfo> adopt() override { return list(); }
  void announce(const std::string&, const std::map<std::string, std::map<std::string, net::Cidr>>&) override {}
  bool remove_cluster(const std::string&) override { return true; }

  int made() {
    const std::scoped_lock lock(mutex_);
    return made_;
  }
  void say(std::string words) {
    const std::scoped_lock lock(mutex_);
    words_ = std::move(words);
  }

 private:
  std::mutex mutex_;  ///< the pool calls, the test looks
  std::vector<HostInfo> hosts_;
  int made_ = 0;
  std::string words_;
};

class ControllerTest : public ::testing::Test {
 protected:
  ControllerTest() {
    server_.start();
    loop_.run_until_done(controller_.start());
  }
  ~ControllerTest() override {
    loop_.run_until_done(controller_.stop());
    loop_.run_until_done(server_.stop());
    loop_.context().restart();
    loop_.context().poll();
  }

  void put(tables::Change change) {
    loop_.run_until_done(server_.apply(server::testing::PutChanges{{std::move(change)}}));
  }
  /// One host, c1, without a network.
  void declare_cluster() {
    model::Cluster cluster;
    cluster.name = "demo";
    cluster.pools.resize(1);
    cluster.pools[0].name = cluster.pools[0].hostname = "c1";
    put(tables::PutCluster{cluster});
  }
  tables::Row<model::Host> host() { return server_.writer().tables().find_host("demo", "c1"); }
  template <class Condition>
  void until(Condition condition) {
    server::testing::run_until(loop_, condition);
  }

  async::Loop loop_;
  async::Pool pool_{1};
  store::MemoryStore store_;
  VirtualClock clock_;
  SeededIds ids_{1};
  server::Server server_{loop_.executor(), store_, clock_, ids_, {}};
  FakeProvider provider_;
  Controller controller_{server_, provider_, pool_, loop_.executor(), clock_, {}};
};

TEST_F(ControllerTest, AHostWhoseAgentDoesNotJoinTellsWhatTheAgentSays) {
  declare_cluster();
  until([&] { return host() && host()->status == model::HostStatus::running; });
  EXPECT_EQ(host()->status_description, "") << "an agent has some seconds to join";
  provider_.say("the complaint");
  // Each change wakes the controller: first it sees the host without agent, then its patience is over.
  put(tables::PutSetting{"test/1", boost::json::value(1)});
  until([&] {
    clock_.advance(std::chrono::seconds(6));
    put(tables::PutHost{*host()});
    return !host()->status_description.empty();
  });
  EXPECT_EQ(host()->status_description, "its agent has not joined; it says: the complaint of c1 in demo");
  EXPECT_EQ(host()->status, model::HostStatus::running);

  // It joins.
  model::Node node = server::testing::make_node(1);
  node.cluster = "demo";
  node.host = "c1";
  loop_.run_until_done(server_.apply(server::RegisterNode{node, "secret"}));
  EXPECT_EQ(host()->node_id, server::testing::uuid(1));
  EXPECT_EQ(host()->status_description, "");
}

/// The state of the server is gone, or is an older one.
class UnknownHost : public ControllerTest {
 protected:
  UnknownHost() {
    loop_.run_until_done(controller_.stop());
    HostSpec spec;
    spec.cluster = "demo";
    spec.name = "c1";
    provider_.create(spec);
    loop_.run_until_done(again_.start());
  }
  ~UnknownHost() override { loop_.run_until_done(again_.stop()); }
  Controller again_{server_, provider_, pool_, loop_.executor(), clock_, {}};
};

TEST_F(UnknownHost, RunsOnAndIsTheOneThatIsDeclaredAgain) {
  EXPECT_EQ(provider_.list().size(), 1U);
  declare_cluster();
  until([&] { return host() && host()->status == model::HostStatus::running; });
  EXPECT_EQ(provider_.made(), 1) << "it is not made anew";
}

TEST(DecideHostWaits, LeavesAHostAloneThatHasJoinedOrIsToGo) {
  server::testing::Desk desk;
  for (const bool joined : {false, true}) {
    for (const auto status : {model::HostStatus::running, model::HostStatus::stopping}) {
      model::Host host;
      host.cluster = "demo";
      host.name = fmt::format("{}-{}", joined, static_cast<int>(status));
      host.status = status;
      if (joined) host.node_id = server::testing::uuid(1);
      desk.run([&](const tables::Tables&, const server::Context&) {
        server::Decision<server::Nothing> decision;
        decision.changes.push_back(tables::PutHost{host});
        return decision;
      });
      const bool waits = !joined && status == model::HostStatus::running;
      EXPECT_EQ(decide(desk.tables, HostWaits{"demo", host.name, "words"}, desk.context()).changes.size(),
                waits ? 1U : 0U)
          << host.name;
    }
  }
  EXPECT_TRUE(decide(desk.tables, HostWaits{"demo", "unknown", "words"}, desk.context()).changes.empty());
}

}  // namespace
}  // namespace underway::host
