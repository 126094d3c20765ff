#include "harness/plan_file.hpp"

#include <gmock/gmock.h>

#include "harness/command.hpp"

namespace underway::harness {
namespace {

using testing::ElementsAre;

constexpr const char* kPlan = R"(# Taking sms apart

## 1. First

```
# on sms; carefully
a 'b'
# no place
c
# on the management side; it starts on c1
d
```

**The way back:** these commands.

```
e
```

## 2. Second

**The way back:** nothing was changed.
)";

TEST(PlanFile, LinesAreTypedWhereTheCommentAboveThemSays) {
  const auto steps = read_plan_steps(kPlan);
  ASSERT_EQ(steps.size(), 2U);
  const auto& first = find_step(steps, "Fir");
  ASSERT_EQ(first.commands.size(), 2U);
  EXPECT_THAT(first.commands[0].lines, ElementsAre("a 'b'", "c"));
  EXPECT_EQ(first.commands[0].host({"c1", "sms"}), "sms");
  EXPECT_EQ(first.commands[1].host({"c1", "sms"}), "");
  ASSERT_EQ(first.back.size(), 1U);
  EXPECT_EQ(first.back[0].host({"sms"}), "");
  EXPECT_TRUE(find_step(steps, "Second").back.empty());
  EXPECT_THROW(find_step(steps, "Third"), std::runtime_error);
}

TEST(PlanFile, ScriptEndsAtTheLineThatFails) {
  const TypedLines lines{"on sms", {"echo 'one'", "test 'two' = three", "echo four"}};
  const auto done = shell(lines.script());
  EXPECT_EQ(done.exit_code, 9);
  EXPECT_EQ(done.out, "one\n");
  EXPECT_EQ(done.err, "failed: test 'two' = three\n");
}

}  // namespace
}  // namespace underway::harness
