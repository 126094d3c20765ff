#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/json.hpp"
#include "node/dynamic_meta.hpp"
#include "node/host_stats.hpp"
#include "os/file.hpp"

namespace underway::node {
namespace {

class SelfTest : public ::testing::Test {
 protected:
  SelfTest() {
    std::filesystem::remove_all(root_);
    os::make_directories(root_ + "/node");
  }
  ~SelfTest() override { std::filesystem::remove_all(root_); }
  static MetadataRequest request(const char* text) { return json::decode_text<MetadataRequest>(text); }
  const std::string root_ = ::testing::TempDir() + "underway-self-" + std::to_string(::getpid());
};

TEST_F(SelfTest, MetadataCountOverTheConfigurationAndAreKept) {
  DynamicMeta meta;
  meta.open(root_, {{"rack", "r1"}, {"row", "a"}});
  EXPECT_EQ(meta.now().meta, (model::StringMap{{"rack", "r1"}, {"row", "a"}}));
  auto next = meta.next(request(R"({"Meta":{"rack":"r2","row":null,"gpu":"yes","none":null}})"));
  EXPECT_EQ(next.size(), 3u);
  meta.write(next);
  meta.set(next);
  EXPECT_EQ(meta.now().meta, (model::StringMap{{"gpu", "yes"}, {"rack", "r2"}}));

  DynamicMeta later;
  later.open(root_, {{"rack", "r1"}, {"row", "a"}});
  EXPECT_EQ(later.now().meta, meta.now().meta);
  EXPECT_EQ(json::encode(later.now()),
            R"({"Meta":{"gpu":"yes","rack":"r2"},"Dynamic":{"gpu":"yes","rack":"r2","row":null},)"
            R"("Static":{"rack":"r1","row":"a"}})");
  EXPECT_EQ(later.next(request(R"({"Meta":{"gpu":null}})")).size(), 2u);
}

TEST_F(SelfTest, MetadataHaveKeysThatCanBeAskedFor) {
  DynamicMeta meta;
  meta.open(root_, {});
  for (const char* bad : {R"({"Meta":{"":"x"}})", R"({"Meta":{"a b":"x"}})", R"({"Meta":{".a":"x"}})",
                          R"({"Meta":{"a..b":"x"}})", R"({"Meta":{"a.":null}})"}) {
    SCOPED_TRACE(bad);
    EXPECT_THROW(meta.next(request(bad)), Error);
  }
  MetadataRequest many;
  for (std::size_t i = 0; i <= DynamicMeta::kMostKeys; ++i) many.meta["k" + std::to_string(i)] = "v";
  EXPECT_THROW(meta.next(many), Error);
}

TEST_F(SelfTest, StatisticsAreTheKernelsSinceTheyWereAskedLast) {
  os::make_directories(root_ + "/proc/self");
  os::write_file(root_ + "/proc/meminfo", "MemTotal: 1000 kB\nMemFree: 200 kB\nMemAvailable: 600 kB\n");
  os::write_file(root_ + "/proc/uptime", "1234.56 99.9\n");
  os::write_file(root_ + "/proc/stat", "cpu  0 0 0 0\ncpu0 50 0 50 100 0 0 0 0 0 0\nintr 1\n");
  os::write_file(root_ + "/proc/self/mounts",
                 "/dev/x / ext4 rw 0 0\n/dev/x /again ext4 rw 0 0\nproc /proc proc rw 0 0\n");
  HostSampler sampler;
  const auto first = sampler.sample(Machine{root_}, root_, 2000, TimePoint{});
  EXPECT_EQ(first.memory.total, 1000 * 1024);
  EXPECT_EQ(first.memory.used, 400 * 1024);
  EXPECT_EQ(first.uptime, 1234);
  ASSERT_EQ(first.cpu.size(), 1u);
  EXPECT_DOUBLE_EQ(first.cpu[0].total_percent, 50);
  EXPECT_DOUBLE_EQ(first.cpu_ticks, 1000);
  ASSERT_EQ(first.disks.size(), 1u);
  EXPECT_EQ(first.disks[0].mountpoint, "/");
  EXPECT_GT(first.alloc_dir.size, 0);
  os::write_file(root_ + "/proc/stat", "cpu  0 0 0 0\ncpu0 60 0 50 190 0 0 0 0 0 0\n");
  EXPECT_DOUBLE_EQ(sampler.sample(Machine{root_}, root_, 2000, TimePoint{}).cpu[0].total_percent, 10);
}

}  // namespace
}  // namespace underway::node
