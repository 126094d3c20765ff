// Jobs that start others, counts, tags and actions, with the real command line and a real agent.
#include <algorithm>

#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

std::string job(const std::string& id, const std::string& type, const std::string& more, const std::string& script,
                const std::string& in_task = {}) {
  return "job \"" + id + "\" {\n  type = \"" + type + "\"\n" + more + "  group \"g\" {\n    task \"t\" {\n" +
         "      driver = \"raw_exec\"\n      user = \"nobody\"\n" + in_task +
         "      config {\n        command = \"/bin/sh\"\n        args = [\"-c\", <<EOS\n" + script +
         "\nEOS\n        ]\n      }\n      resources {\n        cpu = 20\n        memory = 20\n      }\n    }\n  "
         "}\n}\n";
}

class BatchJobs : public testing::Test {
 protected:
  void SetUp() override { machine_.start(); }
  Finished ok(std::vector<std::string> arguments) const {
    auto finished = machine_.underway(std::move(arguments));
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    return finished;
  }
  std::size_t lines_with(const std::string& text, const std::string& word) const {
    std::size_t count = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
    return count;
  }
  /// Until all of it is there: the first line alone may be, while the task is about to write the next.
  void expect_output(const std::string& id, const std::string& all) const {
    std::string out;
    EXPECT_TRUE(eventually(seconds(60),
                           [&] {
                             out = machine_.underway({"alloc", "logs", "-job", id}).out;
                             return out == all;
                           }))
        << id << " has: " << out;
  }
  Machine machine_;
};

TEST_F(BatchJobs, AreStartedByTheClockAndByDispatch) {
  // Every second, and not while the last one runs; killed in the middle.
  machine_.run_job(
      "tick", job("tick", "batch", "  periodic {\n    crons = [\"* * * * * * *\"]\n    prohibit_overlap = true\n  }\n",
                  "echo $NOMAD_JOB_PARENT_ID"));
  const auto started = [&] { return lines_with(machine_.underway({"job", "status", "tick"}).out, "tick/periodic-"); };
  EXPECT_TRUE(eventually(seconds(60), [&] { return started() >= 2; }));
  machine_.kill_agent();
  machine_.start();
  const auto before = started();
  EXPECT_TRUE(eventually(seconds(60), [&] { return started() > before; }));
  ok({"job", "stop", "tick"});
  const auto children = ok({"job", "status", "tick"}).out;
  EXPECT_NE(children.find("Children Job Summary"), std::string::npos) << children;
  const auto first = children.find("tick/periodic-");
  expect_output(children.substr(first, children.find(' ', first) - first), "tick\n");
  EXPECT_NE(machine_.underway({"job", "periodic", "force", "tick"}).exit_code, 0) << "it is stopped";

  machine_.run_job("report", job("report", "batch", "  parameterized {\n    meta_required = [\"user\"]\n  }\n",
                                 "echo $NOMAD_META_user; cat local/in.txt",
                                 "      dispatch_payload {\n        file = \"in.txt\"\n      }\n"));
  const std::string file = machine_.directory() + "/payload";
  ASSERT_EQ(shell("printf 'forty two' > " + file).exit_code, 0);
  EXPECT_NE(machine_.underway({"job", "dispatch", "report", file}).err.find("required meta keys"), std::string::npos);
  const auto dispatched = ok({"job", "dispatch", "-meta", "user=ada", "-idempotency-token", "a", "report", file}).out;
  const auto id = dispatched.substr(dispatched.find("report/dispatch-"));
  expect_output(id.substr(0, id.find('\n')), "ada\nforty two");
  EXPECT_EQ(ok({"job", "dispatch", "-meta", "user=ada", "-idempotency-token", "a", "report"})
                    .out.find(id.substr(0, id.find('\n'))) == std::string::npos,
            false);

  // An allocation that may not run for long, with a server that may be away.
  auto limited = job("limited", "batch", "", "sleep 600");
  limited.insert(
      limited.find("    task \"t\""),
      "    max_run_duration = \"2s\"\n    reschedule {\n      attempts = 0\n      unlimited = false\n    }\n");
  machine_.run_job("limited", limited);
  EXPECT_TRUE(eventually(seconds(60), [&] {
    return machine_.underway({"job", "status", "limited"}).out.find("failed") != std::string::npos;
  }));
}

TEST_F(BatchJobs, CountsTagsAndActionsOfAService) {
  auto web = job("web", "service", "", "sleep 600",
                 "      action \"greet\" {\n        command = \"/bin/echo\"\n        args = [\"hello\"]\n      }\n");
  web.insert(web.find("    task \"t\""),
             "    update {\n      max_parallel = 0\n    }\n    scaling {\n      min = 1\n      max = 2\n    }\n");
  EXPECT_EQ(machine_.run_job("web", web).exit_code, 0);
  ok({"job", "tag", "apply", "-name", "golden", "web"});
  ok({"job", "scale", "web", "2"});
  EXPECT_NE(machine_.underway({"job", "scale", "web", "3"}).err.find("maximum"), std::string::npos);
  EXPECT_NE(ok({"job", "scaling-events", "web"}).out.find("2"), std::string::npos);
  EXPECT_NE(ok({"scaling", "policy", "list"}).out.find("default/web/g"), std::string::npos);
  EXPECT_NE(ok({"action", "-job", "web", "-t", "false", "-i", "false", "greet"}).out.find("hello"), std::string::npos);
  ok({"job", "revert", "web", "golden"});
  EXPECT_NE(ok({"job", "inspect", "web"}).out.find("\"Count\": 1"), std::string::npos);
  EXPECT_NE(ok({"job", "history", "-diff-tag", "golden", "web"}).out.find("Tag Name"), std::string::npos);
}

}  // namespace
}  // namespace underway::harness
