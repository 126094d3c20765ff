#include "server/access/quota_decisions.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "server/access/namespace_decisions.hpp"
#include "server/node/host_volume_decisions.hpp"
#include "server/testing/desk.hpp"
#include "server/variable/variable_decisions.hpp"

namespace underway::server {
namespace {

using namespace underway::server::testing;
using ::testing::HasSubstr;

model::Quota bounded(std::int64_t cpu, std::int64_t variables_mb = 0) {
  model::Quota quota;
  quota.name = "physics";
  quota.limits.resize(1);
  quota.limits[0].region_limit.cpu = cpu;
  quota.limits[0].region_limit.storage.variables_mb = variables_mb;
  return quota;
}

struct QuotaDesk : Desk {
  void put(const model::Quota& quota) { run(PutQuota{quota, "global"}); }
  void remove() { run(DeleteQuota{"physics"}); }
  void bind(const std::string& quota) {
    model::Namespace ns;
    ns.name = "default";
    ns.quota = quota;
    run(PutNamespace{ns});
  }
  void put_variable(std::size_t bytes) {
    const VariableClaim claim{"default", "a/b", {}, ""};
    run(PutVariable{claim, {"k1", std::string(bytes, 'x')}});
  }
  std::size_t running(const std::string& job) const {
    std::size_t count = 0;
    for (const auto& row : tables.allocations_of_job("default", job)) count += row->terminal() ? 0 : 1;
    return count;
  }
};

std::string quota_refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    return error.one_line();
  }
  return "";
}

TEST(Quotas, BindNamespacesAndStayWhileTheyDo) {
  QuotaDesk desk;
  EXPECT_THAT(quota_refusal([&] { desk.bind("physics"); }), HasSubstr("'physics', which does not exist"));
  desk.put(bounded(1000));
  desk.bind("physics");
  EXPECT_THAT(quota_refusal([&] { desk.remove(); }), HasSubstr("bounds namespaces"));
  desk.bind("");
  desk.remove();
  EXPECT_THAT(quota_refusal([&] { desk.remove(); }), HasSubstr("not found"));
}

TEST(Quotas, ALimitOfAnotherRegionIsRefused) {
  QuotaDesk desk;
  model::Quota quota = bounded(1000);
  quota.limits[0].region = "eu";
  EXPECT_THAT(quota_refusal([&] { desk.put(quota); }), HasSubstr("region 'eu' is not this one, which is 'global'"));
}

TEST(Quotas, MoreOfItWakesWhatWaited) {
  QuotaDesk desk;
  desk.join(make_node(1));
  desk.put(bounded(1000));
  desk.bind("physics");
  desk.register_job(make_job("web", 3));
  EXPECT_EQ(desk.running("web"), 2u);
  desk.put(bounded(1500));
  EXPECT_EQ(desk.running("web"), 3u);
}

TEST(Quotas, TakenFromTheNamespaceItHoldsNothingBack) {
  QuotaDesk desk;
  desk.join(make_node(1));
  desk.put(bounded(1000));
  desk.bind("physics");
  desk.register_job(make_job("web", 3));
  desk.bind("");
  EXPECT_EQ(desk.running("web"), 3u);
}

TEST(Quotas, TellWhatIsUsedOfEachLimit) {
  QuotaDesk desk;
  desk.join(make_node(1));
  desk.put(bounded(4000, 1));
  desk.bind("physics");
  desk.register_job(make_job("web", 2));
  desk.put_variable(1000);
  const auto usage = quota_usage(desk.tables, "physics");
  ASSERT_EQ(usage.used.size(), 1u);
  const auto& [hash, used] = *usage.used.begin();
  EXPECT_EQ(hash, tables::find_record<model::Quota>(desk.tables, "physics")->limits[0].hash);
  EXPECT_EQ(used.region_limit.cpu, 1000);
  EXPECT_EQ(used.region_limit.memory_mb, 512);
  EXPECT_EQ(used.region_limit.storage.variables_mb, 1);
}

TEST(Quotas, BoundTheVariablesOfTheirNamespaces) {
  QuotaDesk desk;
  desk.put(bounded(0, 1));
  desk.bind("physics");
  desk.put_variable(1 << 20);
  EXPECT_THAT(quota_refusal([&] { desk.put_variable(2 << 20); }), HasSubstr("would exceed quota 'physics'"));
  desk.put_variable(1 << 20);  // takes its own place
  desk.put(bounded(0, -1));
  EXPECT_THAT(quota_refusal([&] { desk.put_variable(10); }), HasSubstr("would exceed quota"));
}

TEST(Quotas, BoundTheHostVolumesOfTheirNamespaces) {
  QuotaDesk desk;
  model::Node node = make_node(1);
  node.attributes["plugins.host_volume.mkdir.version"] = "1";
  desk.join(node);
  model::Quota quota = bounded(0);
  quota.limits[0].region_limit.storage.host_volumes_mb = 10;
  desk.put(quota);
  desk.bind("physics");
  const auto create = [&](const std::string& name, std::int64_t bytes) {
    model::HostVolume volume;
    volume.name = name;
    volume.plugin_id = "mkdir";
    volume.capacity_max = bytes;
    volume.capabilities.push_back({"file-system", "single-node-writer"});
    return quota_refusal([&] { desk.run(PutHostVolume{volume, false}); });
  };
  EXPECT_EQ(create("a", 6 << 20), "");
  EXPECT_THAT(create("b", 6 << 20), HasSubstr("would exceed quota 'physics'"));
  EXPECT_THAT(create("c", 0), HasSubstr("it has no capacity"));
  EXPECT_EQ(create("d", 4 << 20), "");
  EXPECT_EQ(quota_usage(desk.tables, "physics").used.begin()->second.region_limit.storage.host_volumes_mb, 10);
}

}  // namespace
}  // namespace underway::server
