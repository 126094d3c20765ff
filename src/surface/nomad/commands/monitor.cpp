#include "nomad/commands/monitor.hpp"

#include <map>
#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/current_time.hpp"
#include "cli/terminal.hpp"
#include "nomad/exit_codes.hpp"
#include "nomad/text/deployment_text.hpp"
#include "nomad/text/group_failure.hpp"
#include "nomad/text/rows.hpp"

namespace underway::nomad {

using cli::elements;
using cli::id_text;
using cli::members;
using cli::number;
using cli::print;
using cli::text;
using cli::truth;

namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(500);

std::string now() { return cli::moment(unix_nanos(cli::current_time())); }
void headline(const std::string& words) { print(fmt::format("==> {}: {}\n", now(), words)); }
void line(const std::string& words) { print(fmt::format("    {}: {}\n", now(), words)); }

std::string indented(const std::string& lines) {
  std::string out;
  for (const auto& line : split(lines, '\n')) {
    if (!line.empty()) out += "    " + line;
    out += "\n";
  }
  out.pop_back();
  return out;
}

/// Tells what is new about an evaluation and its allocations.
class Watch {
 public:
  Watch(Api& api, std::string id, bool verbose) : api_(api), id_(std::move(id)), verbose_(verbose) {}

  /// The evaluation once it is over.
  Json until_over() {
    headline(fmt::format("Monitoring evaluation \"{}\"", id_text(id_, verbose_)));
    while (true) {
      const Json evaluation = api_.get("/v1/evaluation/" + cli::part(id_));
      tell(evaluation);
      const std::string status = text(evaluation, "Status");
      if (status == "complete" || status == "failed" || status == "canceled") return evaluation;
      std::this_thread::sleep_for(kLookEvery);
    }
  }

 private:
  void tell(const Json& evaluation) {
    tell_cause(evaluation);
    for (const auto& allocation : elements(api_.get("/v1/evaluation/" + cli::part(id_) + "/allocations")))
      tell_allocation(allocation, number(evaluation, "CreateIndex"));
    const std::string status = text(evaluation, "Status");
    if (status != status_ && status != "pending")
      line(fmt::format("Evaluation status changed: \"{}\" -> \"{}\"", status_, status));
    status_ = status;
  }

  void tell_cause(const Json& evaluation) {
    const auto tell_once = [&](const char* name, std::string& told, std::string_view words, bool whole) {
      const std::string what = text(evaluation, name);
      if (what.empty() || !told.empty()) return;
      told = what;
      line(fmt::format("{} \"{}\"", words, whole ? what : id_text(what, verbose_)));
    };
    tell_once("NodeID", node_, "Evaluation triggered by node", false);
    tell_once("JobID", job_, "Evaluation triggered by job", true);
    tell_once("DeploymentID", deployment_, "Evaluation within deployment:", false);
  }

  /// One that is older than the evaluation was changed by it.
  void tell_allocation(const Json& allocation, std::int64_t evaluated_at) {
    const std::string id = text(allocation, "ID"), status = text(allocation, "ClientStatus");
    const auto [seen, fresh] = seen_.try_emplace(id, status);
    if (fresh) {
      const bool modified = number(allocation, "CreateIndex") < evaluated_at;
      if (!modified && text(allocation, "DesiredStatus") != "run") return;
      return line(fmt::format("Allocation \"{}\" {}: node \"{}\", group \"{}\"", id_text(id, verbose_),
                              modified ? "modified" : "created", id_text(text(allocation, "NodeID"), verbose_),
                              text(allocation, "TaskGroup")));
    }
    if (seen->second == status) return;
    const std::string why = text(allocation, "ClientDescription");
    line(fmt::format("Allocation \"{}\" status changed: \"{}\" -> \"{}\"{}", id_text(id, verbose_), seen->second,
                     status, why.empty() ? "" : " (" + why + ")"));
    seen->second = status;
  }

  Api& api_;
  std::string id_;
  bool verbose_;
  std::string status_ = "pending", node_, job_, deployment_;
  std::map<std::string, std::string> seen_;
};

bool waits_for_person(const Json& deployment) {
  if (text(deployment, "Status") == "paused") return true;
  if (text(deployment, "Status") != "running") return false;
  for (const auto& [name, group] : members(deployment, "TaskGroups")) {
    const auto canaries = number(group, "DesiredCanaries");
    if (canaries > 0 && !truth(group, "Promoted") && !truth(group, "AutoPromote") &&
        number(group, "HealthyAllocs") >= canaries)
      return true;
  }
  return false;
}

/// The one that took the job back after `failed` had failed.
std::string rollback_of(Api& api, const Json& failed) {
  if (text(failed, "StatusDescription").find("rolling back to job version") == std::string::npos) return {};
  std::string found;
  for (const auto& other : elements(api.get("/v1/job/" + cli::part(text(failed, "JobID")) + "/deployments"))) {
    if (number(other, "JobVersion") > number(failed, "JobVersion")) found = text(other, "ID");
  }
  return found;
}

void tell_failures(const Json& evaluation, const std::string& end, bool verbose) {
  headline(end + " but failed to place all allocations:");
  for (const auto& failure : failures_of(cli::member(evaluation, "FailedTGAllocs"))) {
    line(failure.title());
    print(failure.reasons("      "));
  }
  if (const auto blocked = text(evaluation, "BlockedEval"); !blocked.empty())
    line(
        fmt::format("Evaluation \"{}\" waiting for additional capacity to place remainder", id_text(blocked, verbose)));
}

}  // namespace

int watch_evaluation(Api& api, const std::string& id, bool verbose) {
  const Json evaluation = Watch(api, id, verbose).until_over();
  const std::string status = text(evaluation, "Status");
  const std::string end = fmt::format("Evaluation \"{}\" finished with status \"{}\"", id_text(id, verbose), status);
  if (!members(evaluation, "FailedTGAllocs").empty()) {
    tell_failures(evaluation, end, verbose);
    return kNotPlaced;
  }
  headline(end);
  if (status == "failed") {
    line(text(evaluation, "StatusDescription"));
    return kFailed;
  }
  if (const std::string next = text(evaluation, "NextEval"); !next.empty()) return watch_evaluation(api, next, verbose);
  const std::string deployment = text(evaluation, "DeploymentID");
  const int code = deployment.empty() ? 0 : watch_deployment(api, deployment, verbose);
  // Who stops a job ends its rollout: that is done, and has not failed.
  return text(evaluation, "TriggeredBy") == "job-deregister" ? 0 : code;
}

namespace {

/// How it is, and with `verbose` its allocations.
std::string progress_text(Api& api, const Json& deployment, bool verbose) {
  std::string out = deployment_text(deployment, verbose);
  if (!verbose) return out;
  const auto path = "/v1/deployment/allocations/" + cli::part(text(deployment, "ID"));
  return out + "\nAllocations\n" + allocations_text(elements(api.get(path)), verbose);
}

/// On a terminal once it is over, or waits; into a pipe whenever it is another than it was.
void tell_end(const Json& deployment, const std::string& progress, bool verbose) {
  const std::string status = text(deployment, "Status");
  const bool going = status == "running" || status == "paused" || status == "pending";
  print(fmt::format("  {} Deployment \"{}\" {}\n\n    {}\n{}", going || status == "successful" ? "✓" : "!",
                    id_text(text(deployment, "ID"), verbose), going ? "waits for somebody" : status, now(),
                    indented(progress)));
}

}  // namespace

int follow_deployment(Api& api, const std::string& id, bool verbose, std::chrono::milliseconds every) {
  const bool terminal = cli::is_terminal(1);
  std::string told;
  while (true) {
    const Json deployment = api.get("/v1/deployment/" + cli::part(id));
    const std::string status = text(deployment, "Status"), progress = progress_text(api, deployment, verbose);
    const bool over = status != "running" || waits_for_person(deployment);
    if (!terminal && progress != told) print(fmt::format("\n{}\n{}", now(), progress));
    told = progress;
    if (!over) {
      std::this_thread::sleep_for(every);
      continue;
    }
    if (terminal) tell_end(deployment, progress, verbose);
    if (const auto rollback = rollback_of(api, deployment); !rollback.empty()) {
      print("\n");
      follow_deployment(api, rollback, verbose, every);
    }
    return status == "failed" || status == "cancelled" || status == "blocked" ? kFailed : 0;
  }
}

int watch_deployment(Api& api, const std::string& id, bool verbose) {
  headline(fmt::format("Monitoring deployment \"{}\"", id_text(id, verbose)));
  return follow_deployment(api, id, verbose, kLookEvery);
}

int watch_unless_detached(Api& api, const cli::Arguments& arguments, const std::string& eval_id) {
  if (eval_id.empty() || arguments.has("detach")) return 0;
  return watch_evaluation(api, eval_id, arguments.has("verbose"));
}

}  // namespace underway::nomad
