// Counts of groups, and the policies within which they may be set.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/numbers.hpp"
#include "cli/commands.hpp"
#include "cli/job/follow_evaluation.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "model/job/scaling_event.hpp"

namespace underway::cli {
namespace {

std::int64_t parse_count(const std::string& text) {
  if (const auto count = parse_number<std::int64_t>(text); count && *count >= 0) return *count;
  throw Error(Code::invalid, fmt::format("'{}' is not a count", text));
}

/// ID [GROUP] COUNT; without a group the only one is meant.
int scale(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto& given = arguments.positional();
  const std::string id = resolve_job(client, given.front());
  std::string group = given.size() > 2 ? given[1] : std::string();
  if (group.empty()) {
    const auto job = client.job(id);
    if (job.groups.size() != 1) {
      throw Error(Code::invalid, fmt::format("job '{}' has {} groups", id, job.groups.size()))
          .advise(fmt::format("say which: `underway job scale {} GROUP {}`", id, given.back()));
    }
    group = job.groups.front().name;
  }
  const auto scaled = client.scale_job(id, group, parse_count(given.back()), "submitted using the Underway CLI");
  if (arguments.has("detach")) {
    print(fmt::format("Evaluation ID: {}\n", short_id(scaled.eval_id)));
    return kDone;
  }
  return follow_registration(client, scaled.eval_id, std::chrono::minutes(5));
}

int events(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto status = client.job_scale(resolve_job(client, arguments.positional().front()));
  if (print_formatted(arguments, status)) return kDone;
  Table table({"Task Group", "Count", "PrevCount", "Error", "Message", "Date"});
  for (const auto& [group, counts] : status.at("TaskGroups").as_object()) {
    for (const auto& event : json::decode<std::vector<model::ScalingEvent>>(counts.at("Events"), "Events")) {
      table.add({std::string(group), event.count ? std::to_string(*event.count) : "<none>",
                 std::to_string(event.previous_count), event.error ? "true" : "false", event.message,
                 format_time(from_unix_nanos(event.time))});
    }
  }
  table.print();
  return kDone;
}

int list_policies(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto policies = client.scaling_policies(arguments.get("job"), arguments.get("type"));
  if (print_formatted(arguments, policies)) return kDone;
  Table table({"ID", "Enabled", "Type", "Target"});
  for (const auto& policy : policies.as_array()) {
    const auto& target = policy.at("Target");
    std::string what =
        json::text_at(target, "Namespace") + "/" + json::text_at(target, "Job") + "/" + json::text_at(target, "Group");
    if (const auto task = json::text_at(target, "Task"); !task.empty()) what += "/" + task;
    table.add({short_id(json::text_at(policy, "ID")), policy.at("Enabled").as_bool() ? "true" : "false",
               json::text_at(policy, "Type"), what});
  }
  table.print();
  return kDone;
}

int show_policy(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string& prefix = arguments.positional().front();
  std::vector<std::string> ids;
  const auto policies = client.scaling_policies({}, {});
  for (const auto& policy : policies.as_array()) {
    if (json::text_at(policy, "ID").starts_with(prefix)) ids.push_back(json::text_at(policy, "ID"));
  }
  if (ids.empty())
    throw Error(Code::not_found, fmt::format("no scaling policy's id begins with '{}'", prefix))
        .advise("`underway scaling policy list` shows what there is");
  if (ids.size() > 1)
    throw Error(Code::conflict, fmt::format("the ids of {} policies begin with '{}'", ids.size(), prefix));
  print_json(client.scaling_policy(ids.front()));
  return kDone;
}

}  // namespace

const Command& job_scale_command() {
  static const Command command{
      .name = "job scale",
      .arguments = "ID [GROUP] COUNT",
      .summary = "Sets the count of a group, within the bounds of its scaling block.",
      .details = "Refused while a rollout of the job is going on. Exits 2 when something could not be placed.",
      .examples = {"underway job scale web 5", "underway job scale web frontend 5"},
      .flags = {{"detach", "", "Returns at once."}},
      .least = 2,
      .most = 3,
      .run = scale};
  return command;
}

const Command& job_scaling_events_command() {
  static const Command command{.name = "job scaling-events",
                               .arguments = "ID",
                               .summary = "Lists what was asked of the counts of a job's groups.",
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = events};
  return command;
}

const Command& scaling_policy_list_command() {
  static const Command command{.name = "scaling policy list",
                               .summary = "Lists the scaling blocks of jobs.",
                               .flags = {{"job", "ID", "Of this job only."},
                                         {"type", "TYPE", "Of this type only: horizontal, vertical_cpu, vertical_mem."},
                                         {"json", "", "As JSON."},
                                         kTemplate},
                               .run = list_policies};
  return command;
}

const Command& scaling_policy_info_command() {
  static const Command command{.name = "scaling policy info",
                               .arguments = "ID",
                               .summary = "Prints a scaling block as JSON.",
                               .least = 1,
                               .most = 1,
                               .run = show_policy};
  return command;
}

}  // namespace underway::cli
