#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/job/score_text.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "cli/wire.hpp"
#include "model/validate/first_cause.hpp"

namespace underway::cli {
namespace {

void print_task(const std::string& name, const model::TaskState& state) {
  print(
      fmt::format("\nTask \"{}\" is \"{}\"{}\n", name, describe::spell(state.state), state.failed ? " (failed)" : ""));
  print(key_values({{"Started At", state.started_at > 0 ? format_time(from_unix_nanos(state.started_at)) : "N/A"},
                    {"Finished At", state.finished_at > 0 ? format_time(from_unix_nanos(state.finished_at)) : "N/A"},
                    {"Total Restarts", std::to_string(state.restarts)}}));
  print("\nRecent Events:\n");
  Table table({"Time", "Type", "Description"});
  for (auto it = state.events.rbegin(); it != state.events.rend(); ++it)
    table.add({format_time(from_unix_nanos(it->time)), it->type, it->message});
  table.print();
}

/// When somebody looks at it again, and what has led here.
Lines prospects(sdk::Client& client, const model::Allocation& allocation) {
  Lines lines;
  if (allocation.unknown_since > 0) lines.emplace_back("Not Heard Of Since", ago(allocation.unknown_since));
  if (const auto& sleep = allocation.sleep) {
    const bool changes = !allocation.terminal() && sleep->wanted != sleep->asleep;
    if (sleep->wanted || changes)
      lines.emplace_back("Sleeps", fmt::format("{}, {}",
                                               !changes        ? "yes"
                                               : sleep->wanted ? "is falling asleep"
                                                               : "is being woken",
                                               ago(sleep->since)));
    if (!sleep->trouble.empty()) lines.emplace_back("Stayed", sleep->trouble);
  }
  if (const auto& arrival = allocation.arrival)
    lines.emplace_back("Came From",
                       fmt::format("allocation {}: {}{}{}", short_id(arrival->from), describe::spell(arrival->phase),
                                   arrival->live && !arrival->is_under_way() ? ", while it ran" : "",
                                   arrival->trouble.empty() ? "" : ", " + arrival->trouble));
  if (allocation.transition.with_machines)
    lines.emplace_back("Goes Elsewhere", allocation.next_allocation.empty()
                                             ? "as soon as a node has room"
                                             : "as allocation " + short_id(allocation.next_allocation));
  if (!allocation.reschedules.empty())
    lines.emplace_back(
        "Reschedules",
        fmt::format("{} kept, the last {} after a delay of {}", allocation.reschedules.size(),
                    ago(allocation.reschedules.back().time), human_duration(allocation.reschedules.back().delay)));
  const bool waits = allocation.client_status == model::ClientStatus::failed ||
                     allocation.client_status == model::ClientStatus::unknown;
  if (!waits || allocation.server_terminal() || allocation.follow_up_eval.empty()) return lines;
  try {
    const auto due = client.evaluation(allocation.follow_up_eval).value.wait_until;
    const bool failed = allocation.client_status == model::ClientStatus::failed;
    lines.emplace_back(failed ? "Reschedule Eligibility" : "Given Up", format_time(from_unix_nanos(due)));
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;  // it has been looked at, and forgotten since
  }
  return lines;
}

/// The verdict on the version, and the reason if it is bad.
std::string in_words(const model::AllocHealth& health) {
  if (!health.healthy) return "unknown";
  if (*health.healthy) return "yes";
  return health.description.empty() ? "no" : "no: " + health.description;
}

/// Nomad's "Placement Metrics".
void print_metrics(const model::Allocation& allocation) {
  const std::string scores = scores_text(allocation.metrics.scores, {{allocation.node_id, allocation.node_name}});
  if (scores.empty()) return;
  print("\nPlacement Metrics\n");
  print(fmt::format("* Nodes evaluated: {}, of which {} were filtered\n", allocation.metrics.nodes_evaluated,
                    allocation.metrics.nodes_filtered));
  print(scores);
}

int run_alloc_status(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto allocation = client.allocation(resolve_allocation(client, arguments.positional().front()));
  if (print_formatted(arguments, json::to_value(allocation))) return kDone;
  std::string ports;
  for (const auto& port : allocation.resources.ports)
    ports += fmt::format("{}{}={}:{}", ports.empty() ? "" : " ", port.label, port.host_ip, port.value);
  Lines lines({{"ID", allocation.id},
               {"Eval ID", short_id(allocation.eval_id)},
               {"Name", allocation.name},
               {"Node ID", short_id(allocation.node_id)},
               {"Node Name", allocation.node_name},
               {"Job ID", allocation.job_id},
               {"Job Version", std::to_string(allocation.job_version)},
               {"Client Status", std::string(describe::spell(allocation.client_status))},
               {"Client Description", allocation.client_description},
               {"Desired Status", std::string(describe::spell(allocation.desired_status))},
               {"Desired Description", allocation.desired_description},
               {"Ready", allocation.is_ready() ? "yes" : "no"},
               {"Healthy", in_words(allocation.health)},
               {"Ports", ports.empty() ? "<none>" : ports},
               {"Created", ago(allocation.create_time)}});
  if (const auto cause = model::first_cause(allocation.task_states))
    lines.emplace_back("Cause", fmt::format("task '{}': {}", cause->task, cause->text));
  for (auto& line : prospects(client, allocation)) lines.push_back(std::move(line));
  print(key_values(lines));
  for (const auto& [name, state] : allocation.task_states) print_task(name, state);
  if (arguments.has("verbose")) print_metrics(allocation);
  return kDone;
}

}  // namespace

const Command& alloc_status_command() {
  static const Command command{
      .name = "alloc status",
      .arguments = "ID",
      .summary = "Shows an allocation, its tasks and what happened to them.",
      .flags = {{"verbose", "", "The scores that led to its node too."}, {"json", "", "As JSON."}, kTemplate},
      .least = 1,
      .most = 1,
      .run = run_alloc_status};
  return command;
}

}  // namespace underway::cli
