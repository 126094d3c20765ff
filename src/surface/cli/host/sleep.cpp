// Hosts that are virtual machines: suspend and wake.
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/host/find_host.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

const Flag kDetach{"detach", "", "Returns when it is asked for, and does not wait until it is done."};

/// What it waits for, as `underway status` has it: in Slurm, or for room.
std::string why_not_yet(sdk::Client& client, const model::Host& host) {
  for (const auto& state : client.status(host.cluster).value.hosts)
    if (state.name == host.name) return state.status_description;
  return {};
}

/// Until it sleeps, or is awake, or somebody thought otherwise.
void follow_host(sdk::Client& client, const model::Host& host, bool sleeps) {
  const OnInterrupt interrupted("It goes on without being watched: underway host list");
  sdk::Wait wait{.longest = std::chrono::seconds(2)};
  std::string told;
  while (true) {
    const auto read = client.host_at(host.cluster, host.name, wait);
    wait.index = read.index;
    const auto& now = read.value;
    // One that goes on elsewhere sleeps until it is there.
    const bool to_sleep = !now.sleep.empty() && !now.sleeps_to_move;
    if (to_sleep != sleeps) {
      Error error(Code::unavailable, fmt::format("host '{}' {}", now.name, sleeps ? "does not sleep" : "is to sleep"));
      throw now.status_description.empty() ? error : error.because(now.status_description);
    }
    if (now.asleep == sleeps) break;
    const auto why = why_not_yet(client, host);
    if (!why.empty() && why != told) print(fmt::format("{}: {}\n", now.name, told = why));
  }
  print(fmt::format("Host {} {}\n", host.name, sleeps ? "sleeps" : "is awake"));
}

/// Of one cluster.
std::vector<model::Host> named_hosts(sdk::Client& client, const Arguments& arguments) {
  std::vector<model::Host> out;
  for (const auto& name : arguments.positional()) {
    out.push_back(find_host(client, name));
    if (out.back().cluster != out.front().cluster)
      throw Error(Code::invalid, fmt::format("hosts '{}' and '{}' are of two clusters", out.front().name, name))
          .advise("name those of one cluster, then the others");
  }
  return out;
}

std::vector<std::string> host_names(const std::vector<model::Host>& hosts) {
  std::vector<std::string> out;
  for (const auto& host : hosts) out.push_back(host.name);
  return out;
}

int follow_hosts(sdk::Client& client, const Arguments& arguments, const std::vector<model::Host>& hosts, bool sleep) {
  if (arguments.has("detach")) return kDone;
  for (const auto& host : hosts) follow_host(client, host, sleep);
  return kDone;
}

int run_suspend(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto hosts = named_hosts(client, arguments);
  client.suspend_hosts(hosts.front().cluster, host_names(hosts), arguments.get("reason"));
  return follow_hosts(client, arguments, hosts, true);
}

int run_wake(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto hosts = named_hosts(client, arguments);
  client.wake_hosts(hosts.front().cluster, host_names(hosts), arguments.get("node"));
  return follow_hosts(client, arguments, hosts, false);
}

}  // namespace

const Command& host_suspend_command() {
  static const Command command{
      .name = "host suspend",
      .arguments = "[CLUSTER/]HOST…",
      .summary = "Has hosts that are virtual machines sleep, with the Slurm jobs on them.",
      .details =
          "No job comes to it any more, Slurm suspends those that are there, and the machine's memory goes to the disk "
          "of its node: its processors and memory are free for others then. Users see their jobs SUSPENDED, and "
          "Slurm does not count the time. Until it is woken another node of Slurm answers for it. What cannot be put "
          "to sleep runs on. Hosts of one Slurm job sleep together: this says which are lacking when not all are "
          "named.",
      .examples = {"underway host suspend v1", "underway host suspend v1 v2",
                   "underway host suspend -reason 'power cut at noon' v1"},
      .flags = {{"reason", "TEXT", "Why, for who looks at it later."}, kDetach},
      .least = 1,
      .most = 10'000,
      .run = run_suspend};
  return command;
}

const Command& host_wake_command() {
  static const Command command{
      .name = "host wake",
      .arguments = "[CLUSTER/]HOST…",
      .summary = "Wakes hosts that sleep; their Slurm jobs go on where they were.",
      .details =
          "It is woken where it fell asleep, when its node has the room again; else this says who has it. With -node "
          "it "
          "goes on on that node, to which its memory and disks are sent. Hosts on which one Slurm job sleeps are woken "
          "together, all or none: this says which are lacking when not all are named.",
      .examples = {"underway host wake v1", "underway host wake v1 v2", "underway host wake -node m2 v1"},
      .flags = {{"node", "NODE", "Where they are to go on."}, kDetach},
      .least = 1,
      .most = 10'000,
      .run = run_wake};
  return command;
}

}  // namespace underway::cli
