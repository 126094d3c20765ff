#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/deployment/follow_deployment.hpp"
#include "cli/deployment/text.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

void print_list(const std::vector<model::Deployment>& deployments) {
  if (deployments.empty()) return print("No deployments found\n");
  Table table({"ID", "Job ID", "Job Version", "Status", "Description"});
  for (const auto& deployment : deployments) {
    table.add({short_id(deployment.id), deployment.job_id, std::to_string(deployment.job_version),
               std::string(describe::spell(deployment.status)), deployment.status_description});
  }
  table.print();
}

int list_deployments(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto page = client.deployments(list_query(arguments));
  tell_next_page(page.next_token);
  if (!print_formatted(arguments, json::to_value(page.rows))) print_list(page.rows);
  return kDone;
}

int show_deployment_status(const Arguments& arguments) {
  if (arguments.positional().empty()) return list_deployments(arguments);
  auto client = make_client(arguments);
  const std::string id = resolve_deployment(client, arguments.positional().front());
  if (arguments.has("monitor")) return follow_deployment(client, id);
  const auto deployment = client.deployment(id).value;
  if (!print_formatted(arguments, json::to_value(deployment))) print(deployment_text(deployment));
  return kDone;
}

int of_job(const Arguments& arguments) {
  auto client = make_client(arguments);
  auto deployments = client.job_deployments(resolve_job(client, arguments.positional().front()));
  if (arguments.has("latest") && deployments.size() > 1) deployments.resize(1);
  if (print_formatted(arguments, json::to_value(deployments))) return kDone;
  if (arguments.has("latest") && !deployments.empty())
    print(deployment_text(deployments.front()));
  else
    print_list(deployments);
  return kDone;
}

}  // namespace

const Command& deployment_list_command() {
  static const Command command{
      .name = "deployment list", .summary = "Lists rollouts.", .flags = with_list_flags(), .run = list_deployments};
  return command;
}

const Command& deployment_status_command() {
  static const Command command{.name = "deployment status",
                               .arguments = "[ID]",
                               .summary = "Shows how far a rollout is.",
                               .flags = with_list_flags({{"monitor", "", "Until it is over, or waits for a person."}}),
                               .least = 0,
                               .most = 1,
                               .run = show_deployment_status};
  return command;
}

const Command& job_deployments_command() {
  static const Command command{.name = "job deployments",
                               .arguments = "ID",
                               .summary = "Lists a job's rollouts, newest first.",
                               .flags = {{"latest", "", "The newest in full."}, {"json", "", "As JSON."}, kTemplate},
                               .least = 1,
                               .most = 1,
                               .run = of_job};
  return command;
}

}  // namespace underway::cli
