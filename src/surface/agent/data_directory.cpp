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

async::awaitable<void> collect_trash(std::string directory, async::Pool& pool, const Clock& clock) {
  const os::Trash trash(directory);
  auto collect = [&trash, &clock] { trash.collect(clock.now()); };
  co_await async::on_pool(pool, collect);
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

async::LoopPlan trash_loop(const Config& config, async::Pool& pool, const Clock& clock) {
  const auto began = std::make_shared<bool>(false);
  return {
      .area = "agent",
      .name = "trash",
      .trouble = "what was thrown away is not removed in time",
      .wait = [began] { return async::sleep_for(std::exchange(*began, true) ? kTrashInterval : Duration{0}); },
      .reconcile = [trash = config.data_dir + "/trash", &pool, &clock] { return collect_trash(trash, pool, clock); },
      .retry = async::RetryPolicy::up_to(kTrashInterval),
      .patience = kTrashInterval};
}

}  // namespace underway::agent
