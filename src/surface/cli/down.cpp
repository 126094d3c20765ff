#include <filesystem>

#include "agent/agent.hpp"
#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/local_agent.hpp"
#include "cli/progress_of_cluster.hpp"
#include "cli/up_lock.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

/// The names of the clusters to take down: that of the directory, or all.
std::vector<std::string> names_of(const Arguments& arguments, sdk::Client& client) {
  std::vector<std::string> names;
  if (!arguments.positional().empty()) {
    names.push_back(load_cluster(arguments.positional().front(), arguments, &client).cluster.name);
    return names;
  }
  for (const auto& cluster : client.clusters()) names.push_back(cluster.name);
  if (names.size() > 1 && !arguments.has("all"))
    throw Error(Code::invalid, "there is more than one cluster").advise("name a directory, or give -all");
  return names;
}

void take_down(const Arguments& arguments, sdk::Client& client) {
  for (const auto& name : names_of(arguments, client)) {
    client.stop_cluster(name);
    follow_until_gone(client, name, std::chrono::minutes(2));
    say(fmt::format("cluster '{}' is down", name));
  }
}

/// What a server that was killed could not take away.
void clean(const std::string& state) {
  const auto left = agent::clean_hosts(state);
  if (left.empty()) return;
  Error error(Code::internal, "not everything could be taken away");
  for (const auto& problem : left) error.because(problem);
  throw error.advise("look at what holds it, and run `underway down -all` again");
}

int run(const Arguments& arguments) {
  const LocalAgent agent{state_directory(arguments)};
  if (arguments.find("address")) {
    auto client = make_client(arguments);
    take_down(arguments, client);
    return kDone;
  }
  if (!std::filesystem::exists(agent.state_directory)) {
    say("nothing is up");
    return kDone;
  }
  bool empty = true;
  {
    const auto lock = lock_changes(agent.state_directory, "underway down", !arguments.has("no-wait"));
    if (agent.answers()) {
      auto client = make_client(arguments);
      take_down(arguments, client);
      empty = client.clusters().empty();
    } else {
      say("no agent answers; what it left is taken away without it");
    }
    if (empty || arguments.has("all")) {
      agent.stop();
      clean(agent.state_directory);
    }
  }
  if (arguments.has("purge")) os::remove_tree(agent.state_directory);
  return kDone;
}

}  // namespace

const Command& down_command() {
  static const Command command{
      .name = "down",
      .arguments = "[DIR]",
      .summary = "Takes away what `up` brought up.",
      .details =
          "Stops the cluster's jobs, removes its hosts and, when no cluster is left, stops the agent. Whatever a "
          "killed agent left behind (processes, mounts, namespaces, cgroups) is found in its ledger and taken away "
          "too.",
      .examples = {"underway down examples/slurm", "underway down -all -purge"},
      .flags = with_variable_flags(
          {{"all", "", "Every cluster, and the agent."},
           {"purge", "", "Removes the state directory too: history, logs, store."},
           {"no-wait", "", "Fails when another `up`, `apply` or `down` is at work, instead of waiting for it."}}),
      .least = 0,
      .most = 1,
      .run = run};
  return command;
}

}  // namespace underway::cli
