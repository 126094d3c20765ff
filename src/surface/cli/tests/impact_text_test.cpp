#include "cli/impact/impact_text.hpp"

#include <gtest/gtest.h>

namespace underway::cli {
namespace {

using model::Impact;

TEST(ImpactLine, IsThatOfTheWorstPart) {
  const model::Judgement moves{Impact::brief, "node c1 is emptied: 1 service moves to other nodes"};
  const model::Judgement waits{Impact::drain, "node c2 is emptied: its Slurm jobs end first"};
  EXPECT_EQ(impact_line({moves}), "Impact: brief: node c1 is emptied: 1 service moves to other nodes");
  EXPECT_EQ(impact_line({moves, waits}), "Impact: drain: node c2 is emptied: its Slurm jobs end first");
  EXPECT_EQ(
      impact_line({waits, waits, waits, waits, waits}),
      "Impact: drain: node c2 is emptied: its Slurm jobs end first; node c2 is emptied: its Slurm jobs end first; "
      "node c2 is emptied: its Slurm jobs end first; and 2 more");
  EXPECT_EQ(impact_line({{Impact::none, "node c3 is emptied: nothing that runs there is missed"}}),
            "Impact: none: node c3 is emptied: nothing that runs there is missed");
  EXPECT_EQ(impact_line({}), "Impact: none: nothing that runs is touched");
}

}  // namespace
}  // namespace underway::cli
