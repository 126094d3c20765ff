#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/deployment/follow_deployment.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

const Flag kDetach{"detach", "", "Returns at once."};
const Flag kGroup{"group", "GROUP", "Only this group; may be given again.", true};

int go_on(sdk::Client& client, const std::string& id, const Arguments& arguments) {
  return arguments.has("detach") ? int{kDone} : follow_deployment(client, id);
}

int promote_it(sdk::Client& client, const std::string& id, const Arguments& arguments) {
  client.promote_deployment(id, arguments.all("group"));
  print(fmt::format("Deployment \"{}\" promoted\n", short_id(id)));
  return go_on(client, id, arguments);
}

int promote(const Arguments& arguments) {
  auto client = make_client(arguments);
  return promote_it(client, resolve_deployment(client, arguments.positional().front()), arguments);
}

int promote_job(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string job = resolve_job(client, arguments.positional().front());
  const auto deployments = client.job_deployments(job);
  if (deployments.empty() || !deployments.front().active())
    throw Error(Code::not_found, fmt::format("job '{}' has no rollout going on", job))
        .advise(fmt::format("see `underway job deployments {}`", job));
  return promote_it(client, deployments.front().id, arguments);
}

int fail(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string id = resolve_deployment(client, arguments.positional().front());
  const auto updated = client.fail_deployment(id);
  print(fmt::format("Deployment \"{}\" failed\n", short_id(id)));
  if (!updated.reverted_version) return kDone;
  print(fmt::format("The job goes back to version {}\n", *updated.reverted_version));
  return arguments.has("detach") ? int{kDone} : follow_deployment_of(client, updated.eval_id);
}

int pause(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string id = resolve_deployment(client, arguments.positional().front());
  client.pause_deployment(id, true);
  print(fmt::format("Deployment \"{}\" paused\n", short_id(id)));
  return kDone;
}

int resume(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string id = resolve_deployment(client, arguments.positional().front());
  client.pause_deployment(id, false);
  print(fmt::format("Deployment \"{}\" resumed\n", short_id(id)));
  return go_on(client, id, arguments);
}

}  // namespace

const Command& deployment_promote_command() {
  static const Command command{.name = "deployment promote",
                               .arguments = "ID",
                               .summary = "Lets all others follow the canaries of a rollout.",
                               .flags = {kGroup, kDetach},
                               .least = 1,
                               .most = 1,
                               .run = promote};
  return command;
}

const Command& job_promote_command() {
  static const Command command{.name = "job promote",
                               .arguments = "ID",
                               .summary = "Promotes the canaries of a job's newest rollout.",
                               .flags = {kGroup, kDetach},
                               .least = 1,
                               .most = 1,
                               .run = promote_job};
  return command;
}

const Command& deployment_fail_command() {
  static const Command command{
      .name = "deployment fail",
      .arguments = "ID",
      .summary = "Ends a rollout; with auto_revert the job goes back to its last stable version.",
      .flags = {kDetach},
      .least = 1,
      .most = 1,
      .run = fail};
  return command;
}

const Command& deployment_pause_command() {
  static const Command command{.name = "deployment pause",
                               .arguments = "ID",
                               .summary = "Holds a rollout where it is.",
                               .least = 1,
                               .most = 1,
                               .run = pause};
  return command;
}

const Command& deployment_resume_command() {
  static const Command command{.name = "deployment resume",
                               .arguments = "ID",
                               .summary = "Lets a rollout go on that was paused.",
                               .flags = {kDetach},
                               .least = 1,
                               .most = 1,
                               .run = resume};
  return command;
}

}  // namespace underway::cli
