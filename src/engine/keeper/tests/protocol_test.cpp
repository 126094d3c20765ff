#include "keeper/protocol.hpp"

#include <climits>
#include <cstring>

#include "base/error.hpp"

namespace underway::keeper {
namespace {

State sample() {
  State state;
  state.phase = Phase::exited;
  state.kill_mode = KillMode::process;
  state.keeper_pid = 4711;
  state.keeper_start = ULLONG_MAX;
  state.task_pid = INT_MAX;
  state.task_start = 7;
  state.started = LLONG_MAX;
  state.finished = LLONG_MIN;
  state.code = 255;
  state.signal = 64;
  state.oom_killed = true;
  state.step = -1;
  state.error = 2;
  state.dropped = ULLONG_MAX;
  return state;
}

TEST(KeeperState, KeepsItsMeaningThroughItsText) {
  std::array<char, kMaxPacket> text;
  const auto size = format_state(sample(), text.data(), text.size());
  State again;
  ASSERT_TRUE(parse_state(text.data(), size, again));
  std::array<char, kMaxPacket> second;
  ASSERT_EQ(format_state(again, second.data(), second.size()), size);
  EXPECT_STREQ(text.data(), second.data());
  EXPECT_EQ(again.keeper_start, ULLONG_MAX);
  EXPECT_EQ(again.finished, LLONG_MIN);
  EXPECT_EQ(again.step, -1);
  EXPECT_EQ(again.kill_mode, KillMode::process);
}

TEST(KeeperState, IsRefusedWhenItWasCutAnywhere) {
  std::array<char, kMaxPacket> text;
  const auto size = format_state(sample(), text.data(), text.size());
  for (std::size_t cut = 0; cut + 1 < size; ++cut) {
    State state;
    EXPECT_FALSE(parse_state(text.data(), cut, state)) << cut;
  }
}

TEST(KeeperState, OfAnotherVersionIsReadAsFarAsItIsKnown) {
  const std::string text = "underway-keeper 2\nphase running\nfuture x y z\ntask 5 6\nend\n";
  State state;
  ASSERT_TRUE(parse_state(text.data(), text.size(), state));
  EXPECT_EQ(state.phase, Phase::running);
  EXPECT_EQ(state.task_pid, 5);
  EXPECT_EQ(state.task_start, 6U);
  EXPECT_EQ(state.kill_mode, KillMode::control_group) << "a keeper that does not know the word";
}

}  // namespace
}  // namespace underway::keeper
