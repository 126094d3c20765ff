#include "cli/cluster/rollouts_of_change.hpp"

#include "base/error.hpp"
#include "cli/cluster/progress_of_cluster.hpp"
#include "cli/command.hpp"
#include "cli/deployment/follow_deployment.hpp"
#include "cli/deployment/text.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {

namespace {

/// A rollout that has met what no waiting cures fails, and goes back, within seconds; where it is told to go on trying,
/// nobody has to watch.
constexpr auto kVerdictPatience = std::chrono::seconds(15);

bool goes_on(const model::Deployment& deployment) { return deployment.active() && !waits_for_person(deployment); }

}  // namespace

bool RolloutsOfChange::Rollout::under_way() const { return goes_on(deployment) || (rollback && goes_on(*rollback)); }

bool RolloutsOfChange::Rollout::failed() const { return deployment.status == model::DeploymentStatus::failed; }

bool RolloutsOfChange::Rollout::stuck() const { return failed() && !rollback; }

bool RolloutsOfChange::any(bool (Rollout::*holds)() const) const {
  return std::any_of(rollouts_.begin(), rollouts_.end(), [&](const auto& entry) { return (entry.second.*holds)(); });
}

/// The oldest deployment of each job that is newer than the change is the change's own.
void RolloutsOfChange::look() {
  for (const auto& id : applied_.registered) {
    const auto known = rollouts_.find(id);
    if (known != rollouts_.end() && !known->second.under_way() && !known->second.stuck()) continue;
    std::optional<model::Deployment> own;
    for (auto& deployment : client_.job_deployments(id)) {
      if (deployment.create_index >= applied_.index) own = std::move(deployment);
    }
    if (!own) continue;
    auto rollback = find_rollback(client_, *own);
    rollouts_[id] = {std::move(*own), std::move(rollback)};
  }
}

std::vector<std::string> RolloutsOfChange::lines() {
  std::vector<std::string> out;
  for (const auto& [id, rollout] : rollouts_) {
    for (const auto* deployment : {&rollout.deployment, rollout.rollback ? &*rollout.rollback : nullptr}) {
      if (deployment == nullptr || !deployment->active()) continue;
      for (auto& line : deployment_picture(client_, *deployment, failing_)) out.push_back(std::move(line));
    }
  }
  return out;
}

bool RolloutsOfChange::gives_up(const wire::Status& status) {
  const auto now = std::chrono::steady_clock::now();
  for (const auto& id : applied_.registered) {
    const auto service = std::find_if(status.services.begin(), status.services.end(), [&](const auto& candidate) {
      return candidate.id == id && candidate.healthy < candidate.wanted;
    });
    if (service != status.services.end() && is_hopeless(client_.job_allocations(id)))
      hopeless_.try_emplace(id, now);
    else
      hopeless_.erase(id);
  }
  return std::any_of(hopeless_.begin(), hopeless_.end(), [&](const auto& entry) {
    const auto rollout = rollouts_.find(entry.first);
    const bool awaited = rollout != rollouts_.end() && rollout->second.under_way();
    return !awaited || now - entry.second > kVerdictPatience;
  });
}

void RolloutsOfChange::follow(const std::string& cluster, Duration patience) {
  const OnInterrupt interrupted(
      "The change goes on without being watched.\n  look at it: underway status, underway deployment list");
  auto deadline = std::chrono::steady_clock::now() + patience;
  Progress progress;
  sdk::Wait wait{0, std::chrono::milliseconds(300)};  // as follow_until_settled
  while (true) {
    const auto status = client_.status(cluster, wait);
    wait.index = status.index;
    look();
    auto picture = progress_lines(status.value);
    for (auto& line : lines()) picture.push_back(std::move(line));
    progress.draw(picture);
    const bool under_way = any(&Rollout::under_way);
    if (!under_way && (status.value.settled || any(&Rollout::stuck))) break;
    if (gives_up(status.value)) break;
    if (under_way) deadline = std::chrono::steady_clock::now() + patience;
    if (std::chrono::steady_clock::now() < deadline) continue;
    progress.finish();
    show_failures(client_, status.value);
    throw Error(Code::timeout, fmt::format("cluster '{}' has not settled within {}", cluster, human_duration(patience)))
        .advise("see `underway status`; run the same command again to go on waiting");
  }
  progress.finish();
  if (hopeless_.empty() && !any(&Rollout::failed)) say(fmt::format("cluster '{}' is as declared", cluster));
}

std::string verdict_text(const model::Deployment& deployment, const std::optional<model::Deployment>& rollback) {
  std::string text = fmt::format("rollout of '{}' version {}: ", deployment.job_id, deployment.job_version);
  const auto advice = advice_for(deployment);
  if (!advice.empty()) return text + deployment.status_description + "\n    " + advice;
  text += describe::spell(deployment.status);
  if (deployment.status == model::DeploymentStatus::successful) return text;
  text += ": " + deployment.status_description;
  if (rollback) {
    text +=
        fmt::format("\n    the job went back, as version {}: {}", rollback->job_version, rollback->status_description);
    text += "\n    do: mend the file; applied again as it is, it brings the failed version again";
  } else if (deployment.status == model::DeploymentStatus::failed) {
    text += fmt::format("\n    do: underway job explain {}", deployment.job_id);
  }
  return text;
}

int RolloutsOfChange::tell() {
  int code = kDone;
  for (const auto& [id, rollout] : rollouts_) {
    say(verdict_text(rollout.deployment, rollout.rollback));
    const auto status = rollout.deployment.status;
    if (status != model::DeploymentStatus::failed && status != model::DeploymentStatus::cancelled) continue;
    for (const auto& line : failing_.lines(client_.deployment_allocations(rollout.deployment.id), Look::afterwards))
      say(line);
    code = kFailed;
    hopeless_.erase(id);
  }
  for (const auto& [id, since] : hopeless_) {
    say(fmt::format("'{}' cannot run as it is declared, and waiting does not help:", id));
    for (const auto& line : failing_.lines(client_.job_allocations(id))) say(line);
    say("    do: mend the file and apply it; or see `underway job explain " + id + "`");
    code = kFailed;
  }
  return code;
}

}  // namespace underway::cli
