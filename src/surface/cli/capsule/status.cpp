#include "base/json/json.hpp"
#include "cli/capsule/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::string doing(const model::Capsule& capsule) {
  if (capsule.move) return fmt::format("to {}: {}", capsule.move->target_name, describe::spell(capsule.move->phase));
  if (capsule.upgrade)
    return fmt::format("to {}: {}", capsule.upgrade->to_image, describe::spell(capsule.upgrade->phase));
  return capsule.description;
}

int list_capsules(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto capsules = client.capsules();
  if (arguments.has("json")) {
    print_json(json::to_value(capsules));
    return kDone;
  }
  Table table({"CAPSULE", "JOB", "STATE", "OWNER", "STANDBY", "EPOCH", "SINCE", "WHY"});
  for (const auto& capsule : capsules) {
    table.add({capsule.name, capsule.job, std::string(describe::spell(capsule.state)), capsule.owner_name,
               capsule.successor ? capsule.successor->node_name : "", std::to_string(capsule.epoch),
               ago(capsule.held_since), doing(capsule)});
  }
  table.print();
  return kDone;
}

int show_capsule_status(const Arguments& arguments) {
  if (arguments.positional().empty()) return list_capsules(arguments);
  auto client = make_client(arguments);
  const auto capsule = client.capsule(arguments.positional().front()).value;
  if (arguments.has("json")) {
    print_json(json::to_value(capsule));
    return kDone;
  }
  print(capsule_text(capsule));
  print(saving_text(client.capsule_saving(capsule.name), current_time()));
  return kDone;
}

}  // namespace

const Command& capsule_list_command() {
  static const Command command{.name = "capsule list",
                               .summary = "Lists the capsules, and which node runs each.",
                               .flags = {{"json", "", "As JSON."}},
                               .run = list_capsules};
  return command;
}

const Command& capsule_status_command() {
  static const Command command{
      .name = "capsule status",
      .arguments = "[NAME]",
      .summary = "Tells who runs a capsule, who could take over, and of its moves and upgrades.",
      .flags = {{"json", "", "As JSON."}},
      .least = 0,
      .most = 1,
      .run = show_capsule_status};
  return command;
}

}  // namespace underway::cli
