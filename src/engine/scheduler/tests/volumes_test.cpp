#include "scheduler/feasibility/volumes.hpp"

#include "tests/world.hpp"

namespace underway::scheduler {
namespace {

using namespace underway::scheduler::testing;

Job mounting(Job job, model::VolumeRequest request) {
  request.name = "data";
  job.groups[0].volumes["data"] = std::move(request);
  return job;
}

/// A node with a dynamic volume "data" of the default namespace.
Node lending(Node node, const std::vector<std::string>& access, const std::string& ns = "default") {
  model::NodeVolume volume{.name = "data", .path = "/srv/data", .id = "v1", .ns = ns};
  for (const auto& mode : access) volume.capabilities.push_back({model::kFileSystem, mode});
  node.volumes["data"] = std::move(volume);
  return node;
}

TEST(Volumes, AreLentAsTheyWereMadeToBeUsed) {
  struct Case {
    const char* why;
    std::vector<std::string> offered;
    model::VolumeRequest request;
    bool fits;
  };
  const std::vector<std::string> writer = {model::kWriter}, reader = {model::kReaderOnly};
  const std::vector<Case> cases = {
      {"a writer by default", writer, {.source = "data"}, true},
      {"a reader by default", writer, {.source = "data", .read_only = true}, false},
      {"a reader", {model::kWriter, model::kReaderOnly}, {.source = "data", .read_only = true}, true},
      {"one that only reads, and does not say so",
       reader,
       {.source = "data", .access_mode = model::kReaderOnly},
       false},
      {"what is not offered", writer, {.source = "data", .access_mode = model::kMultiWriter}, false},
      {"what is offered", {model::kMultiWriter}, {.source = "data", .access_mode = model::kMultiWriter}, true},
      {"another attachment", writer, {.source = "data", .attachment_mode = "block-device"}, false},
      {"a sticky one", writer, {.source = "data", .sticky = true}, true},
      {"one of which nothing is said", {}, {.source = "data"}, false},
  };
  for (const auto& test_case : cases) {
    SCOPED_TRACE(test_case.why);
    EXPECT_EQ(has_volume(lending(make_node("a"), test_case.offered), test_case.request, 0, "default"), test_case.fits);
  }
  const Node elsewhere = lending(make_node("a"), writer, "physics");
  EXPECT_FALSE(has_volume(elsewhere, {.source = "data"}, 0, "default"));
  EXPECT_TRUE(has_volume(elsewhere, {.source = "data"}, 0, "physics"));
}

TEST(Volumes, OfTheConfigurationAreLentToAllButCannotBeSticky) {
  Node node = make_node("a");
  node.volumes["data"] = {"data", "/srv/data", false, ""};
  EXPECT_TRUE(has_volume(node, {.source = "data"}, 0, "physics"));
  EXPECT_TRUE(has_volume(node, {.source = "data", .access_mode = model::kSingleWriter}, 0, "default"));
  EXPECT_FALSE(has_volume(node, {.source = "data", .sticky = true}, 0, "default"));
  EXPECT_FALSE(has_volume(node, {.source = "data", .access_mode = model::kReaderOnly}, 0, "default"));
}

TEST(Volumes, HaveOneSingleWriterAtATime) {
  World world(1);
  Node node = make_node("a");
  node.volumes["data"] = {"data", "/srv/data", false, ""};
  world.put_node(node);
  const model::VolumeRequest alone{.source = "data", .access_mode = model::kSingleWriter};
  EXPECT_EQ(world.run(mounting(make_job("first"), alone)).created.size(), 1u);
  const Plan second = world.run(mounting(make_job("second"), alone));
  EXPECT_TRUE(second.created.empty());
  EXPECT_EQ(explain(second.evaluation.failed_groups.at("g")).back(),
            "* Dimension \"host volume has a writer\" exhausted on 1 nodes");
  EXPECT_EQ(world.run(mounting(make_job("reader"), {.source = "data", .read_only = true})).created.size(), 1u);
  EXPECT_EQ(
      world.run(mounting(make_job("another"), {.source = "data", .access_mode = model::kMultiWriter})).created.size(),
      1u);
  world.stop("first");
  EXPECT_EQ(world.again("second").created.size(), 1u);
}

TEST(Volumes, OfASingleWriterPassToItsReplacement) {
  World world(1);
  Node node = make_node("a");
  node.volumes["data"] = {"data", "/srv/data", false, ""};
  world.put_node(node);
  Job job = mounting(make_job("db", 2), {.source = "data", .access_mode = model::kSingleWriter});
  EXPECT_EQ(world.run(job).created.size(), 1u) << "two of one group are two writers";
  job.groups[0].count = 1;
  job.groups[0].tasks[0].env["VERSION"] = "2";
  const Plan plan = world.run(job);
  EXPECT_EQ(plan.created.size(), 1u);
  EXPECT_EQ(plan.stopped.size(), 1u);
}

/// A node with the volumes data[0] to data[2].
Node with_numbered(const std::string& name) {
  Node node = make_node(name);
  for (const char* volume : {"data[0]", "data[1]", "data[2]"}) node.volumes[volume] = {volume, "/srv/data", false, ""};
  return node;
}

const model::VolumeRequest kNumberedAlone{.source = "data", .per_alloc = true, .access_mode = model::kSingleWriter};

TEST(Volumes, OfNumbersHaveOneSingleWriterEach) {
  World world(1);
  world.put_node(with_numbered("a"));
  EXPECT_EQ(world.run(mounting(make_job("db", 2), kNumberedAlone)).created.size(), 2u);
  const Plan other = world.run(mounting(make_job("other", 3), kNumberedAlone));
  ASSERT_EQ(other.created.size(), 1u) << "data[2] alone is free";
  EXPECT_EQ(other.created[0].index(), 2);
  const Plan named = world.run(mounting(make_job("named"), {.source = "data[1]", .access_mode = model::kSingleWriter}));
  EXPECT_TRUE(named.created.empty()) << "it is the same, however it is called";
}

TEST(Volumes, OfANumberKeepOutTheCanaryOfThatNumber) {
  World world(1);
  world.put_node(with_numbered("a"));
  Job job = mounting(make_job("db", 2), kNumberedAlone);
  job.groups[0].update.emplace();
  world.run(job);
  for (const auto& row : world.live("db")) world.set_health(row->id, true);
  job.groups[0].update->canary = 1;
  job.groups[0].tasks[0].env["VERSION"] = "2";
  const Plan plan = world.run(job);
  EXPECT_TRUE(plan.created.empty()) << "the old one of the number still writes";
  EXPECT_TRUE(plan.stopped.empty());
  EXPECT_EQ(explain(plan.evaluation.failed_groups.at("g")).back(),
            "* Dimension \"host volume has a writer\" exhausted on 1 nodes");
  world.put_node(with_numbered("b"));
  const Plan elsewhere = world.again("db");
  ASSERT_EQ(elsewhere.created.size(), 1u);
  EXPECT_EQ(elsewhere.created[0].index(), 0);
  EXPECT_EQ(elsewhere.created[0].node_id, with_numbered("b").id) << "another directory";
}

TEST(Volumes, OfANumberAreFreeOnceTheirWriterHasEnded) {
  World world(1);
  world.put_node(with_numbered("a"));
  Job job = mounting(make_job("db"), kNumberedAlone);
  world.run(job);
  world.start_all();
  job.groups[0].tasks[0].env["VERSION"] = "2";
  const Plan replaced = world.run(job);
  ASSERT_EQ(replaced.created.size(), 1u) << "a replacement takes the place of what it stops";
  EXPECT_EQ(replaced.stopped.size(), 1u);
  world.start_all();
  world.set_client(replaced.created[0].id, ClientStatus::failed);
  job.groups[0].tasks[0].env["VERSION"] = "3";
  EXPECT_EQ(world.run(job).created.size(), 1u);
}

TEST(Volumes, OfANumberThatOnlyReadAreShared) {
  World world(1);
  world.put_node(with_numbered("a"));
  model::VolumeRequest reader = kNumberedAlone;
  reader.read_only = true;
  reader.access_mode = model::kReaderOnly;
  EXPECT_EQ(world.run(mounting(make_job("first"), kNumberedAlone)).created.size(), 1u);
  EXPECT_EQ(world.run(mounting(make_job("second"), reader)).created.size(), 1u);
}

}  // namespace
}  // namespace underway::scheduler
