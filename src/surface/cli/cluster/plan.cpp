#include "cli/cluster/plan.hpp"

#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/capsule/files.hpp"
#include "cli/capsule/protection_text.hpp"
#include "cli/cluster/slurm_versions.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/impact/impact_text.hpp"
#include "cli/job/diff_text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {

std::string shortfall_text(const std::vector<wire::Shortfall>& shortfall) {
  std::string out;
  for (const auto& service : shortfall) {
    out += paint(service.needs_you ? Colour::yellow : Colour::blue, service.needs_you ? "!" : "~") +
           fmt::format(" {}: {}\n", service.job, service.what);
    if (!service.why.empty()) out += "    why: " + service.why + "\n";
    if (!service.advice.empty()) out += "    do:  " + service.advice + "\n";
  }
  return out;
}

void print_plan(const wire::ClusterPlan& plan, const model::Cluster& cluster) {
  if (!plan.changes) {
    const std::string_view how =
        plan.shortfalls.empty() ? "as declared" : "declared so already, but what runs is not yet that";
    print(fmt::format("Nothing changes: cluster '{}' is {}.\n", cluster.name, how));
    print(shortfall_text(plan.shortfalls));
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
  if (!plan.shortfalls.empty()) print("\n" + shortfall_text(plan.shortfalls));
  print("\n" + impact_line({plan.impact}) + "\n");
  for (const auto& job : plan.jobs) print(prospects_text(job.prospects));
}

namespace {

int run_plan(const Arguments& arguments) {
  auto client = make_client(arguments);
  auto body = load_cluster(arguments.positional().front(), arguments, &client);
  const auto images = name_images_by_digest(body, arguments.positional().front(), state_directory(arguments));
  const auto plan = client.plan_cluster(body);
  if (arguments.has("json"))
    print_json(json::to_value(plan));
  else
    print_plan(plan, body.cluster);
  if (!arguments.has("json")) print(protection_text(plan.protections));
  warn_of_slurm(client, body, images);
  return plan.changes || plan.needs_you() ? kFailed : kDone;
}

}  // namespace

const Command& plan_command() {
  static const Command command{.name = "plan",
                               .arguments = "DIR",
                               .summary = "Shows what applying a directory would change, and where.",
                               .details =
                                   "Changes nothing. Says how what is replaced is rolled out, and what is true if it "
                                   "does not work, and how what capsules keep is protected. Exits 0 when nothing would "
                                   "change, 1 when something would, or when "
                                   "what runs is not what is declared and needs you (a rollout failed), and 255 on an "
                                   "error, as `job plan` does.",
                               .examples = {"underway plan examples/slurm"},
                               .flags = with_variable_flags({{"json", "", "The plan as JSON."}}),
                               .least = 1,
                               .most = 1,
                               .run = run_plan};
  return command;
}

}  // namespace underway::cli
