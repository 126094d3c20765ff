#include "cli/deployment/follow_deployment.hpp"

#include "cli/command.hpp"
#include "cli/context.hpp"
#include "cli/deployment/text.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {

namespace {

/// A rollout over more allocations than that is looked at as a whole: its list is long to fetch each second.
constexpr std::int64_t kLookedAt = 500;

}  // namespace

std::vector<std::string> deployment_picture(sdk::Client& client, const model::Deployment& deployment,
                                            FailingTasks& failing) {
  auto lines = deployment_lines(deployment);
  std::int64_t placed = 0;
  for (const auto& [name, state] : deployment.groups) placed += state.placed_allocs;
  if (placed > kLookedAt) return lines;
  for (auto& line : failing.lines(client.deployment_allocations(deployment.id))) lines.push_back(std::move(line));
  return lines;
}

namespace {

/// Draws until it is over or waits for somebody.
model::Deployment watch(sdk::Client& client, const std::string& id) {
  const OnInterrupt interrupted(
      fmt::format("The rollout goes on without being watched.\n"
                  "  watch it again: underway deployment status -monitor {0}\n"
                  "  pause or end it: underway deployment pause {0}, underway deployment fail {0}",
                  short_id(id)));
  Progress progress;
  FailingTasks failing(client);
  auto at = client.deployment(id);
  progress.draw(deployment_picture(client, at.value, failing));
  // Restarts of tasks change no deployment, so that it is looked at every second.
  while (at.value.active() && !waits_for_person(at.value)) {
    at = client.deployment(id, {at.index, std::chrono::seconds(1)});
    progress.draw(deployment_picture(client, at.value, failing));
  }
  progress.finish();
  return at.value;
}

int verdict(sdk::Client& client, const model::Deployment& deployment) {
  const auto advice = advice_for(deployment);
  if (!advice.empty()) {
    say("    " + advice);
    return kDone;
  }
  say(fmt::format("==> Deployment \"{}\" {}", short_id(deployment.id), describe::spell(deployment.status)));
  if (deployment.status == model::DeploymentStatus::successful) return kDone;
  say("    " + deployment.status_description);
  for (const auto& line : FailingTasks(client).lines(client.deployment_allocations(deployment.id), Look::afterwards))
    say(line);
  return kFailed;
}

}  // namespace

std::optional<model::Deployment> find_rollback(sdk::Client& client, const model::Deployment& failed) {
  if (failed.status != model::DeploymentStatus::failed) return std::nullopt;
  // The text is Nomad's, and the only place where it says so.
  if (failed.status_description.find("rolling back to job version") == std::string::npos) return std::nullopt;
  std::optional<model::Deployment> oldest;
  for (const auto& deployment : client.job_deployments(failed.job_id)) {
    if (deployment.create_index > failed.create_index && deployment.job_version > failed.job_version)
      oldest = deployment;
  }
  return oldest;
}

int follow_deployment(sdk::Client& client, const std::string& deployment_id) {
  say(fmt::format("==> Monitoring deployment \"{}\"", short_id(deployment_id)));
  const auto deployment = watch(client, deployment_id);
  const int code = verdict(client, deployment);
  if (const auto rollback = find_rollback(client, deployment)) {
    say(fmt::format("==> The job goes back: monitoring deployment \"{}\"", short_id(rollback->id)));
    verdict(client, watch(client, rollback->id));
  }
  return code;
}

int follow_deployment_of(sdk::Client& client, const std::string& eval_id) {
  const std::string id = eval_id.empty() ? std::string() : client.evaluation(eval_id).value.deployment_id;
  return id.empty() ? kDone : follow_deployment(client, id);
}

}  // namespace underway::cli
