#include "harness/capsule/two_agents.hpp"
#include "harness/places.hpp"

#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <csignal>

namespace underway::harness {
namespace {

using std::chrono::seconds;

const std::string kAgentProgram = binary_dir() + "/bin/underway";

}  // namespace

TwoAgents::TwoAgents()
    : network_({.argv = {"unshare", "--net", "/bin/sh", "-c", "ip link set lo up && exec sleep infinity"},
                .limit = seconds(600)}) {
  for (const char* role : {"server", "node"}) {
    ::mkdir(file(role).c_str(), 0755);
    EXPECT_EQ(::mount("tmpfs", file(role).c_str(), "tmpfs", 0, "size=96m"), 0) << "needs root";
  }
  // It is there once its first process sleeps in it.
  EXPECT_TRUE(
      eventually(seconds(10), [&] { return read_text(fmt::format("/proc/{}/comm", network_.pid())) == "sleep\n"; }));
}

TwoAgents::~TwoAgents() {
  for (auto* agent : {&node_, &server_}) {
    if (!*agent) continue;
    (*agent)->signal(SIGCONT);
    (*agent)->signal(SIGTERM);
    (*agent)->wait(seconds(20));
    agent->reset();
  }
  // Keepers of tasks that have ended wait for an agent, and go with their directory, which has to be removed while they
  // can hear of it.
  shell("rm -rf " + file("node") + "/client/alloc/*/*/private");
  shell("for p in $(grep -lsz '" + directory_.path() + "' /proc/[0-9]*/environ /proc/[0-9]*/cmdline | cut -d/ -f3 | " +
        "sort -u); do [ $p != $$ ] && kill -CONT $p && kill -KILL $p; done 2>/dev/null");
  const std::string& mine = directory_.path();
  EXPECT_TRUE(eventually(seconds(10), [&] {
    return shell("awk '{print $5}' /proc/self/mountinfo | grep " + mine +
                 " | sort -r | xargs -r umount -ql; ! grep -q " + mine + " /proc/self/mountinfo")
               .exit_code == 0;
  }));
}

void TwoAgents::start(const std::string& server, const std::string& client) {
  write_text(
      file("server.hcl"),
      fmt::format("data_dir = \"{}\"\nname = \"mgmt\"\nserver {{\n  enabled = true\n{}\n}}\n", file("server"), server));
  server_.emplace(agent("server"));
  ASSERT_TRUE(eventually(seconds(20), [&] { return underway({"node", "status"}).exit_code == 0; })) << log("server");
  const auto token = underway({"node", "join-token", "create"});
  ASSERT_EQ(token.exit_code, 0) << token.err;
  write_text(file("token"), token.out);
  ::chmod(file("token").c_str(), 0600);
  write_text(file("node.hcl"),
             fmt::format("data_dir = \"{}\"\nname = \"c1\"\nclient {{\n  enabled = true\n  servers = "
                         "[\"https://127.0.0.1:4646\"]\n  join_token_file = \"{}\"\n{}\n}}\nplugin \"raw_exec\" {{\n  "
                         "config {{\n    enabled = true\n  }}\n}}\n",
                         file("node"), file("token"), client));
  node_.emplace(agent("node"));
  ASSERT_TRUE(eventually(seconds(20), [&] {
    return underway({"node", "status"}).out.find(" ready") != std::string::npos;
  })) << log("node");
  ASSERT_EQ(underway({"namespace", "apply", "-raw-exec-as-root", "default"}).exit_code, 0);
}

std::vector<std::string> TwoAgents::in_network() const {
  return {"nsenter", "--net", "--target", std::to_string(network_.pid())};
}

Command TwoAgents::agent(const std::string& name) const {
  Command command{.argv = in_network(), .limit = seconds(600)};
  const auto line =
      fmt::format("exec {} agent -config {} >>{} 2>&1", kAgentProgram, file(name + ".hcl"), file(name + ".log"));
  for (const auto& word : {std::string("/bin/sh"), std::string("-c"), line}) command.argv.push_back(word);
  return command;
}

Finished TwoAgents::underway(std::vector<std::string> arguments, seconds limit) const {
  arguments.insert(arguments.begin(), kAgentProgram);
  return run(
      {.argv = std::move(arguments), .env = {{"UNDERWAY_STATE", file("server")}, {"NO_COLOR", "1"}}, .limit = limit});
}

Finished TwoAgents::run_sleeper(const std::string& id) const {
  write_text(file(id + ".hcl"),
             "job \"" + id +
                 "\" {\n  update {\n    min_healthy_time = \"100ms\"\n  }\n  group \"g\" {\n"
                 "    ephemeral_disk {\n      size = 10\n    }\n"
                 "    task \"t\" {\n      driver = \"raw_exec\"\n      config {\n        command = "
                 "\"/bin/sleep\"\n        args = [\"86391\"]\n      }\n      resources {\n        "
                 "cpu = 10\n        memory = 20\n      }\n      logs {\n        max_files = 1\n        "
                 "max_file_size = 1\n      }\n    }\n  }\n}\n");
  return underway({"job", "run", file(id + ".hcl")});
}

std::string TwoAgents::pid_of_task(const std::string& id) const {
  return shell("for p in $(pgrep -x sleep); do tr '\\0' '\\n' < /proc/$p/environ | grep -qx NOMAD_JOB_ID=" + id +
               " && grep -qsz " + directory_.path() + " /proc/$p/environ && echo $p; done")
      .out;
}

}  // namespace underway::harness
