#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "node/fingerprint/dynamic_meta.hpp"
#include "node/fingerprint/host_stats.hpp"
#include "node/task/task_stats.hpp"
#include "node/testing/fake_runtime.hpp"
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
  static protocol::MetadataRequest request(const char* text) {
    return json::decode_text<protocol::MetadataRequest>(text);
  }
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
  protocol::MetadataRequest many;
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

TEST(UsageSamples, TellRatesSinceTheLastOneAndWhatMemoryIsWhose) {
  const TimePoint start = from_unix_nanos(1);
  FakeTask task;
  UsageSamples samples;
  const auto at = [&](int seconds, int user, int system) {
    task.used.cpu_user = std::chrono::milliseconds(user);
    task.used.cpu_system = std::chrono::milliseconds(system);
    task.used.cpu_time = task.used.cpu_user + task.used.cpu_system;
    return samples.sample("a", "t", task, start + std::chrono::seconds(seconds));
  };
  EXPECT_DOUBLE_EQ(at(10, 800, 200).percent, 10) << "since it was started";
  const auto second = at(12, 1800, 400);
  EXPECT_DOUBLE_EQ(second.percent, 60);
  EXPECT_DOUBLE_EQ(second.user, 50);
  EXPECT_DOUBLE_EQ(second.system, 10);
  EXPECT_DOUBLE_EQ(at(20, 100, 100).percent, 1) << "it was restarted: its time is that of this run";

  task.used.memory_bytes = 5000;
  task.used.memory_anonymous_bytes = 3000;
  task.used.memory_file_bytes = 1500;
  task.used.memory_swap_bytes = 70;
  task.used.cpu_throttled_periods = 9;
  const auto all = samples.usage("a", {{"t", std::shared_ptr<RunningTask>(&task, [](RunningTask*) {})}}, 2000,
                                 start + std::chrono::seconds(30));
  const auto& usage = all.at("Tasks").at("t").at("ResourceUsage");
  EXPECT_EQ(usage.at("MemoryStats").at("RSS").to_number<int>(), 3000);
  EXPECT_EQ(usage.at("MemoryStats").at("Cache").to_number<int>(), 1500);
  EXPECT_EQ(usage.at("MemoryStats").at("Swap").to_number<int>(), 70);
  EXPECT_EQ(all.at("ResourceUsage").at("MemoryStats").at("Usage").to_number<int>(), 5000);
  EXPECT_EQ(usage.at("CpuStats").at("ThrottledPeriods").to_number<int>(), 9);

  samples.keep([](const std::string& id) { return id != "a"; });
  EXPECT_DOUBLE_EQ(samples.sample("a", "t", task, start + std::chrono::seconds(200)).percent, 0.1) << "forgotten";
}

}  // namespace
}  // namespace underway::node
