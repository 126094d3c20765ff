#include "agent/data_directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/log.hpp"
#include "os/file.hpp"
#include "os/trash.hpp"

namespace underway::agent {
namespace {

constexpr Duration kTrashInterval = std::chrono::hours(1);

void remove(const std::string& path) {
  try {
    os::remove_tree(path);
  } catch (const Error& error) {
    log::warn("agent: {}", error.one_line());
  }
}

}  // namespace

DevDirectory::DevDirectory() : path_(fmt::format("/tmp/underway-dev-{}-XXXXXX", ::getpid())) {
  if (::mkdtemp(path_.data()) == nullptr) throw errno_error(errno, "cannot make a directory for -dev");
}

DevDirectory::~DevDirectory() {
  try {
    // One by one: what cannot be removed does not keep the authority's key.
    for (const auto& entry : os::list_directory(path_)) remove(path_ + "/" + entry.name);
    remove(path_);
  } catch (const Error& error) {
    log::warn("agent: {}", error.one_line());
  }
}

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
