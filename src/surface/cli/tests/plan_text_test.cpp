#include "cli/cluster/plan.hpp"

#include <gtest/gtest.h>

#include "cli/impact/impact_text.hpp"

namespace underway::cli {
namespace {

TEST(ShortfallText, SaysWhatDoesNotRunWhyAndWhatToDo) {
  const wire::Shortfall failed{.job = "slurmd",
                               .version = 3,
                               .needs_you = true,
                               .what = "version 3 failed on c1; 5 of 6 run version 2",
                               .why = "cannot run '/nonexistent/slurmd': No such file or directory",
                               .advice = "mend the file and apply it, or go back: underway job revert slurmd 2"};
  const wire::Shortfall going{.job = "web", .what = "version 1 is being rolled out: 1 of 3 healthy"};
  EXPECT_EQ(shortfall_text({failed, going}),
            "! slurmd: version 3 failed on c1; 5 of 6 run version 2\n"
            "    why: cannot run '/nonexistent/slurmd': No such file or directory\n"
            "    do:  mend the file and apply it, or go back: underway job revert slurmd 2\n"
            "~ web: version 1 is being rolled out: 1 of 3 healthy\n");
  EXPECT_EQ(shortfall_text({}), "");
}

TEST(ProspectsText, SaysHowItIsRolledOutAndWhatIsTrueIfItFails) {
  EXPECT_EQ(prospects_text({{"slurmd", "1 of 6 first, then 1 at a time; it goes back by itself when one fails",
                             "c1 is without slurmd for at most 50s, SlurmdTimeout is 60 s; then it goes back"}}),
            "  slurmd: 1 of 6 first, then 1 at a time; it goes back by itself when one fails\n"
            "    if it fails: c1 is without slurmd for at most 50s, SlurmdTimeout is 60 s; then it goes back\n");
}

}  // namespace
}  // namespace underway::cli
