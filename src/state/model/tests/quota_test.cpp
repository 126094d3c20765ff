#include "model/access/quota.hpp"

#include <gmock/gmock.h>

#include "base/json/json.hpp"

namespace underway::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Quota bounded() {
  Quota quota;
  quota.name = "physics";
  quota.limits.resize(1);
  quota.limits[0].region_limit.cpu = 4000;
  return quota;
}

TEST(Quota, TheOldSpellingOfVariablesIsFoldedIntoStorageUnlessThatIsGiven) {
  Quota quota = bounded();
  quota.limits[0].variables_limit = 7;
  canonicalize(quota);
  EXPECT_EQ(quota.limits[0].region_limit.storage.variables_mb, 7);
  EXPECT_EQ(quota.limits[0].variables_limit, 0);
  quota.limits[0].variables_limit = 9;
  canonicalize(quota);
  EXPECT_EQ(quota.limits[0].region_limit.storage.variables_mb, 7);
}

TEST(Quota, AllProblemsAreTold) {
  EXPECT_THAT(problems(bounded()), IsEmpty());
  Quota quota = bounded();
  quota.name = "a b";
  quota.limits.push_back(quota.limits[0]);
  quota.limits[1].region_limit.devices = {{"nvidia//gpu", 1}, {"gpu", 1}, {"gpu", 2}};
  EXPECT_THAT(problems(quota), ElementsAre(HasSubstr("'a b'"), HasSubstr("'global' is limited more than once"),
                                           HasSubstr("'nvidia//gpu'"), HasSubstr("'gpu' is limited more than once")));
  EXPECT_THAT(problems(Quota{.name = "empty"}), ElementsAre("there is no limit in it"));
}

TEST(Quota, IsReadInTheShapeOfNomadsClients) {
  const auto quota = json::decode<Quota>(boost::json::parse(R"({
    "Name": "default-quota", "Description": "Limit the shared default namespace",
    "Limits": [{"Region": "global", "RegionLimit": {"CPU": 2500, "Cores": 0, "MemoryMB": 1000, "MemoryMaxMB": 1000,
      "Devices": [{"Name": "nvidia/gpu/1080ti", "Count": 1}], "Storage": {"VariablesMB": 1000, "HostVolumesMB": 1024}}}]})"));
  ASSERT_EQ(quota.limits.size(), 1u);
  const QuotaResources& limit = quota.limit_of("global")->region_limit;
  EXPECT_EQ(limit.cpu, 2500);
  EXPECT_EQ(limit.devices.at(0).name, "nvidia/gpu/1080ti");
  EXPECT_EQ(limit.storage.host_volumes_mb, 1024);
  EXPECT_EQ(quota.limit_of("eu"), nullptr);
}

}  // namespace
}  // namespace underway::model
