#include "run/control.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace underway::run {
namespace {

TEST(Control, ReadsTheStatus) {
  const auto status = parse_status(
      "ok\nphase running\nservice munge ready 12 0 0 0 1234\nservice job done 0 2 0 0 10\nstep probe 0\nstep check 3\n"
      "something new\n");
  EXPECT_EQ(status.phase, "running");
  ASSERT_EQ(status.services.size(), 2U);
  EXPECT_EQ(status.services[0].name, "munge");
  EXPECT_EQ(status.services[0].pid, 12);
  EXPECT_EQ(status.services[0].since, std::chrono::milliseconds(1234));
  EXPECT_EQ(status.services[1].restarts, 2);
  EXPECT_EQ(status.steps.at("check"), 3);
  EXPECT_TRUE(status.healthy());
  EXPECT_FALSE(parse_status("ok\nphase starting\n").healthy());
}

TEST(Control, ReadsWhetherWhatIsSavedIsOnTheStandby) {
  EXPECT_FALSE(parse_status("ok\nphase running\n").sync);
  const auto behind = parse_status("ok\nphase running\nsaves 1500\n");
  EXPECT_TRUE(behind.sync);
  EXPECT_EQ(behind.behind, std::chrono::milliseconds(1500));
  const auto saves = parse_saves("ok 18446744073709551615 -1");
  EXPECT_EQ(saves.newest, ~std::uint64_t{0});
  EXPECT_LT(saves.behind, Duration{0});
  for (const char* wrong : {"", "ok", "ok 1", "ok -1 0", "ok 1 x", "error nobody is held"})
    EXPECT_THROW(static_cast<void>(parse_saves(wrong)), Error) << wrong;
}

TEST(Control, ReadsOfCapsulesThatHaveRunForMonths) {
  const std::chrono::milliseconds long_ago{2'147'483'648};  // 24.9 days and a bit
  const auto status = parse_status("ok\nphase running\nservice munge ready 12 0 0 0 2147483648\nsaves 2147483648\n");
  EXPECT_EQ(status.services.at(0).since, long_ago);
  EXPECT_EQ(status.behind, long_ago);
  EXPECT_EQ(parse_saves("ok 7 2147483648").behind, long_ago);
}

TEST(Control, DoesNotTrustWhatIsInACapsule) {
  for (const char* wrong : {"", "error", "ok\n", "phase running\n", "ok\nphase running\nservice a ready x 0 0 0 1\n",
                            "ok\nphase running\nservice a ready 1 0 0 0 99999999999999999999\n",
                            "ok\nphase running\nservice a ready 1 0 0 0 9223372036854775807\n",
                            "ok\nphase running\nsaves 1000000000001\n"}) {
    EXPECT_THROW(static_cast<void>(parse_status(wrong)), Error) << wrong;
  }
  for (const char* wrong : {"", "step probe", "step probe x\n", "ok\n"}) {
    EXPECT_THROW(static_cast<void>(parse_step_result(wrong)), Error) << wrong;
  }
}

TEST(Control, ReadsAStepsResultWithItsOutput) {
  const auto result = parse_step_result("step probe 124\nno answer from c1\nno answer from c2\n");
  EXPECT_EQ(result.result, 124);
  EXPECT_EQ(result.output, "no answer from c1\nno answer from c2\n");
  EXPECT_TRUE(parse_step_result("step check 0\n").succeeded());
}

}  // namespace
}  // namespace underway::run
