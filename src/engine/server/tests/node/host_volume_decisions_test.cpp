#include "server/node/host_volume_decisions.hpp"

#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

using model::HostVolume;
using model::HostVolumeClaim;
using model::HostVolumeState;

HostVolume volume_named(const std::string& name) {
  HostVolume volume;
  volume.name = name;
  volume.plugin_id = model::kMkdirPlugin;
  volume.capabilities = {{model::kFileSystem, model::kWriter}, {model::kFileSystem, model::kSingleWriter}};
  return volume;
}

class VolumeDesk : public ::testing::Test {
 protected:
  VolumeDesk() {
    for (int i = 1; i <= 2; ++i) desk.join(make_node(i));
  }
  HostVolume ask(HostVolume volume, bool registering = false) {
    return desk.run(PutHostVolume{std::move(volume), registering});
  }
  void ready(const std::string& id, const std::string& path = "/srv/v") { desk.run(HostVolumeReady{id, path, 5}); }
  HostVolume made(const std::string& name, int node = 0) {
    HostVolume volume = volume_named(name);
    if (node > 0) volume.node_id = uuid(node);
    volume = ask(std::move(volume));
    ready(volume.id);
    return *row(volume.id);
  }
  std::optional<HostVolume> row(const std::string& id) { return tables::find_record<HostVolume>(desk.tables, id); }
  std::string refusal(HostVolume volume, bool registering = false) {
    try {
      ask(std::move(volume), registering);
    } catch (const Error& error) {
      return error.one_line();
    }
    return {};
  }
  std::vector<HostVolumeClaim> claims() { return tables::records<HostVolumeClaim>(desk.tables); }
  static model::Job mounting(const std::string& id, const std::string& source, bool sticky = false,
                             const std::string& access = {}) {
    model::Job job = make_job(id);
    job.groups[0].volumes["v"] = {.name = "v", .source = source, .sticky = sticky, .access_mode = access};
    return job;
  }
  /// The job's allocation ends on its node, as one that fails or is stopped.
  void end(const std::string& job, model::ClientStatus how = model::ClientStatus::complete) {
    const auto row = desk.only(job);
    desk.update(row->node_id, {report(row->id, how)});
  }

  Desk desk;
};

TEST_F(VolumeDesk, IsPendingUntilTheNodeHasItAndLentFromThenOn) {
  const HostVolume asked = ask(volume_named("data"));
  EXPECT_TRUE(is_uuid(asked.id));
  EXPECT_EQ(row(asked.id)->state, HostVolumeState::pending);
  EXPECT_TRUE(desk.tables.find_node(asked.node_id)->volumes.empty());
  desk.register_job(mounting("db", "data"));
  EXPECT_TRUE(desk.live("db").empty());
  ready(asked.id, "/srv/data");
  EXPECT_EQ(row(asked.id)->state, HostVolumeState::ready);
  EXPECT_EQ(row(asked.id)->host_path, "/srv/data");
  EXPECT_EQ(row(asked.id)->capacity, 5);
  EXPECT_EQ(desk.only("db")->node_id, asked.node_id) << "who waited for it was not asked again";
}

TEST_F(VolumeDesk, GoesWhereItFits) {
  EXPECT_NE(made("a").node_id, made("b").node_id) << "two of them on one node, and none on the other";
  HostVolume chosen = volume_named("c");
  chosen.constraints = {{"${attr.unique.hostname}", "=", "c2"}};
  EXPECT_EQ(ask(chosen).node_id, uuid(2));
  chosen.node_id = uuid(1);
  chosen.name = "d";
  EXPECT_NE(refusal(chosen).find("excluded by"), std::string::npos);
  chosen.node_id.clear();
  chosen.node_pool = "gpu";
  EXPECT_NE(refusal(chosen).find("no node can have volume 'd'"), std::string::npos);
  HostVolume lvm = volume_named("e");
  lvm.plugin_id = "lvm";
  EXPECT_NE(refusal(lvm).find("has no plugin 'lvm'"), std::string::npos);
  model::Node able = make_node(3);
  able.attributes["plugins.host_volume.lvm.version"] = "1";
  desk.join(able);
  EXPECT_EQ(ask(lvm).node_id, uuid(3));
}

TEST_F(VolumeDesk, HasANameOfItsOwnOnItsNode) {
  made("data", 1);
  HostVolume again = volume_named("data");
  again.node_id = uuid(1);
  EXPECT_NE(refusal(again).find("has a volume 'data' already"), std::string::npos);
  EXPECT_EQ(made("data").node_id, uuid(2));
  EXPECT_NE(refusal(volume_named("data")).find("each of 2 nodes has a volume 'data' already"), std::string::npos);
}

TEST_F(VolumeDesk, IsForgottenWhenItCouldNotBeMade) {
  const HostVolume asked = ask(volume_named("data"));
  const auto failed = [](const std::string& id) { return HostVolumeFailed{id}; };
  desk.run(failed(asked.id));
  EXPECT_FALSE(row(asked.id));
  const HostVolume there = made("data");
  desk.run(failed(there.id));
  EXPECT_EQ(row(there.id)->state, HostVolumeState::ready) << "a change that failed takes nothing away";
}

TEST_F(VolumeDesk, ChangesInWhatMayChange) {
  HostVolume there = made("data");
  HostVolume wanted = volume_named("data");
  wanted.id = there.id;
  wanted.capacity_max = 100;
  EXPECT_EQ(ask(wanted).node_id, there.node_id);
  EXPECT_EQ(row(there.id)->state, HostVolumeState::ready);
  EXPECT_EQ(row(there.id)->capacity_max, 100);
  wanted.capacity_max = 2;
  EXPECT_NE(refusal(wanted).find("cannot become smaller"), std::string::npos);
  wanted = volume_named("other");
  wanted.id = there.id;
  EXPECT_NE(refusal(wanted).find("the name of volume 'data' cannot be changed"), std::string::npos);
  wanted.id = uuid(99);
  EXPECT_NE(refusal(wanted).find("volume not found"), std::string::npos);
}

TEST_F(VolumeDesk, KeepsAModeThatIsInUseHoweverItIsNamed) {
  const HostVolume there = made("data[0]");
  model::Job job = mounting("db", "data", false, model::kSingleWriter);
  job.groups[0].volumes["v"].per_alloc = true;
  desk.register_job(job);
  ASSERT_EQ(desk.live("db").size(), 1u);
  HostVolume wanted = volume_named("data[0]");
  wanted.id = there.id;
  EXPECT_EQ(refusal(wanted), "");
  wanted.capabilities = {{model::kFileSystem, model::kWriter}};
  EXPECT_NE(refusal(wanted).find("access_mode 'single-node-single-writer' of volume 'data[0]' is in use"),
            std::string::npos);
}

TEST_F(VolumeDesk, InUseIsNotDeletedAndSaysByWhom) {
  const HostVolume there = made("data");
  desk.register_job(mounting("db", "data"));
  const auto id = desk.only("db")->id;
  const DeleteHostVolume remove{there.id};
  try {
    desk.run(remove);
    FAIL() << "it was deleted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::conflict);
    EXPECT_NE(error.one_line().find(id), std::string::npos) << error.one_line();
  }
  desk.run(DeregisterJob{.ns = "default", .id = "db"});
  EXPECT_THROW(desk.run(remove), Error) << "it was told to stop, and has not ended";
  desk.update(there.node_id, {report(id, model::ClientStatus::complete)});
  desk.run(remove);
  EXPECT_TRUE(row(there.id)->deleting);
  EXPECT_FALSE(desk.tables.find_node(there.node_id)->volumes.contains("data"));
  desk.run(HostVolumeStays{there.id});
  EXPECT_TRUE(desk.tables.find_node(there.node_id)->volumes.contains("data"));
  desk.run(remove);
  desk.run(HostVolumeGone{there.id});
  EXPECT_FALSE(row(there.id));
}

TEST_F(VolumeDesk, IsWhatTheServerSaysWhateverTheNodeReports) {
  const HostVolume there = made("data", 1);
  model::Node node = make_node(1);
  desk.join(node);
  EXPECT_EQ(row(there.id)->state, HostVolumeState::unavailable);
  EXPECT_TRUE(desk.tables.find_node(uuid(1))->volumes.empty());
  node.volumes["data"] = {"data", "/srv/v", false, there.id};
  node.volumes["stray"] = {"stray", "/srv/s", false, uuid(77)};
  node.volumes["fixed"] = {"fixed", "/srv/f", false, ""};
  desk.join(node);
  EXPECT_EQ(row(there.id)->state, HostVolumeState::ready);
  const auto lent = desk.tables.find_node(uuid(1));
  EXPECT_TRUE(lent->volumes.contains("data"));
  EXPECT_TRUE(lent->volumes.contains("fixed"));
  EXPECT_FALSE(lent->volumes.contains("stray")) << "no record says what it may be used for";
  EXPECT_EQ(lent->volumes.at("data").ns, "default");
  EXPECT_EQ(lent->volumes.at("data").capabilities.size(), there.capabilities.size());
}

TEST_F(VolumeDesk, BindsAStickyGroupToTheVolumeThatItHadFirst) {
  const HostVolume one = made("data", 1), two = made("data", 2);
  model::Job job = mounting("db", "data", true);
  desk.register_job(job);
  const auto first = desk.only("db");
  ASSERT_EQ(claims().size(), 1u);
  const HostVolumeClaim claim = claims().front();
  EXPECT_EQ(claim.alloc_id, first->id);
  EXPECT_EQ(claim.volume_id, first->node_id == uuid(1) ? one.id : two.id);
  job.groups[0].tasks[0].env["VERSION"] = "2";
  desk.register_job(job);
  EXPECT_EQ(desk.only("db")->node_id, first->node_id);
  ASSERT_EQ(claims().size(), 1u);
  EXPECT_EQ(claims().front().id, claim.id);
  EXPECT_EQ(claims().front().alloc_id, desk.only("db")->id);
  // It waits for that node rather than going where other data is.
  desk.down({first->node_id});
  EXPECT_TRUE(desk.live("db").empty());
  desk.run(DeleteVolumeClaim{claim.id});
  EXPECT_NE(desk.only("db")->node_id, first->node_id) << "unbound, it may go";
}

TEST_F(VolumeDesk, BindsEachOfAGroupByItself) {
  made("data", 1);
  made("data", 2);
  model::Job job = mounting("db", "data", true, model::kSingleWriter);
  job.groups[0].count = 2;
  desk.register_job(job);
  ASSERT_EQ(desk.live("db").size(), 2u);
  ASSERT_EQ(claims().size(), 2u);
  EXPECT_NE(claims()[0].volume_id, claims()[1].volume_id);
  std::map<std::string, std::string> before;
  for (const auto& row : desk.live("db")) before[row->name] = row->node_id;
  job.groups[0].tasks[0].env["VERSION"] = "2";
  job.update.reset();
  desk.register_job(job);
  for (const auto& row : desk.live("db")) EXPECT_EQ(before.at(row->name), row->node_id) << row->name;
}

TEST_F(VolumeDesk, TakesItsClaimsWithIt) {
  const HostVolume there = made("data", 1);
  desk.register_job(mounting("db", "data", true));
  ASSERT_EQ(claims().size(), 1u);
  desk.run(HostVolumeGone{there.id});
  EXPECT_TRUE(claims().empty());
}

TEST_F(VolumeDesk, WaitsForTheWriterBeforeIt) {
  made("data", 1);
  desk.register_job(mounting("first", "data", false, model::kSingleWriter));
  desk.register_job(mounting("second", "data", false, model::kSingleWriter));
  EXPECT_EQ(desk.live("first").size(), 1u);
  EXPECT_TRUE(desk.live("second").empty());
}

TEST_F(VolumeDesk, IsRegisteredWhereItLies) {
  HostVolume there = volume_named("srv");
  EXPECT_NE(refusal(there, true).find("node_id is missing"), std::string::npos);
  there.node_id = uuid(2);
  there.host_path = "/srv/here";
  const HostVolume asked = ask(there, true);
  EXPECT_EQ(asked.plugin_id, "");
  ready(asked.id, "/srv/here");
  EXPECT_EQ(desk.tables.find_node(uuid(2))->volumes.at("srv").path, "/srv/here");
}

}  // namespace
}  // namespace underway::server::testing
