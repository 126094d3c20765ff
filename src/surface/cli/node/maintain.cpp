// A node that is to be worked on.
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/node/draining.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

/// One that runs slurmd itself: its Slurm jobs are waited for.
bool is_slurm_node(sdk::Client& client, const DrainTarget& target) {
  for (const auto& allocation : client.node_allocations(target.id)) {
    if (!allocation.terminal() && allocation.task_states.contains("slurmd")) return true;
  }
  return false;
}

int end_maintenance(sdk::Client& client, const std::vector<DrainTarget>& targets) {
  for (const auto& target : targets) {
    client.drain_node(target.id, std::nullopt, true, {});
    print(fmt::format("Node {} is in service again\n", target.name));
  }
  return kDone;
}

int run_maintain(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto targets = drain_targets(client, arguments);
  if (arguments.has("end")) return end_maintenance(client, targets);
  model::StringMap meta;
  if (const auto message = arguments.find("m")) meta["message"] = *message;
  for (const auto& target : targets) {
    model::DrainStrategy drain;
    drain.ask_slurm = is_slurm_node(client, target);
    say(drain_impact(client, {target}, drain));
  }
  if (!arguments.has("yes")) ask_to_drain(targets, true);
  for (const auto& target : targets) {
    model::DrainStrategy drain;
    drain.ask_slurm = is_slurm_node(client, target);
    client.drain_node(target.id, drain, false, meta);
  }
  if (arguments.has("detach")) return kDone;
  const int code = monitor_drains(client, targets);
  for (const auto& target : targets)
    print(fmt::format("Node {} is empty: it can be shut down. `underway node maintain -end {}` afterwards\n",
                      target.name, target.name));
  return code;
}

}  // namespace

const Command& node_maintain_command() {
  static const Command command{
      .name = "node maintain",
      .arguments = "[ID|NAME…]",
      .summary = "Empties nodes that are to be worked on, and loses nothing that runs there.",
      .details =
          "Moves what can be moved, and waits for what cannot, for as long as that takes: virtual machines go to other "
          "nodes with memory and disks, and Slurm jobs in them are suspended on the way and go on; services move as "
          "their `migrate` says; Slurm jobs of the node itself, and batch jobs, end by themselves; system jobs stop "
          "last. Nothing new comes to the node until -end. It is a drain (`underway node drain`) without a deadline: "
          "it "
          "goes on when this command is interrupted, and `node drain -disable` takes it back.",
      .examples = {"underway node maintain m1", "underway node maintain -yes -m 'new fans' m1 m2",
                   "underway node maintain -end m1"},
      .flags = {{"end", "", "They have been worked on: they are in service again."},
                {"m", "MESSAGE", "Why: kept with the drain."},
                {"self", "", "The node of this machine's name."},
                {"pool", "NAME", "Every node of the pool."},
                {"class", "NAME", "Every node of the class."},
                {"rack", "NAME", "Every node whose meta.rack is this."},
                {"detach", "", "Returns at once."},
                {"yes", "", "Does not ask."}},
      .least = 0,
      .most = 10'000,
      .run = run_maintain};
  return command;
}

}  // namespace underway::cli
