#include "harness/machine.hpp"
#include "harness/places.hpp"

#include <signal.h>
#include <unistd.h>

namespace underway::harness {

using std::chrono::seconds;

Machine::Machine(const std::string& disk) {
  if (!disk.empty()) {
    const auto mounted = shell("mkdir " + state() + " && mount -t tmpfs -o size=" + disk + " tmpfs " + state());
    EXPECT_EQ(mounted.exit_code, 0) << mounted.err;
  }
  start();
}

Machine::~Machine() {
  for (const auto& job : jobs_) underway({"job", "stop", "-purge", "-yes", job});
  agent_.reset();
  // Tasks outlive agents: what the killed ones left is found by this directory, which is in every environment. More
  // than once, since a keeper may be about to start its task. The shell that looks has it in its arguments: without
  // sparing itself it would end before those whose pids come after its own.
  const std::string& mine = directory_.path();
  const auto kill_tasks = [&] {
    shell("for p in /proc/[0-9]*; do [ $p = /proc/$$ ] || { grep -qsz " + mine +
          " $p/environ $p/cmdline && kill -9 ${p#/proc/}; }; done; true");
  };
  kill_tasks();
  eventually(seconds(5), [&] {
    return shell("awk '{print $5}' /proc/self/mountinfo | grep " + mine + " | xargs -r umount -q; ! grep -q " + mine +
                 " /proc/self/mountinfo")
               .exit_code == 0;
  });
  // With their directories gone, keepers that nobody collected go too. Cgroups have the names of allocations.
  const std::string allocations = mine + "/allocations";
  shell("ls " + state() + "/client/alloc > " + allocations + "; rm -rf " + state());
  const auto gone = [&] {
    if (shell("! ls -l /proc/[0-9]*/fd 2>/dev/null | grep -q " + mine).exit_code == 0) return true;
    kill_tasks();
    return false;
  };
  EXPECT_TRUE(eventually(seconds(10), gone)) << shell("ls -l /proc/[0-9]*/fd 2>/dev/null | grep " + mine).out;
  shell("find /sys/fs/cgroup -depth -type d -path '*/underway/*' | grep -F -f " + allocations + " | xargs -r rmdir");
}

void Machine::start(const std::vector<std::string>& more) {
  auto agent = command({"agent", "-server", "-client", "-http=none", "-plugin=raw_exec", "-data-dir=" + state()});
  agent.argv.insert(agent.argv.end(), more.begin(), more.end());
  if (const std::string config = directory() + "/agent.hcl"; ::access(config.c_str(), R_OK) == 0)
    agent.argv.push_back("-config=" + config);
  agent.argv.insert(agent.argv.begin(), {"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>>" + log()});
  // The server knows its node as ready from before it was killed: that the node is there again, only the node can say.
  const auto links = [&] { return shell("cat " + log() + " 2>/dev/null | grep -c 'node: linked as'").out; };
  const std::string before = links();
  agent_.emplace(agent);
  const bool ready = eventually(seconds(20), [&] {
    return links() != before && underway({"node", "status"}).out.find("ready") != std::string::npos;
  });
  ASSERT_TRUE(ready) << "the agent did not come up";
  const auto trusted = underway({"namespace", "apply", "-raw-exec-as-root", "default"});
  ASSERT_EQ(trusted.exit_code, 0) << trusted.err;
}

void Machine::kill_agent() {
  agent_->signal(SIGKILL);
  agent_->wait(seconds(5));
}

Command Machine::command(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), binary_dir() + "/bin/underway");
  return {.argv = std::move(arguments), .env = {{"UNDERWAY_STATE", state()}, {"NO_COLOR", "1"}}, .limit = seconds(60)};
}

Finished Machine::run_job(const std::string& id, const std::string& text) {
  jobs_.insert(id);
  const std::string file = directory_.path() + "/" + id + ".hcl";
  write_text(file, text);
  return underway({"job", "run", file});
}

}  // namespace underway::harness
