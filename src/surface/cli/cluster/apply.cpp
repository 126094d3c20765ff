#include "base/error.hpp"
#include "cli/capsule/files.hpp"
#include "cli/cluster/plan.hpp"
#include "cli/cluster/progress_of_cluster.hpp"
#include "cli/cluster/rollouts_of_change.hpp"
#include "cli/cluster/slurm_versions.hpp"
#include "cli/cluster/up_lock.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/impact/cluster_losses.hpp"

namespace underway::cli {
namespace {

int run_apply(const Arguments& arguments) {
  const std::string directory = arguments.positional().front();
  const auto patience = patience_of(arguments);
  auto client = make_client(arguments);
  const auto lock = lock_changes(state_directory(arguments), "underway apply " + directory, !arguments.has("no-wait"));
  auto body = load_cluster(directory, arguments, &client);
  const auto images = name_images_by_digest(body, directory, state_directory(arguments));
  const auto plan = client.plan_cluster(body);
  print_plan(plan, body.cluster);
  if (!plan.changes) return plan.needs_you() ? kFailed : kDone;
  refuse_slurm(client, plan, body, images, arguments);
  if (const auto agreed = ask_before_change(client, plan, body, arguments); agreed != kDone) return agreed;
  // Asked on a terminal only: in a pipe or a script, typing `apply` was the decision.
  if (!arguments.has(kYes.name) && is_terminal(0) && !confirm("Apply this?")) {
    say("nothing was changed");
    return kFailed;
  }
  push_capsule_files(client, images);
  const auto applied = client.apply_cluster(body);
  if (!patience) return kDone;
  RolloutsOfChange rollouts(client, applied);
  rollouts.follow(body.cluster.name, *patience);
  return rollouts.tell();
}

}  // namespace

const Command& apply_command() {
  static const Command command{
      .name = "apply",
      .arguments = "DIR",
      .summary = "Changes a running cluster into what a directory describes.",
      .details =
          "Shows the plan, asks on a terminal, sends everything in one request, and follows until it has settled and "
          "every rollout that it began has its verdict, or waits for somebody. What no waiting cures, as a program or "
          "an image that is not there, ends it at once. Exits 1 when a rollout failed, and says to which version its "
          "job went back; and when nothing is to be changed, but what runs is not what is declared because something "
          "failed. While a rollout goes on its own deadlines count, not -timeout. What takes away Slurm jobs that run, "
          "or what a capsule wrote, and what replaces all of a job at once on which others depend, wants the cluster's "
          "name typed, or -yes: without a terminal it is refused. So is a "
          "change that brings releases of Slurm together that do not go together, as a slurmd newer than its "
          "slurmctld.",
      .examples = {"underway apply examples/slurm", "underway apply -yes -var compute_nodes=5 examples/slurm"},
      .flags = change_flags({kYes, kAnySlurmVersion}),
      .least = 1,
      .most = 1,
      .run = run_apply};
  return command;
}

}  // namespace underway::cli
