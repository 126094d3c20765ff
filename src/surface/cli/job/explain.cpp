#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/job/explanation_text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {

namespace {

std::string reason_text(const wire::Reason& reason) {
  std::string out = "  " + paint(Colour::yellow, "!") + " " + reason.what + "\n";
  for (const auto& line : reason.why) out += "      " + line + "\n";
  if (!reason.advice.empty()) out += "      do: " + reason.advice + "\n";
  return out;
}

std::string state_of(const wire::ExplainedAllocation& allocation) {
  std::string state(describe::spell(allocation.status));
  if (allocation.stopping) state += ", stopping";
  if (allocation.ready) state += ", ready";
  return state;
}

}  // namespace

std::string explanation_text(const wire::Explanation& explanation, std::size_t width) {
  std::string out =
      fmt::format("{} ({} job, version {}) is {}\n", paint(Colour::bold, explanation.id),
                  describe::spell(explanation.type), explanation.version, describe::spell(explanation.status));
  for (const auto& reason : explanation.reasons) out += reason_text(reason);
  for (const auto& group : explanation.groups) {
    out += fmt::format("\nGroup {}: {} of {} placed, {} running, {} ready\n", group.name, group.placed, group.wanted,
                       group.running, group.ready);
    for (const auto& reason : group.reasons) out += reason_text(reason);
    if (!group.allocations.empty()) {
      Table table({"NODE", "ALLOCATION", "VERSION", "STATE", "WHY THERE"});
      for (const auto& allocation : group.allocations) {
        table.add({allocation.node_name, short_id(allocation.id), std::to_string(allocation.version),
                   state_of(allocation), allocation.where});
      }
      out += table.text(width);
    }
    if (!group.nodes.empty()) {
      Table table({"NODE", "ID", "ONE MORE THERE?"});
      for (const auto& node : group.nodes)
        table.add({node.name, short_id(node.id), node.against.empty() ? "yes" : "no: " + node.against});
      out += "\n" + table.text(width);
    }
  }
  if (!explanation.advice.empty()) out += "\nNearest thing to do: " + explanation.advice + "\n";
  return out;
}

namespace {

int run_job_explain(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto explanation =
      client.explain_job(resolve_job(client, arguments.positional().front()), arguments.has("nodes"));
  if (arguments.has("json"))
    print_json(json::to_value(explanation));
  else
    print(explanation_text(explanation, is_terminal(1) ? static_cast<std::size_t>(terminal_width(1)) : 0));
  return kDone;
}

}  // namespace

const Command& job_explain_command() {
  static const Command command{
      .name = "job explain",
      .arguments = "ID",
      .summary = "Tells why a job is not running, or why it is where it is.",
      .details =
          "For each group: what is placed and why there, what is not and what it waits for (nodes that do not suit, a "
          "dependency, a rollout, a delay after a failure, a drain), and the nearest thing to do.",
      .examples = {"underway job explain slurmd", "underway job explain -nodes slurmctld"},
      .flags = {{"nodes", "", "Asks every node whether it could take one more, and why not."},
                {"json", "", "As JSON."}},
      .least = 1,
      .most = 1,
      .run = run_job_explain};
  return command;
}

}  // namespace underway::cli
