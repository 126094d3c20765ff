#include "base/json.hpp"
#include "cli/capsule_text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int list(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto capsules = client.capsules();
  if (arguments.has("json")) {
    print_json(json::to_value(capsules));
    return kDone;
  }
  Table table({"CAPSULE", "JOB", "STATE", "OWNER", "STANDBY", "EPOCH", "SINCE", "WHY"});
  for (const auto& capsule : capsules) {
    const auto* standby = capsule.find_replica(capsule.standby);
    table.add({capsule.name, capsule.job, std::string(describe::spell(capsule.state)), capsule.owner_name,
               standby != nullptr ? standby->node_name : "", std::to_string(capsule.epoch), ago(capsule.held_since),
               capsule.move ? fmt::format("to {}: {}", capsule.move->target_name, describe::spell(capsule.move->phase))
                            : capsule.description});
  }
  table.print();
  return kDone;
}

int status(const Arguments& arguments) {
  if (arguments.positional().empty()) return list(arguments);
  auto client = make_client(arguments);
  const auto capsule = client.capsule(arguments.positional().front()).value;
  if (arguments.has("json"))
    print_json(json::to_value(capsule));
  else
    print(capsule_text(capsule));
  return kDone;
}

}  // namespace

const Command& capsule_list_command() {
  static const Command command{.name = "capsule list",
                               .summary = "Lists the capsules, and which node runs each.",
                               .flags = {{"json", "", "As JSON."}},
                               .run = list};
  return command;
}

const Command& capsule_status_command() {
  static const Command command{.name = "capsule status",
                               .arguments = "[NAME]",
                               .summary = "Tells who runs a capsule, who could take over, and of its moves.",
                               .flags = {{"json", "", "As JSON."}},
                               .least = 0,
                               .most = 1,
                               .run = status};
  return command;
}

}  // namespace underway::cli
