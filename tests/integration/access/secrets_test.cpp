// Secrets on a real agent: where they are, where they are not, and who gets them.
#include <gtest/gtest.h>

#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

const std::string kSecret = "correct-horse-battery-staple-7261";

std::string sleeper(const std::string& id, const std::string& more) {
  return "job \"" + id +
         "\" {\n  update {\n    min_healthy_time = \"200ms\"\n  }\n  group \"g\" {\n    task \"t\" {\n      driver = "
         "\"raw_exec\"\n      config {\n" +
         "        command = \"/bin/sleep\"\n        args = [\"86398\"]\n      }\n" + more +
         "      resources {\n        cpu = 10\n        memory = 20\n      }\n    }\n  }\n}\n";
}

Finished put(const Machine& machine, const std::string& path, const std::string& value,
             std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"var", "put"});
  more.insert(more.end(), {path, "password=-"});
  auto command = machine.command(std::move(more));
  command.input = value;
  return run(command);
}

/// Files below the state directory and the agents' log that hold the text in the clear. Memory file systems of tasks
/// are where secrets belong.
std::string files_with(const Machine& machine, const std::string& text) {
  return shell("grep -rla --exclude-dir=secrets -e '" + text + "' -e \"$(printf %s '" + text + "' | base64)\" " +
               machine.state() + " " + machine.log())
      .out;
}

std::string only_allocation(const Machine& machine, const std::string& job) {
  const std::string list = machine.underway({"operator", "api", "/v1/job/" + job + "/allocations"}).out;
  const auto begin = list.find("\"ID\":\"") + 6;
  return list.substr(begin, 36);
}

std::string in_task(const Machine& machine, const std::string& allocation, const std::string& line) {
  return machine.underway({"alloc", "exec", allocation, "/bin/sh", "-c", line}).out;
}

std::string restarts_of(const Machine& machine, const std::string& allocation) {
  const std::string text = machine.underway({"operator", "api", "/v1/allocation/" + allocation}).out;
  const auto begin = text.find("\"Restarts\":");
  return text.substr(begin, text.find_first_of(",}", begin) - begin);
}

TEST(Secrets, AreReadBackAfterACrashAndLieNowhereInTheClear) {
  Machine machine;
  const auto first = put(machine, "nomad/jobs/web", kSecret);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(machine.underway({"var", "get", "-item", "password", "nomad/jobs/web"}).out, kSecret);
  EXPECT_EQ(files_with(machine, kSecret), "");

  machine.kill_agent();
  machine.start();
  EXPECT_EQ(machine.underway({"var", "get", "-item", "password", "nomad/jobs/web"}).out, kSecret);
  const auto rotated = machine.underway({"operator", "root", "keyring", "rotate", "-full"});
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  EXPECT_EQ(machine.underway({"var", "get", "-item", "password", "nomad/jobs/web"}).out, kSecret);
  EXPECT_EQ(files_with(machine, kSecret), "");
}

std::string secret_block(const std::string& path) {
  return "      secret \"db\" {\n        provider = \"nomad\"\n        path = \"" + path +
         "\"\n      }\n      env {\n        DSN = \"user:${secret.db.password}\"\n      }\n      template {\n"
         "        destination = \"secrets/conf\"\n        data = \"pass=${secret.db.password}\"\n      }\n";
}

TEST(Secrets, OfABlockAreInTheTasksEnvironmentAndTemplatesAndNowhereElse) {
  Machine machine;
  ASSERT_EQ(put(machine, "nomad/jobs/web", kSecret).exit_code, 0);
  const auto started = machine.run_job("web", sleeper("web", secret_block("nomad/jobs/web")));
  ASSERT_EQ(started.exit_code, 0) << started.err;
  const std::string allocation = only_allocation(machine, "web");
  const auto seen = [&] { return in_task(machine, allocation, "echo \"$DSN\"; cat $NOMAD_SECRETS_DIR/conf"); };
  EXPECT_EQ(seen(), "user:" + kSecret + "\npass=" + kSecret);
  EXPECT_EQ(files_with(machine, kSecret), "");
  // A pattern that does not find itself.
  const std::string pattern = "[" + kSecret.substr(0, 1) + "]" + kSecret.substr(1);
  EXPECT_EQ(shell("grep -la -e '" + pattern + "' /proc/[0-9]*/cmdline 2>/dev/null").out, "");
  EXPECT_EQ(machine.underway({"operator", "api", "/v1/allocation/" + allocation}).out.find(kSecret), std::string::npos);

  machine.kill_agent();
  machine.start();
  ASSERT_EQ(put(machine, "nomad/jobs/web", "another-one", {"-force"}).exit_code, 0);
  EXPECT_EQ(machine.underway({"alloc", "restart", allocation}).exit_code, 0);
  EXPECT_TRUE(eventually(seconds(20), [&] { return seen() == "user:another-one\npass=another-one"; })) << seen();
}

TEST(Secrets, OfABlockAreRefusedToATaskThatMayNotReadThem) {
  Machine machine;
  ASSERT_EQ(put(machine, "nomad/jobs/other", kSecret).exit_code, 0);
  write_text(machine.directory() + "/web.hcl", sleeper("web", secret_block("nomad/jobs/other")));
  EXPECT_EQ(machine.underway({"job", "run", "-detach", machine.directory() + "/web.hcl"}).exit_code, 0);
  std::string told;
  const auto refused = [&] {
    told = machine.underway({"alloc", "status", only_allocation(machine, "web")}).out;
    return told.find("Setup Failure") != std::string::npos;
  };
  EXPECT_TRUE(eventually(seconds(20), refused)) << told;
  EXPECT_NE(told.find("nomad/jobs/other"), std::string::npos) << told;
  machine.underway({"job", "stop", "-purge", "web"});
}

TEST(Secrets, AreNotWrittenOverByAccident) {
  Machine machine;
  ASSERT_EQ(put(machine, "a/b", "first").exit_code, 0);
  const auto second = put(machine, "a/b", "second");
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_NE(second.err.find("-check-index"), std::string::npos) << second.err;
  EXPECT_EQ(second.err.find("first"), std::string::npos) << second.err;
  EXPECT_EQ(put(machine, "a/b", "third", {"-force"}).exit_code, 0);
  EXPECT_EQ(machine.underway({"var", "get", "-item", "password", "a/b"}).out, "third");
  EXPECT_EQ(machine.underway({"var", "purge", "-yes", "a/b"}).exit_code, 0);
  EXPECT_EQ(machine.underway({"var", "get", "a/b"}).exit_code, 1);
}

TEST(Secrets, LockedByACommandBelongToItWhileItRuns) {
  Machine machine;
  const std::string go = machine.directory() + "/go";
  Background holder(machine.command(
      {"var", "lock", "cron/one", "/bin/sh", "-c", "until [ -e " + go + " ]; do sleep 0.05; done; exit 3"}));
  ASSERT_TRUE(eventually(seconds(20), [&] { return put(machine, "cron/one", "x", {"-force"}).exit_code == 1; }));
  write_text(go, "");
  EXPECT_EQ(holder.wait(seconds(30)), 3) << "the exit code is the command's";
  EXPECT_EQ(put(machine, "cron/one", "x", {"-force"}).exit_code, 0);
}

TEST(Identity, IsRenewedInItsFileAndRestartsNothing) {
  Machine machine;
  const auto started = machine.run_job(
      "web",
      sleeper("web", "      identity {\n        env = true\n        file = true\n        ttl = \"10s\"\n      }\n"));
  ASSERT_EQ(started.exit_code, 0) << started.err;
  const std::string allocation = only_allocation(machine, "web");
  const std::string token = in_task(machine, allocation, "cat $NOMAD_SECRETS_DIR/nomad_token");
  ASSERT_TRUE(token.starts_with("eyJ")) << token;
  EXPECT_EQ(in_task(machine, allocation, "stat -c %a $NOMAD_SECRETS_DIR/nomad_token"), "600\n");
  EXPECT_EQ(in_task(machine, allocation, "stat -f -c %T $NOMAD_SECRETS_DIR"), "tmpfs\n");
  EXPECT_TRUE(in_task(machine, allocation, "printf %s \"$NOMAD_TOKEN\"").starts_with("eyJ"));
  EXPECT_EQ(files_with(machine, token), "");
  const auto renewed = [&](const std::string& old) {
    return eventually(seconds(20), [&] {
      const std::string now = in_task(machine, allocation, "cat $NOMAD_SECRETS_DIR/nomad_token");
      return now.starts_with("eyJ") && now != old;
    });
  };
  EXPECT_TRUE(renewed(token));
  machine.kill_agent();
  machine.start();
  EXPECT_TRUE(renewed(in_task(machine, allocation, "cat $NOMAD_SECRETS_DIR/nomad_token")));
  EXPECT_EQ(restarts_of(machine, allocation), "\"Restarts\":0");
}

}  // namespace
}  // namespace underway::harness
