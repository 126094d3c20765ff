#include "cli/plan.hpp"

#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/capsule_files.hpp"
#include "cli/capsule_text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/diff_text.hpp"
#include "cli/impact_text.hpp"
#include "cli/slurm_versions.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {

void print_plan(const api::ClusterPlan& plan, const model::Cluster& cluster) {
  if (!plan.changes) {
    print(fmt::format("Nothing changes: cluster '{}' is as declared.\n", cluster.name));
    return;
  }
  if (plan.cluster.object.type != model::DiffType::none) print(diff_text(plan.cluster.object, 0));
  if (!plan.cluster.hosts_added.empty())
    print(paint(Colour::green, "+") + " hosts: " + join(plan.cluster.hosts_added, ", ") + "\n");
  if (!plan.cluster.hosts_removed.empty())
    print(paint(Colour::red, "-") + " hosts: " + join(plan.cluster.hosts_removed, ", ") + "\n");
  for (const auto& line : plan.namespaces) print(paint(Colour::yellow, "~") + " " + line + "\n");
  for (const auto& line : plan.files) print(paint(Colour::yellow, "~") + " " + line + "\n");
  for (const auto& job : plan.jobs) {
    print("\n" + diff_text(job.diff));
    if (!job.touched.empty()) print("  where:\n" + touched_text(job.touched));
    // A cluster that does not stand yet has no nodes: that nothing can be placed now says nothing.
    if (!job.failed.empty() && plan.cluster.hosts_added.empty())
      print(paint(Colour::yellow, "  cannot be placed now:\n") + failures_text(job.failed));
  }
  for (const auto& id : plan.stopped)
    print("\n" + paint(Colour::red, "-") +
          fmt::format(" Job: \"{}\" is stopped: the directory does not declare it any more\n", id));
  if (!plan.unchanged.empty()) print("\nUnchanged: " + join(plan.unchanged, ", ") + "\n");
  print("\n" + impact_line({plan.impact}) + "\n");
}

namespace {

int run(const Arguments& arguments) {
  auto client = make_client(arguments);
  auto body = load_cluster(arguments.positional().front(), arguments, &client);
  const auto images = name_images_by_digest(body, arguments.positional().front());
  const auto plan = client.plan_cluster(body);
  if (arguments.has("json"))
    print_json(json::to_value(plan));
  else
    print_plan(plan, body.cluster);
  if (!arguments.has("json")) print(protection_text(body.jobs));
  warn_of_slurm(client, body, images);
  return plan.changes ? kFailed : kDone;
}

}  // namespace

const Command& plan_command() {
  static const Command command{.name = "plan",
                               .arguments = "DIR",
                               .summary = "Shows what applying a directory would change, and where.",
                               .details =
                                   "Changes nothing. Exits 0 when nothing would change, 1 when something would, and "
                                   "255 on an error, as `job plan` does.",
                               .examples = {"underway plan examples/slurm"},
                               .flags = with_variable_flags({{"json", "", "The plan as JSON."}}),
                               .least = 1,
                               .most = 1,
                               .run = run};
  return command;
}

}  // namespace underway::cli
