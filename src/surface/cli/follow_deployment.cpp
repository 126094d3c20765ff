#include "cli/follow_deployment.hpp"

#include "cli/command.hpp"
#include "cli/context.hpp"
#include "cli/deployment_text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {

namespace {

bool waits_for_person(const model::Deployment& deployment) {
  if (deployment.status == model::DeploymentStatus::paused) return true;
  return std::any_of(deployment.groups.begin(), deployment.groups.end(), [](const auto& entry) {
    const auto& state = entry.second;
    return state.desired_canaries > 0 && !state.promoted && !state.auto_promote &&
           state.healthy_allocs >= state.desired_canaries;
  });
}

}  // namespace

int follow_deployment(sdk::Client& client, const std::string& deployment_id) {
  say(fmt::format("==> Monitoring deployment \"{}\"", short_id(deployment_id)));
  Progress progress;
  auto at = client.deployment(deployment_id);
  progress.draw(deployment_lines(at.value));
  while (at.value.active() && !waits_for_person(at.value)) {
    at = client.deployment(deployment_id, {at.index, std::chrono::seconds(10)});
    progress.draw(deployment_lines(at.value));
  }
  progress.finish();
  if (at.value.status == model::DeploymentStatus::paused)
    say(fmt::format("    It goes on with: underway deployment resume {}", short_id(deployment_id)));
  else if (at.value.active())
    say(fmt::format(
        "    Look at the canaries, then: underway deployment promote {0} (or: underway deployment fail {0})",
        short_id(deployment_id)));
  const bool bad =
      at.value.status == model::DeploymentStatus::failed || at.value.status == model::DeploymentStatus::cancelled;
  return bad ? kFailed : kDone;
}

int follow_deployment_of(sdk::Client& client, const std::string& eval_id) {
  const std::string id = eval_id.empty() ? std::string() : client.evaluation(eval_id).value.deployment_id;
  return id.empty() ? kDone : follow_deployment(client, id);
}

}  // namespace underway::cli
