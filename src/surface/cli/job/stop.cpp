#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/impact/dependents.hpp"
#include "cli/impact/loss.hpp"
#include "cli/job/follow_evaluation.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {

namespace {

std::string fate(model::OnFailure on_failure) {
  switch (on_failure) {
    case model::OnFailure::hold:
      return "runs on; what of it ends is not started again before";
    case model::OnFailure::stop:
      return "is stopped too, until then";
    case model::OnFailure::ignore:
      return "runs on; only new allocations wait";
  }
  return {};
}

}  // namespace

std::vector<std::string> dependence(const model::Job& other, const std::string& job_id) {
  std::vector<std::string> lines;
  const auto tell = [&](const std::string& who, const std::vector<model::Dependency>& dependencies) {
    for (const auto& dependency : dependencies) {
      if (dependency.job != job_id) continue;
      const bool here = dependency.scope == model::DependencyScope::node;
      lines.push_back(fmt::format("{}{} {}", who, here ? " (on the same node)" : "", fate(dependency.on_failure)));
    }
  };
  tell(other.id, other.depends_on);
  for (const auto& group : other.groups) tell(fmt::format("{}, group '{}',", other.id, group.name), group.depends_on);
  return lines;
}

namespace {

/// Says who depends on it. Whether to go on: asked on a terminal only, as `apply` does.
bool consented(sdk::Client& client, const std::string& id, const Arguments& arguments) {
  std::vector<std::string> lines;
  for (const auto& service : client.status().value.services) {
    const auto& on = service.depends_on;
    if (service.id == id || std::find(on.begin(), on.end(), id) == on.end()) continue;
    for (auto& line : dependence(client.job(service.id), id)) lines.push_back(std::move(line));
  }
  if (lines.empty()) return true;
  say(paint(Colour::yellow, "! ", 2) + fmt::format("others depend on '{}', until it works again:", id));
  for (const auto& line : lines) say("    " + line);
  if (arguments.has("yes") || !is_terminal(0)) return true;
  return confirm(fmt::format("Stop '{}' all the same?", id));
}

/// A job that is forgotten leaves what its capsules wrote behind, and nobody who knows of it.
ExitCode ask_for_capsules(sdk::Client& client, const std::string& id, const Arguments& arguments) {
  Loss loss{.deed = fmt::format("this forgets '{}' and what its capsules have written", id), .word = id, .lost = {}};
  for (const auto& capsule : client.capsules()) {
    if (capsule.job == id && capsule.ran)
      loss.lost.push_back(fmt::format("capsule '{}': what it wrote stays on {} for as long as that host does",
                                      capsule.name, capsule.owner_name));
  }
  return ask_before(loss, arguments);
}

int run_job_stop(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string id = resolve_job(client, arguments.positional().front());
  if (arguments.has("purge")) {
    if (const auto agreed = ask_for_capsules(client, id, arguments); agreed != kDone) return agreed;
  }
  if (!consented(client, id, arguments)) {
    say("nothing was changed");
    return kFailed;
  }
  const auto stopped = client.stop_job(id, {arguments.has("purge"), arguments.has("no-shutdown-delay")});
  if (arguments.has("detach")) {
    print(stopped.eval_id + "\n");
    return kDone;
  }
  return follow_evaluation(client, stopped.eval_id, std::chrono::minutes(1));
}

}  // namespace

const Command& job_stop_command() {
  static const Command command{.name = "job stop",
                               .arguments = "ID",
                               .summary = "Stops a job and all of its allocations.",
                               .details =
                                   "When other jobs depend on it, it names them and what becomes of them, and asks on "
                                   "a terminal; in a pipe or a "
                                   "script, typing it was the decision. With -purge it asks too when a capsule of the "
                                   "job has written something, and without a terminal refuses, unless -yes is there.",
                               .examples = {"underway job stop web", "underway job stop -yes -purge web"},
                               .flags = {{"purge", "", "Forgets the job at once instead of after a while."},
                                         {"no-shutdown-delay", "", "Does not wait for shutdown_delay."},
                                         {"detach", "", "Returns once it is registered; prints the evaluation's id."},
                                         kYes},
                               .least = 1,
                               .most = 1,
                               .run = run_job_stop};
  return command;
}

}  // namespace underway::cli
