#include "server/node/host_volumes.hpp"

#include "base/json/json.hpp"
#include "protocol/volume_messages.hpp"
#include "server/testing/desk.hpp"
#include "server/testing/fake_node.hpp"

namespace underway::server::testing {
namespace {

using model::HostVolume;
using model::HostVolumeState;

class HostVolumesTest : public ::testing::Test {
 protected:
  HostVolumesTest() {
    options.root_by_raw_exec = true;
    options.link_patience = std::chrono::milliseconds(20);
    start();
    node = std::make_unique<FakeNode>(loop.executor(), *server, make_node(1));
    node->answers["volume.create"] = [this](const boost::json::value& body) {
      asked.push_back("create " + json::decode<protocol::VolumeOrder>(body).name);
      if (refuses) throw Error(Code::internal, "no space left");
      return json::to_value(protocol::VolumeMade{"/srv/made", 7});
    };
    node->answers["volume.delete"] = [this](const boost::json::value& body) {
      asked.push_back("delete " + json::decode<protocol::VolumeOrder>(body).name);
      if (refuses) throw Error(Code::internal, "it is mounted");
      return boost::json::object{};
    };
    loop.run_until_done(node->join());
  }
  ~HostVolumesTest() override {
    loop.run_until_done(node->stop());
    stop();
  }
  void start() {
    server = std::make_unique<Server>(loop.executor(), store, clock, ids, options);
    server->start();
  }
  void stop() {
    loop.run_until_done(server->stop());
    loop.context().restart();
    loop.context().poll();
    server.reset();
  }
  HostVolumes::Answer put(const std::string& name = "data") {
    PutHostVolume request;
    request.volume.name = name;
    request.volume.plugin_id = model::kMkdirPlugin;
    request.volume.capabilities = {{model::kFileSystem, model::kWriter}};
    return loop.run_until_done(server->host_volumes().put(std::move(request)));
  }
  void remove(const std::string& id, bool force = false) {
    loop.run_until_done(server->host_volumes().remove(id, force));
  }
  std::optional<HostVolume> row(const std::string& id) {
    return tables::find_record<HostVolume>(server->writer().tables(), id);
  }

  async::Loop loop;
  store::MemoryStore store;
  SystemClock clock;
  SeededIds ids{5};
  Options options;
  std::unique_ptr<Server> server;
  std::unique_ptr<FakeNode> node;
  std::vector<std::string> asked;
  bool refuses = false;
};

using Words = std::vector<std::string>;

TEST_F(HostVolumesTest, AreReadyOnceTheNodeHasThem) {
  const auto answer = put();
  EXPECT_EQ(answer.volume.state, HostVolumeState::ready);
  EXPECT_EQ(answer.volume.host_path, "/srv/made");
  EXPECT_EQ(answer.warning, "");
  remove(answer.volume.id);
  EXPECT_FALSE(row(answer.volume.id));
  EXPECT_EQ(asked, (Words{"create data", "delete data"}));
}

TEST_F(HostVolumesTest, AreNoneWhenTheNodeRefuses) {
  refuses = true;
  EXPECT_THROW(put(), Error);
  EXPECT_TRUE(tables::records<HostVolume>(server->writer().tables()).empty());
  refuses = false;
  const auto answer = put();
  refuses = true;
  EXPECT_THROW(remove(answer.volume.id), Error);
  EXPECT_EQ(row(answer.volume.id)->state, HostVolumeState::ready) << "what could not be deleted is lent as before";
  remove(answer.volume.id, true);
  EXPECT_FALSE(row(answer.volume.id)) << "forced";
}

TEST_F(HostVolumesTest, ArePendingWhileTheNodeCannotBeReachedAndMadeWhenItIs) {
  node->cut();
  run_until(loop, [&] { return !server->linked(node->id()); });
  const auto answer = put();
  EXPECT_EQ(answer.volume.state, HostVolumeState::pending);
  EXPECT_NE(answer.warning, "");
  loop.run_until_done(node->join());
  run_until(loop, [&] { return row(answer.volume.id)->state == HostVolumeState::ready; });
  EXPECT_EQ(asked, Words{"create data"});
}

/// What a server that was killed between its decision and the node's answer leaves behind.
TEST_F(HostVolumesTest, AreMadeByTheNextServerAndOnlyOnce) {
  PutHostVolume request;
  request.volume.name = "data";
  request.volume.plugin_id = model::kMkdirPlugin;
  request.volume.capabilities = {{model::kFileSystem, model::kWriter}};
  loop.run_until_done(node->stop());
  const auto begun = loop.run_until_done(server->apply(std::move(request)));
  stop();
  start();
  EXPECT_EQ(row(begun.id)->state, HostVolumeState::pending);
  auto answers = node->answers;
  node = std::make_unique<FakeNode>(loop.executor(), *server, make_node(1));
  node->answers = answers;
  loop.run_until_done(node->join());
  run_until(loop, [&] { return row(begun.id)->state == HostVolumeState::ready; });
  EXPECT_EQ(asked, Words{"create data"});
  loop.run_until_done(server->apply(DeleteHostVolume{begun.id}));
  run_until(loop, [&] { return !row(begun.id); });
  EXPECT_EQ(asked, (Words{"create data", "delete data"}));
}

TEST_F(HostVolumesTest, GoWithTheClaimsOfAJobThatIsForgotten) {
  put();
  model::Job job = make_job("db");
  job.groups[0].volumes["v"] = {.name = "v", .source = "data", .sticky = true};
  RegisterJob request{job, {}, {}};
  loop.run_until_done(server->apply(std::move(request)));
  const auto claims = [&] { return tables::records<model::HostVolumeClaim>(server->writer().tables()).size(); };
  run_until(loop, [&] { return claims() == 1; });
  DeregisterJob purge;
  purge.ns = "default";
  purge.id = "db";
  purge.purge = true;
  loop.run_until_done(server->apply(std::move(purge)));
  EXPECT_EQ(claims(), 0u);
}

}  // namespace
}  // namespace underway::server::testing
