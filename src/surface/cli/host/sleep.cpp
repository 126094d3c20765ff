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
int follow_host(sdk::Client& client, const model::Host& host, bool sleeps) {
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
  return kDone;
}

int run_suspend(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto host = find_host(client, arguments.positional().front());
  client.suspend_host(host.cluster, host.name, arguments.get("reason"));
  return arguments.has("detach") ? kDone : follow_host(client, host, true);
}

int run_wake(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto host = find_host(client, arguments.positional().front());
  client.wake_host(host.cluster, host.name, arguments.get("node"));
  return arguments.has("detach") ? kDone : follow_host(client, host, false);
}

}  // namespace

const Command& host_suspend_command() {
  static const Command command{
      .name = "host suspend",
      .arguments = "[CLUSTER/]HOST",
      .summary = "Has a host that is a virtual machine sleep, with the Slurm jobs on it.",
      .details =
          "No job comes to it any more, Slurm suspends those that are there, and the machine's memory goes to the disk "
          "of its node: its processors and memory are free for others then. Users see their jobs SUSPENDED, and "
          "Slurm does not count the time. Until it is woken another node of Slurm answers for it. What cannot be put "
          "to sleep runs on.",
      .examples = {"underway host suspend v1", "underway host suspend -reason 'power cut at noon' v1"},
      .flags = {{"reason", "TEXT", "Why, for who looks at it later."}, kDetach},
      .least = 1,
      .most = 1,
      .run = run_suspend};
  return command;
}

const Command& host_wake_command() {
  static const Command command{
      .name = "host wake",
      .arguments = "[CLUSTER/]HOST",
      .summary = "Wakes a host that sleeps; its Slurm jobs go on where they were.",
      .details =
          "It is woken where it fell asleep, when its node has the room again; else this says who has it. With -node it "
          "goes on on that node, to which its memory and disks are sent.",
      .examples = {"underway host wake v1", "underway host wake -node m2 v1"},
      .flags = {{"node", "NODE", "Where it is to go on."}, kDetach},
      .least = 1,
      .most = 1,
      .run = run_wake};
  return command;
}

}  // namespace underway::cli
