#include "node/volume/volumes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace underway::node {
namespace {

using ::testing::HasSubstr;

class Volumes : public ::testing::Test {
 protected:
  Volumes() {
    node_.name = "n1";
    node_.volumes["scratch"] = {"scratch", "/srv/scratch", false, ""};
    node_.volumes["data[2]"] = {"data[2]", "/srv/data2", false, ""};
    node_.volumes["software"] = {"software", "/opt/software", true, ""};
    allocation_.name = "db.g[2]";
    allocation_.group = "g";
    model::TaskGroup& group = job_.groups.emplace_back();
    group.name = "g";
    group.volumes["s"] = {.name = "s", .source = "scratch"};
    group.volumes["d"] = {.name = "d", .source = "data", .per_alloc = true};
    group.volumes["p"] = {.name = "p", .source = "software", .read_only = true};
    task_.name = "main";
  }
  std::vector<VolumeUse> uses() {
    allocation_.job = std::make_shared<const model::Job>(job_);
    return volumes_of(node_, allocation_, task_, Interpolation(node_, "global"));
  }
  std::string problem() {
    try {
      uses();
    } catch (const Error& error) {
      return error.one_line();
    }
    return "";
  }

  model::Node node_;
  model::Job job_;
  model::Allocation allocation_;
  model::Task task_;
};

TEST_F(Volumes, AreThoseOfTheNodeUnderTheAllocationsNumber) {
  task_.volume_mounts = {{.volume = "s", .destination = "/scratch/${node.unique.name}"},
                         {.volume = "d", .destination = "/data", .read_only = true},
                         {.volume = "p", .destination = "/sw", .propagation_mode = model::Propagation::host_to_task}};
  const auto found = uses();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].path, "/srv/scratch");
  EXPECT_EQ(found[0].destination, "/scratch/n1");
  EXPECT_FALSE(found[0].read_only);
  EXPECT_EQ(found[1].path, "/srv/data2");
  EXPECT_TRUE(found[1].read_only) << "as the mount says";
  EXPECT_TRUE(found[2].read_only) << "as the volume and its request say";
  EXPECT_EQ(found[2].propagation, model::Propagation::host_to_task);
}

TEST_F(Volumes, ThatCannotBeMountedAreNamedWithTheirNode) {
  task_.volume_mounts = {{.volume = "s", .destination = "/s"}};
  node_.volumes.erase("scratch");
  EXPECT_THAT(problem(), HasSubstr("there is no host volume 'scratch' on node 'n1'"));
  node_.volumes["scratch"] = {"scratch", "/srv/scratch", true, ""};
  EXPECT_THAT(problem(), HasSubstr("host volume 'scratch' on node 'n1' is read-only"));
  task_.volume_mounts[0].volume = "other";
  EXPECT_THAT(problem(), HasSubstr("group 'g' asks for no volume of that name"));
}

}  // namespace
}  // namespace underway::node
