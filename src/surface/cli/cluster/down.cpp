#include <filesystem>
#include <memory>

#include "agent/agent.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/agent/local_agent.hpp"
#include "cli/cluster/progress_of_cluster.hpp"
#include "cli/cluster/up_lock.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/impact/cluster_losses.hpp"
#include "cli/impact/loss.hpp"
#include "os/file.hpp"
#include "os/trash.hpp"

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

/// What goes with clusters that a server knows; without `client`, with what its agent left on this machine. Nobody is
/// asked for it where it was agreed to already: what is broken is taken down as well.
Loss loss_of(const std::vector<std::string>& names, const Arguments& arguments, sdk::Client* client) {
  Loss loss;
  if (arguments.has(kYes.name)) return loss;
  for (const auto& name : names) {
    if (client == nullptr) {
      loss.lost.push_back(fmt::format("what is left of cluster '{}', whose agent does not answer", name));
      continue;
    }
    std::vector<std::string> hosts;
    for (const auto& host : client->hosts(name)) hosts.push_back(host.name);
    for (auto& line : losses_of_removal(ask_facts(*client, name), name, hosts, current_time()))
      loss.lost.push_back(names.size() == 1 ? std::move(line) : name + ": " + line);
  }
  if (arguments.has("purge")) {
    std::vector<std::string> secrets;
    if (client != nullptr) {
      for (const auto& variable : client->variables()) secrets.push_back(variable.path);
    }
    for (auto& line : losses_of_state(secrets)) loss.lost.push_back(std::move(line));
  }
  loss.word = names.empty() ? "purge" : join(names, " ");
  loss.deed = names.empty()
                  ? "this takes the state directory away"
                  : fmt::format("this takes cluster{} '{}' away", names.size() == 1 ? "" : "s", join(names, "', '"));
  return loss;
}

void take_down(const std::vector<std::string>& names, sdk::Client& client) {
  for (const auto& name : names) {
    client.stop_cluster(name);
    follow_until_gone(client, name, std::chrono::minutes(2));
    say(fmt::format("cluster '{}' is down", name));
  }
}

/// What a server that was killed could not take away.
void clean(const std::string& state) {
  const auto left = agent::clean_hosts(state);
  if (left.empty()) return;
  throw Error(Code::internal, "not everything could be taken away")
      .because(left)
      .advise("look at what holds it, and run `underway down -all` again");
}

/// All that is there goes into the trash in one piece; without it, and where the disk has no room for it, away.
void purge(const std::string& state, bool keep) {
  const os::Trash trash(state + "/trash");
  if (keep) {
    const std::string leaving = state + "/purged";
    os::make_directories(leaving, 0700);
    for (const auto& entry : os::list_directory(state)) {
      if (entry.name == "trash" || entry.name == "purged") continue;
      std::filesystem::rename(state + "/" + entry.name, leaving + "/" + entry.name);
    }
    trash.put(leaving, "state", current_time());
    if (const auto kept = trash.list(); !kept.empty()) {
      say(fmt::format("what was there lies in {} for a week: `underway trash list`", trash.directory()));
      return;
    }
    say("the disk has no room for a trash: nothing is kept");
  }
  for (const auto& entry : os::list_directory(state)) os::remove_tree(state + "/" + entry.name);
  // A directory that is a file system of its own stays, and is empty.
  std::error_code is_mounted;
  std::filesystem::remove(state, is_mounted);
}

/// The clusters that have something on this machine, whoever made it.
std::vector<std::string> names_in(const std::string& state) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(state + "/clusters", none))
    names.push_back(entry.path().filename());
  return names;
}

/// Clusters of a server elsewhere.
int take_down_there(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto names = names_of(arguments, client);
  if (const auto answer = ask_before(loss_of(names, arguments, &client), arguments); answer != kDone) return answer;
  take_down(names, client);
  return kDone;
}

int run_down(const Arguments& arguments) {
  const LocalAgent agent{state_directory(arguments)};
  if (arguments.find("address")) return take_down_there(arguments);
  if (!std::filesystem::exists(agent.state_directory)) {
    say("nothing is up");
    return kDone;
  }
  bool empty = true;
  {
    const auto lock = lock_changes(agent.state_directory, "underway down", !arguments.has("no-wait"));
    const std::unique_ptr<sdk::Client> client(agent.answers() ? new sdk::Client(make_client(arguments)) : nullptr);
    const auto names = client ? names_of(arguments, *client) : names_in(agent.state_directory);
    if (const auto answer = ask_before(loss_of(names, arguments, client.get()), arguments); answer != kDone)
      return answer;
    if (client) {
      take_down(names, *client);
      empty = client->clusters().empty();
    } else {
      say("no agent answers; what it left is taken away without it");
    }
    if (empty || arguments.has("all")) {
      agent.stop();
      clean(agent.state_directory);
    }
  }
  if (arguments.has("purge")) purge(agent.state_directory, !arguments.has("no-trash"));
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
          "too. It says what is lost (Slurm jobs that run, what capsules and hosts wrote and when it was backed up, "
          "secrets) and wants the cluster's name typed; without a terminal it refuses, unless -yes is there.",
      .examples = {"underway down examples/slurm", "underway down -all -purge"},
      .flags = with_variable_flags(
          {{"all", "", "Every cluster, and the agent."},
           {"purge", "", "Removes the state directory too: history, logs, store. It lies in the trash for a week."},
           {"no-trash", "", "With -purge: nothing is kept, and the trash is emptied."},
           kYes,
           {"no-wait", "", "Fails when another `up`, `apply` or `down` is at work, instead of waiting for it."}}),
      .least = 0,
      .most = 1,
      .run = run_down};
  return command;
}

}  // namespace underway::cli
