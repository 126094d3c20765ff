#include "base/json/json.hpp"
#include "cli/capsule/protection_text.hpp"
#include "cli/cluster/slurm_versions.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/impact/impact_text.hpp"
#include "cli/job/diff_text.hpp"
#include "cli/job/score_text.hpp"
#include "cli/terminal.hpp"
#include "impact/impact.hpp"

#include <set>

namespace underway::cli {
namespace {

/// The first placement of each group: the others of it go the same way.
void print_scores(const std::vector<wire::Touched>& touched) {
  std::set<std::string> groups;
  for (const auto& allocation : touched) {
    const auto group = allocation.name.substr(0, allocation.name.rfind('['));
    if (allocation.scores.empty() || !groups.insert(group).second) continue;
    print(fmt::format("- Scores of {}:\n", allocation.name) +
          scores_text(allocation.scores, {{allocation.scores[0].node_id, allocation.node}}));
  }
}

/// As Nomad does: one by one while they are few, else by job.
void print_evicted(const std::vector<wire::Evicted>& evicted) {
  constexpr std::size_t kFew = 10;
  if (evicted.empty()) return;
  print(paint(Colour::yellow, "Preemptions:") + "\n");
  if (evicted.size() < kFew) {
    Table table({"Alloc ID", "Job ID", "Task Group", "Node"});
    for (const auto& allocation : evicted)
      table.add({short_id(allocation.id), allocation.job_id, allocation.group, allocation.node});
    return table.print();
  }
  std::map<std::pair<std::string, std::string>, std::size_t> by_job;
  for (const auto& allocation : evicted) ++by_job[{allocation.ns, allocation.job_id}];
  Table table({"Job ID", "Namespace", "Allocations"});
  for (const auto& [job, count] : by_job) table.add({job.second, job.first, std::to_string(count)});
  table.print();
}

int run_job_plan(const Arguments& arguments) {
  const auto loaded = load_job(arguments.positional().front(), arguments);
  auto client = make_client(arguments);
  const auto change = client.plan_job(loaded.job);
  bool touches = false;
  for (const auto& [group, updates] : change.updates)
    touches = touches || updates.place + updates.stop + updates.in_place + updates.destructive > 0;
  const bool changes = touches || !change.failed.empty();
  if (arguments.has("json")) {
    print_json(json::to_value(change));
    return changes ? kFailed : kDone;
  }
  if (arguments.get("diff", "true") != "false") print(diff_text(change.diff) + "\n");
  print(paint(Colour::bold, "Scheduler dry-run:") + "\n");
  if (change.failed.empty())
    print(paint(Colour::green, "- All tasks successfully allocated.") + "\n");
  else
    print(paint(Colour::yellow, "- WARNING: Failed to place all allocations.") + "\n" + failures_text(change.failed));
  if (!change.touched.empty()) print(touched_text(change.touched));
  print_evicted(change.evicted);
  if (arguments.has("verbose")) print_scores(change.touched);
  if (!change.warnings.empty()) print("\n" + job_warnings_text(change.warnings));
  print("- Impact: " + impact::sentence(change.impact) + "\n" + prospects_text(change.prospects));
  print(protection_text(change.protections));
  warn_of_slurm(client, loaded.job);
  print(
      fmt::format("\nJob Modify Index: {0}\nTo submit the job with version verification run:\n\nunderway job run "
                  "-check-index {0} {1}\n",
                  change.job_modify_index, arguments.positional().front()));
  return changes ? kFailed : kDone;
}

}  // namespace

const Command& job_plan_command() {
  static const Command command{
      .name = "job plan",
      .arguments = "FILE",
      .summary = "Shows what running a job file would change; changes nothing.",
      .details =
          "Exits 0 when no allocation would be touched, 1 when some would be created, changed "
          "or stopped, 255 on an error.",
      .examples = {"underway job plan -var datacenter=dc1 slurmctld.hcl"},
      .flags = with_variable_flags({{"diff", "BOOL", "Whether the differences are shown; true."},
                                    {"verbose", "", "The scores that lead to the nodes too."},
                                    {"json", "", "The plan as JSON."}}),
      .least = 1,
      .most = 1,
      .run = run_job_plan};
  return command;
}

}  // namespace underway::cli
