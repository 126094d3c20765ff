#include "cli/job/follow_evaluation.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/deployment/follow_deployment.hpp"
#include "cli/job/diff_text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::vector<std::string> lines_of(const std::vector<wire::AllocationStub>& allocations) {
  std::vector<std::string> lines;
  for (const auto& allocation : allocations) {
    std::string line = fmt::format("    Allocation {} {} on {}: {}", short_id(allocation.id), allocation.name,
                                   allocation.node_name, describe::spell(allocation.client_status));
    if (allocation.health.ready) line += ", ready";
    if (!allocation.waiting_for.empty()) line += ", waits for " + allocation.waiting_for;
    lines.push_back(std::move(line));
  }
  return lines;
}

bool under_way(const wire::AllocationStub& allocation) {
  return allocation.desired_status == model::DesiredStatus::run &&
         allocation.client_status != model::ClientStatus::failed &&
         allocation.client_status != model::ClientStatus::complete && !allocation.health.ready;
}

void show_failure(sdk::Client& client, const wire::AllocationStub& allocation) {
  for (const auto& [task, state] : allocation.task_states.value_or(std::map<std::string, model::TaskState>{})) {
    if (!state.failed) continue;
    for (const auto& event : state.events) say(fmt::format("      {}: {}: {}", task, event.type, event.message));
    std::string tail;
    try {
      client.logs(allocation.id, task, "stderr", false, "end", 1000, [&](std::string_view piece) {
        tail += piece;
        return true;
      });
    } catch (const Error&) {
      continue;  // a task that never started has no log
    }
    for (const auto& line : split(trim(tail), '\n')) {
      if (!line.empty()) say(fmt::format("      {}: {}", task, line));
    }
  }
}

sdk::Indexed<model::Evaluation> finished(sdk::Client& client, const std::string& eval_id,
                                         std::chrono::steady_clock::time_point deadline) {
  say(fmt::format("==> Monitoring evaluation \"{}\"", short_id(eval_id)));
  auto evaluation = client.evaluation(eval_id);
  while (!evaluation.value.terminal() && std::chrono::steady_clock::now() < deadline)
    evaluation = client.evaluation(eval_id, {evaluation.index, std::chrono::seconds(1)});
  return evaluation;
}

int follow_allocations(sdk::Client& client, const model::Evaluation& evaluation,
                       std::chrono::steady_clock::time_point deadline) {
  sdk::Wait wait{0, std::chrono::seconds(1)};
  Progress progress;
  std::vector<wire::AllocationStub> allocations;
  while (true) {
    auto answer = client.evaluation_allocations(evaluation.id, wait);
    wait.index = answer.index;
    allocations = std::move(answer.value);
    progress.draw(lines_of(allocations));
    if (std::none_of(allocations.begin(), allocations.end(), under_way) || std::chrono::steady_clock::now() >= deadline)
      break;
  }
  progress.finish();
  say(fmt::format("==> Evaluation \"{}\" finished with status \"{}\"", short_id(evaluation.id),
                  describe::spell(evaluation.status)));
  if (!evaluation.failed_groups.empty()) {
    say("    but failed to place all allocations:\n" + failures_text(evaluation.failed_groups));
    if (!evaluation.blocked_eval.empty())
      say(fmt::format("    Evaluation \"{}\" waits for capacity", short_id(evaluation.blocked_eval)));
    say(fmt::format("    Why, node by node: underway job explain -nodes {}", evaluation.job_id));
    return kUsage;
  }
  int code = kDone;
  for (const auto& allocation : allocations) {
    if (allocation.client_status != model::ClientStatus::failed) continue;
    say(fmt::format("    Allocation {} failed:", short_id(allocation.id)));
    show_failure(client, allocation);
    code = kFailed;
  }
  return code;
}

}  // namespace

int follow_evaluation(sdk::Client& client, const std::string& eval_id, Duration patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  return follow_allocations(client, finished(client, eval_id, deadline).value, deadline);
}

int follow_registration(sdk::Client& client, const std::string& eval_id, Duration patience) {
  if (eval_id.empty()) return kDone;  // a job that starts others: nothing is placed for it
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto evaluation = finished(client, eval_id, deadline).value;
  if (evaluation.deployment_id.empty() || !evaluation.failed_groups.empty())
    return follow_allocations(client, evaluation, deadline);
  return follow_deployment(client, evaluation.deployment_id);
}

}  // namespace underway::cli
