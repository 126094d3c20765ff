#include "agent/data_directory.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/log.hpp"
#include "os/trash.hpp"

namespace underway::agent {
namespace {

constexpr Duration kTrashInterval = std::chrono::hours(1);

}  // namespace

void make_directories(const Config& config) {
  for (const std::string& path : {config.data_dir, config.data_dir + "/run", config.link_directory()}) {
    std::filesystem::create_directories(path);
    ::chmod(path.c_str(), 0711);
  }
  std::filesystem::create_directories(config.data_dir + "/server");
  ::chmod((config.data_dir + "/server").c_str(), 0700);
}

async::awaitable<void> collect_trash(Config config, async::Pool& pool) {
  const os::Trash trash(config.data_dir + "/trash");
  auto collect = [&trash] { trash.collect(SystemClock().now()); };
  for (;;) {
    try {
      co_await async::on_pool(pool, collect);
    } catch (const Error& error) {
      log::warn("agent: {}, trying again in an hour", error.one_line());
    }
    co_await async::sleep_for(kTrashInterval);
  }
}

}  // namespace underway::agent
