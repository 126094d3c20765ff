#include <filesystem>

#include "base/error.hpp"
#include "cli/agent/local_agent.hpp"
#include "cli/capsule/files.hpp"
#include "cli/cluster/progress_of_cluster.hpp"
#include "cli/cluster/slurm_versions.hpp"
#include "cli/cluster/up_lock.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/impact/cluster_losses.hpp"

namespace underway::cli {
namespace {

int run_up(const Arguments& arguments) {
  const std::string directory = arguments.positional().front();
  const LocalAgent agent{state_directory(arguments)};
  const auto patience = patience_of(arguments);
  // Read before anything is started: a directory with an error leaves the machine as it was.
  auto readable = load_cluster(directory, arguments, nullptr);
  name_images_by_digest(readable, directory, agent.state_directory);
  const auto lock = lock_changes(agent.state_directory, "underway up " + directory, !arguments.has("no-wait"));
  const bool local = !arguments.find("address");
  if (local) agent.ensure_running(arguments.has("new-cluster"));
  auto client = make_client(arguments);
  auto body = load_cluster(directory, arguments, &client);
  const auto images = name_images_by_digest(body, directory, agent.state_directory);
  const auto plan = client.plan_cluster(body);
  refuse_slurm(client, plan, body, images, arguments);
  if (const auto agreed = ask_before_change(client, plan, body, arguments); agreed != kDone) return agreed;
  push_capsule_files(client, images);
  const auto applied = client.apply_cluster(body);
  say(applied.registered.empty() && applied.stopped.empty()
          ? fmt::format("cluster '{}' is as declared", body.cluster.name)
          : fmt::format("cluster '{}': {} jobs registered, {} stopped", body.cluster.name, applied.registered.size(),
                        applied.stopped.size()));
  follow_change(client, body.cluster.name, patience, "is up");
  return kDone;
}

}  // namespace

const Command& up_command() {
  static const Command command{
      .name = "up",
      .arguments = "DIR",
      .summary = "Brings up everything that a directory describes.",
      .details =
          "Starts the agent on this machine if none runs, sends the cluster with all of its jobs in one request, and "
          "follows until every host runs and every service is healthy. Run again, it changes what differs and nothing "
          "else; interrupted, it is run again. What `apply` asks about or refuses, `up` does, too.",
      .examples = {"underway up examples/slurm", "underway up -var compute_nodes=8 examples/slurm"},
      .flags = change_flags(
          {kYes, kAnySlurmVersion, {"new-cluster", "", "Begins anew where the state of the server here is gone."}}),
      .least = 1,
      .most = 1,
      .run = run_up};
  return command;
}

}  // namespace underway::cli
