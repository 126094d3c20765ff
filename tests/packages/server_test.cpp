// What the unit of a server leaves it is enough: no rights, and nothing to write to but its state.
#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/command.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

TEST(ServerUnit, AServerNeedsNoRightsAndNoDiskButItsState) {
  if (::geteuid() != 0) GTEST_SKIP() << "rights are taken away: needs root";
  const TemporaryDirectory directory;
  const std::string state = directory.path() + "/state";
  const auto confined =
      shell("mkdir " + state + " && mount -t tmpfs tmpfs " + state + " && mount -o remount,bind,ro /");
  ASSERT_EQ(confined.exit_code, 0) << confined.err;
  const std::string program = binary_dir() + "/bin/underway";
  {
    const Background server(
        {.argv = {"/bin/sh", "-c",
                  "exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "
                  "--ambient-caps=-all \"$0\" \"$@\" 2>" +
                      state + "/log",
                  program, "agent", "-server", "-client=false", "-hosts=false", "-http=none", "-data-dir=" + state}});
    const auto underway = [&](std::vector<std::string> words) {
      words.insert(words.begin(), program);
      return run({.argv = std::move(words), .env = {{"UNDERWAY_STATE", state}}});
    };
    EXPECT_TRUE(eventually(std::chrono::seconds(20), [&] {
      return underway({"var", "put", "-force", "unit", "key=value"}).exit_code == 0;
    })) << read_text(state + "/log");
    EXPECT_EQ(underway({"var", "get", "-item", "key", "unit"}).out, "value");
    const auto rights = shell("grep CapEff /proc/" + std::to_string(server.pid()) + "/status").out;
    EXPECT_EQ(rights, "CapEff:\t0000000000000000\n");
  }
  EXPECT_EQ(shell("mount -o remount,bind,rw / && umount -l " + state).exit_code, 0);
}

}  // namespace
}  // namespace underway::harness
