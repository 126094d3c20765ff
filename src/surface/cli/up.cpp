#include <filesystem>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/local_agent.hpp"
#include "cli/progress_of_cluster.hpp"
#include "cli/up_lock.hpp"

namespace underway::cli {
namespace {

int run(const Arguments& arguments) {
  const std::string directory = arguments.positional().front();
  const LocalAgent agent{state_directory(arguments)};
  // Read before anything is started: a directory with an error leaves the machine as it was.
  load_cluster(directory, arguments, nullptr);
  const auto lock = lock_changes(agent.state_directory, "underway up " + directory, !arguments.has("no-wait"));
  const bool local = !arguments.find("address");
  if (local) agent.ensure_running();
  auto client = make_client(arguments);
  const auto body = load_cluster(directory, arguments, &client);
  const auto applied = client.apply_cluster(body);
  say(applied.registered.empty() && applied.stopped.empty()
          ? fmt::format("cluster '{}' is as declared", body.cluster.name)
          : fmt::format("cluster '{}': {} jobs registered, {} stopped", body.cluster.name, applied.registered.size(),
                        applied.stopped.size()));
  if (arguments.has("detach")) return kDone;
  const auto patience = parse_duration(arguments.get("timeout", "5m"));
  if (!patience) throw Error(Code::invalid, fmt::format("-timeout '{}' is no duration", arguments.get("timeout")));
  follow_until_settled(client, body.cluster.name, *patience);
  say(fmt::format("cluster '{}' is up", body.cluster.name));
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
          "else; interrupted, it is run again.",
      .examples = {"underway up examples/slurm", "underway up -var compute_nodes=8 examples/slurm"},
      .flags =
          [] {
            std::vector<Flag> flags = {
                {"detach", "", "Returns once the change is registered."},
                {"timeout", "DURATION", "How long to follow; 5m."},
                {"no-wait", "", "Fails when another `up`, `apply` or `down` is at work, instead of waiting for it."}};
            flags.insert(flags.end(), variable_flags().begin(), variable_flags().end());
            return flags;
          }(),
      .least = 1,
      .most = 1,
      .run = run};
  return command;
}

}  // namespace underway::cli
