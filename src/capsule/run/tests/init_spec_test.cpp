#include <gtest/gtest.h>

#include "base/error.hpp"
#include "run/config/init_text.hpp"
#include "run/init/spec.hpp"

namespace underway::run {
namespace {

Program example() {
  Program program;
  image::Service munge;
  munge.name = "munge";
  munge.command = {"/usr/sbin/munged", "-F", "with space", "with\nline", "100%"};
  munge.user = "munge";
  munge.environment = {{"A", "b=c"}};
  image::Service ctl;
  ctl.name = "slurmctld";
  ctl.command = {"/usr/sbin/slurmctld"};
  ctl.depends_on = {"munge"};
  ctl.ready = {"/bin/true"};
  ctl.restart = image::Restart::on_failure;
  ctl.stop_signal = "SIGINT";
  ctl.stop_timeout = std::chrono::milliseconds(1500);
  program.services = {munge, ctl};
  image::Step probe;
  probe.moment = image::Moment::probe;
  probe.command = {"/bin/probe", ""};
  probe.timeout = std::chrono::seconds(3);
  program.steps = {probe};
  return program;
}

TEST(InitSpec, IsReadAsItWasWritten) {
  auto text = encode_init_spec(example(), 7);
  static init::Spec spec;
  spec = {};
  ASSERT_TRUE(init::parse_spec(text.data(), spec));
  ASSERT_EQ(spec.service_count, 2);
  const auto& munge = spec.services[0];
  EXPECT_STREQ(munge.name, "munge");
  ASSERT_EQ(munge.command.count, 5);
  EXPECT_STREQ(munge.command.items[2], "with space");
  EXPECT_STREQ(munge.command.items[3], "with\nline");
  EXPECT_STREQ(munge.command.items[4], "100%");
  EXPECT_EQ(munge.command.items[5], nullptr);
  EXPECT_STREQ(munge.environment.items[0], "A=b=c");
  EXPECT_STREQ(munge.user, "munge");
  const auto& ctl = spec.services[1];
  EXPECT_STREQ(ctl.after.items[0], "munge");
  EXPECT_STREQ(ctl.ready.items[0], "/bin/true");
  EXPECT_EQ(ctl.restart, init::Restart::on_failure);
  EXPECT_EQ(ctl.stop_signal, 2);
  EXPECT_EQ(ctl.stop_ms, 1500);
  ASSERT_EQ(spec.step_count, 1);
  EXPECT_EQ(spec.steps[0].moment, init::Moment::probe);
  EXPECT_STREQ(spec.steps[0].command.items[1], "");
  EXPECT_EQ(spec.steps[0].timeout_ms, 3000);
  EXPECT_EQ(spec.attempts, 7);
}

TEST(InitSpec, SaysWhatInitHasForItselfWhenServicesAreHeld) {
  for (const auto& own : {std::optional<os::Capabilities>(), std::optional<os::Capabilities>(1U << 19)}) {
    auto text = encode_init_spec(example(), 7, own);
    init::Spec spec;
    ASSERT_TRUE(init::parse_spec(text.data(), spec));
    EXPECT_EQ(spec.sync, own.has_value());
    EXPECT_EQ(spec.own, own.value_or(0));
  }
}

TEST(InitSpec, RefusesWhatIsNone) {
  for (const char* wrong : {"", "other 1\n", "capsule-init 1\nservice a\n", "capsule-init 1\nnoblank\n",
                            "capsule-init 1\nservice a\narg /a\nafter b\n", "capsule-init 1\nstep noon\narg /a\n",
                            "capsule-init 1\nstep probe\n"}) {
    std::string text = wrong;
    static init::Spec spec;
    spec = {};
    EXPECT_FALSE(init::parse_spec(text.data(), spec)) << wrong;
  }
}

TEST(InitSpec, SaysWhatIsTooMuch) {
  auto program = example();
  program.services[0].command.resize(init::kMaxWords, "x");
  EXPECT_THROW(encode_init_spec(program, 1), Error);
  program = example();
  program.services.resize(init::kMaxServices + 1, program.services[0]);
  EXPECT_THROW(encode_init_spec(program, 1), Error);
}

}  // namespace
}  // namespace underway::run
