#include "nomad/monitor.hpp"

#include <map>
#include <thread>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/diff_text.hpp"
#include "cli/terminal.hpp"

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
constexpr int kNotPlaced = 2, kFailed = 1;

std::string now() { return cli::moment(unix_nanos(SystemClock().now())); }
void headline(const std::string& words) { print(fmt::format("==> {}: {}\n", now(), words)); }
void line(const std::string& words) { print(fmt::format("    {}: {}\n", now(), words)); }

std::string indented(const std::string& lines) {
  std::string out;
  for (const auto& one : split(lines, '\n')) {
    if (!one.empty()) out += "    " + one;
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
    if (status_.empty()) {
      status_ = "pending";
      const std::string node = text(evaluation, "NodeID");
      line(node.empty() ? fmt::format("Evaluation triggered by job \"{}\"", text(evaluation, "JobID"))
                        : fmt::format("Evaluation triggered by node \"{}\"", id_text(node, verbose_)));
    }
    for (const auto& allocation : elements(api_.get("/v1/evaluation/" + cli::part(id_) + "/allocations")))
      tell_allocation(allocation);
    const std::string deployment = text(evaluation, "DeploymentID"), status = text(evaluation, "Status");
    if (!deployment.empty() && deployment_.empty()) {
      deployment_ = deployment;
      line(fmt::format("Evaluation within deployment: \"{}\"", id_text(deployment, verbose_)));
    }
    if (status != status_) line(fmt::format("Evaluation status changed: \"{}\" -> \"{}\"", status_, status));
    status_ = status;
  }

  void tell_allocation(const Json& allocation) {
    const std::string id = text(allocation, "ID"), status = text(allocation, "ClientStatus");
    const auto [seen, fresh] = seen_.try_emplace(id, status);
    if (fresh) {
      const bool made = number(allocation, "CreateIndex") == number(allocation, "ModifyIndex") || status == "pending";
      return line(fmt::format("Allocation \"{}\" {}: node \"{}\", group \"{}\"", id_text(id, verbose_),
                              made ? "created" : "modified", id_text(text(allocation, "NodeID"), verbose_),
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
  std::string status_, deployment_;
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

}  // namespace

std::string failures_text(const Json& evaluation) {
  const auto& failed = cli::member(evaluation, "FailedTGAllocs");
  if (failed.is_null()) return {};
  const auto metrics = json::decode<std::map<std::string, model::AllocMetric>>(failed, "FailedTGAllocs");
  std::string out;
  for (const auto& one : split(cli::failures_text(metrics), '\n')) {
    if (!one.empty()) out += (one.starts_with("  ") ? one.substr(2) : one) + "\n";
  }
  return out;
}

int watch_evaluation(Api& api, const std::string& id, bool verbose) {
  const Json evaluation = Watch(api, id, verbose).until_over();
  const std::string status = text(evaluation, "Status");
  const std::string end = fmt::format("Evaluation \"{}\" finished with status \"{}\"", id_text(id, verbose), status);
  if (!members(evaluation, "FailedTGAllocs").empty()) {
    headline(end + " but failed to place all allocations:");
    print(indented(failures_text(evaluation)));
    if (const auto blocked = text(evaluation, "BlockedEval"); !blocked.empty())
      line(fmt::format("Evaluation \"{}\" waiting for additional capacity to place remainder",
                       id_text(blocked, verbose)));
    return kNotPlaced;
  }
  headline(end);
  if (status == "failed") {
    line(text(evaluation, "StatusDescription"));
    return kFailed;
  }
  const std::string deployment = text(evaluation, "DeploymentID");
  return deployment.empty() ? 0 : watch_deployment(api, deployment, verbose);
}

int watch_deployment(Api& api, const std::string& id, bool verbose) {
  headline(fmt::format("Monitoring deployment \"{}\"", id_text(id, verbose)));
  Json deployment = api.get("/v1/deployment/" + cli::part(id));
  while (text(deployment, "Status") == "running" && !waits_for_person(deployment)) {
    std::this_thread::sleep_for(kLookEvery);
    deployment = api.get("/v1/deployment/" + cli::part(id));
  }
  const std::string status = text(deployment, "Status");
  const bool going = status == "running" || status == "paused" || status == "pending";
  const bool good = going || status == "successful";
  print(fmt::format("  {} Deployment \"{}\" {}\n\n    {}\n", good ? "✓" : "!", id_text(id, verbose),
                    going ? "waits for somebody" : status, now()));
  print(indented(deployment_text(deployment, verbose)));
  if (const auto rollback = rollback_of(api, deployment); !rollback.empty()) watch_deployment(api, rollback, verbose);
  return good ? 0 : kFailed;
}

int watch_unless_detached(Api& api, const cli::Arguments& arguments, const std::string& eval_id) {
  if (eval_id.empty() || arguments.has("detach")) return 0;
  return watch_evaluation(api, eval_id, arguments.has("verbose"));
}

namespace {

std::string truth_text(bool value) { return value ? "true" : "false"; }

std::string groups_text(const Json& deployment) {
  const auto& groups = members(deployment, "TaskGroups");
  const auto any = [&](const char* name) {
    return std::any_of(groups.begin(), groups.end(), [&](const auto& group) {
      return truth(group.value(), name) || number(group.value(), name) > 0;
    });
  };
  const bool reverts = any("AutoRevert"), canaries = any("DesiredCanaries");
  std::vector<std::string> headers{"Task Group"};
  if (reverts) headers.emplace_back("Auto Revert");
  if (canaries) headers.emplace_back("Promoted");
  headers.emplace_back("Desired");
  if (canaries) headers.emplace_back("Canaries");
  headers.insert(headers.end(), {"Placed", "Healthy", "Unhealthy", "Progress Deadline"});
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, group] : groups) {
    std::vector<std::string> row{std::string(name)};
    if (reverts) row.push_back(truth_text(truth(group, "AutoRevert")));
    if (canaries) row.push_back(number(group, "DesiredCanaries") > 0 ? truth_text(truth(group, "Promoted")) : "N/A");
    row.push_back(text(group, "DesiredTotal"));
    if (canaries) row.push_back(text(group, "DesiredCanaries"));
    for (const char* count : {"PlacedAllocs", "HealthyAllocs", "UnhealthyAllocs"}) row.push_back(text(group, count));
    const auto deadline = cli::moment_of(cli::member(group, "RequireProgressBy"));
    row.push_back(deadline.empty() ? "N/A" : deadline);
    rows.push_back(std::move(row));
  }
  return cli::table_text(headers, rows);
}

}  // namespace

std::string deployment_text(const Json& deployment, bool verbose) {
  const std::string head = cli::facts_text({{"ID", id_text(text(deployment, "ID"), verbose)},
                                            {"Job ID", text(deployment, "JobID")},
                                            {"Job Version", text(deployment, "JobVersion")},
                                            {"Status", text(deployment, "Status")},
                                            {"Description", text(deployment, "StatusDescription")}});
  if (members(deployment, "TaskGroups").empty()) return head;
  return head + "\nDeployed\n" + groups_text(deployment);
}

}  // namespace underway::nomad
