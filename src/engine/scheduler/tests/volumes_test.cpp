#include "scheduler/detail/volumes.hpp"

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
  for (const auto& one : cases) {
    SCOPED_TRACE(one.why);
    EXPECT_EQ(detail::has_volume(lending(make_node("a"), one.offered), one.request, 0, "default"), one.fits);
  }
  const Node elsewhere = lending(make_node("a"), writer, "physics");
  EXPECT_FALSE(detail::has_volume(elsewhere, {.source = "data"}, 0, "default"));
  EXPECT_TRUE(detail::has_volume(elsewhere, {.source = "data"}, 0, "physics"));
}

TEST(Volumes, OfTheConfigurationAreLentToAllButCannotBeSticky) {
  Node node = make_node("a");
  node.volumes["data"] = {"data", "/srv/data", false, ""};
  EXPECT_TRUE(detail::has_volume(node, {.source = "data"}, 0, "physics"));
  EXPECT_TRUE(detail::has_volume(node, {.source = "data", .access_mode = model::kSingleWriter}, 0, "default"));
  EXPECT_FALSE(detail::has_volume(node, {.source = "data", .sticky = true}, 0, "default"));
  EXPECT_FALSE(detail::has_volume(node, {.source = "data", .access_mode = model::kReaderOnly}, 0, "default"));
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

}  // namespace
}  // namespace underway::scheduler
