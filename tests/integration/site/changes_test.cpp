// What docs/how-to/count-maintenance-windows.md promises, on a real agent: a change is classed before it is made, and
// listed with that class afterwards, also when the server was killed in between.
#include "harness/machine.hpp"

namespace underway::harness {
namespace {

std::string job(int count, const std::string& mode) {
  return "job \"relay\" {\n  update {\n    min_healthy_time = \"100ms\"\n  }\n  group \"g\" {\n    count = " +
         std::to_string(count) + "\n    task \"t\" {\n      driver = \"raw_exec\"\n      user = \"nobody\"\n" +
         "      config {\n        command = \"/bin/sleep\"\n        args = [\"1000\"]\n      }\n      env {\n" +
         "        MODE = \"" + mode +
         "\"\n      }\n      resources {\n        cpu = 10\n        memory = 20\n      }\n    }\n  }\n}\n";
}

class ChangesTest : public testing::Test {
 protected:
  std::string planned(const std::string& text) {
    write_text(file(), text);
    const auto plan = machine_.underway({"job", "plan", file()});
    EXPECT_EQ(plan.exit_code, 1) << plan.out << plan.err;
    const auto at = plan.out.find("- Impact: ");
    return at == std::string::npos ? plan.out : plan.out.substr(at + 10, plan.out.find('\n', at) - at - 10);
  }
  void made(const std::string& text) {
    const auto ran = machine_.run_job("relay", text);
    ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  }
  std::string changes(std::vector<std::string> more = {}) {
    more.insert(more.begin(), "changes");
    const auto done = machine_.underway(std::move(more));
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done.out;
  }
  std::string file() const { return machine_.directory() + "/relay.hcl"; }

  Machine machine_;
};

TEST_F(ChangesTest, AreClassedBeforeTheyAreMadeAndCountedAfterwards) {
  EXPECT_EQ(changes(), "0 changes: 0 no-impact, 0 drain, 0 outage\n");
  EXPECT_EQ(planned(job(1, "a")), "none: job 'relay' is new");
  made(job(1, "a"));
  const std::string replaced = "brief: job 'relay' is replaced, and away until the new one runs";
  EXPECT_EQ(planned(job(1, "b")), replaced);
  made(job(1, "b"));
  const auto told = machine_.underway({"node", "drain", "-enable", "-self", "-dry-run"}).out;
  EXPECT_TRUE(told.starts_with("Impact: outage: node ")) << told;
  EXPECT_TRUE(told.ends_with(" is emptied: job 'relay' has nowhere to go (there is no other node)\n")) << told;
  const auto drained = machine_.underway({"node", "drain", "-enable", "-yes", "-self", "-deadline", "1h", "-detach"});
  EXPECT_EQ(drained.exit_code, 0) << drained.err;
  EXPECT_TRUE(drained.err.starts_with(told)) << drained.err;

  machine_.kill_agent();
  machine_.start();

  const auto list = changes();
  for (const char* line : {"none    run job 'relay'", "brief   run job 'relay'", "outage  drain node ",
                           "job 'relay' has nowhere to go (there is no other node)",
                           "\n\n3 changes: 2 no-impact (1 brief), 0 drain, 1 outage\n"})
    EXPECT_NE(list.find(line), std::string::npos) << line << "\nis not in\n" << list;
  EXPECT_NE(changes({"-since", "0d"}).find("0 changes"), std::string::npos);
  EXPECT_NE(changes({"-json"}).find("\"Outage\": 1"), std::string::npos);
  const auto wrong = machine_.underway({"changes", "-since", "yesterday"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_NE(wrong.err.find("90m, 365d"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace underway::harness
