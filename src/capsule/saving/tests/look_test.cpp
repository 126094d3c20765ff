// What a node makes of a capsule whose time has come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "async/loop.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"
#include "run/saving.hpp"
#include "saving/node_side.hpp"

namespace underway::saving {
namespace {

TEST(NodeSide, WritesDownThatACapsuleCouldNotBeAsked) {
  std::string directory = (std::filesystem::temp_directory_path() / "underway-look-XXXXXX").string();
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const std::string capsules = directory + "/capsules";
  const CapsuleName web{"default", "web"};
  // It runs, as far as anybody sees, and its init does not listen.
  const auto self = os::process_identity(::getpid());
  ASSERT_TRUE(self);
  run::Run run{.ns = web.ns, .name = web.name};
  run.pid = self->pid;
  run.start_time = static_cast<std::int64_t>(self->start_time);
  run.keeper_dir = directory + "/keeper";
  os::make_directories(run.keeper_dir + "/control");
  os::make_directories(run::capsule_directory(capsules, web.ns, web.name));
  run::write_run(capsules, run);
  run::Saving saving;
  saving.snapshot.emplace().every = std::chrono::hours(1);
  run::write_saving(capsules, web.ns, web.name, saving);
  static_cast<void>(find_saved(capsules, web, SystemClock().now() - std::chrono::hours(2)));

  Options options;
  options.rehearsal.driver.capsules = capsules;
  model::Node node;
  async::Loop loop;
  async::Pool pool{1};
  SystemClock clock;
  async::LoopRegistry loops(clock);
  NodeSide side(options, std::chrono::milliseconds(5));
  const auto failed = [&] { return find_saved(capsules, web, SystemClock().now())->snapshot.failures > 0; };
  const auto all = [&]() -> async::awaitable<void> {
    const auto no_server = [] { return nullptr; };
    node::ExtensionContext context{node, directory, loop.executor(), pool, no_server, clock, loops};
    co_await side.start(std::move(context));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!failed() && std::chrono::steady_clock::now() < deadline)
      co_await async::sleep_for(std::chrono::milliseconds(5));
    co_await side.stop();
  };
  loop.run_until_done(all());
  const auto saved = find_saved(capsules, web, SystemClock().now());
  EXPECT_EQ(saved->snapshot.failures, 1) << "and it waits before it asks again";
  EXPECT_THAT(saved->snapshot.error, testing::HasSubstr("cannot reach the init of the capsule"));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace underway::saving
