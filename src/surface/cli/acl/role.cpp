#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "cli/acl/access_losses.hpp"
#include "cli/commands.hpp"
#include "cli/impact/loss.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::string policies_of(const model::AclRole& role) {
  std::vector<std::string> names;
  for (const auto& policy : role.policies) names.push_back(policy.name);
  return join(names, ",");
}

int print_role(const model::AclRole& role, const Arguments& arguments) {
  if (print_formatted(arguments, json::to_value(role))) return kDone;
  print(key_values({{"ID", role.id},
                    {"Name", role.name},
                    {"Description", role.description},
                    {"Policies", policies_of(role)},
                    {"Create Index", std::to_string(role.create_index)},
                    {"Modify Index", std::to_string(role.modify_index)}}));
  return kDone;
}

model::AclRole find(sdk::Client& client, const std::string& id_or_name) {
  return is_uuid(id_or_name) ? client.acl_role(id_or_name) : client.acl_role_by_name(id_or_name);
}

void set_fields(model::AclRole& role, const Arguments& arguments) {
  if (const auto name = arguments.find("name")) role.name = *name;
  if (const auto text = arguments.find("description")) role.description = *text;
  const auto policies = arguments.all("policy");
  if (!policies.empty()) role.policies.clear();
  for (const auto& name : policies) role.policies.push_back({name});
}

int create_acl_role(const Arguments& arguments) {
  model::AclRole role;
  set_fields(role, arguments);
  return print_role(make_client(arguments).put_acl_role(role), arguments);
}

int update_acl_role(const Arguments& arguments) {
  auto client = make_client(arguments);
  auto role = find(client, arguments.positional().front());
  set_fields(role, arguments);
  return print_role(client.put_acl_role(role), arguments);
}

int list_acl_roles(const Arguments& arguments) {
  const auto roles = make_client(arguments).acl_roles();
  if (print_formatted(arguments, json::to_value(roles))) return kDone;
  Table table({"ID", "Name", "Description", "Policies"});
  for (const auto& role : roles) table.add({role.id, role.name, role.description, policies_of(role)});
  table.print();
  return kDone;
}

int info_acl_role(const Arguments& arguments) {
  auto client = make_client(arguments);
  return print_role(find(client, arguments.positional().front()), arguments);
}

int remove_acl_role(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto role = find(client, arguments.positional().front());
  if (!arguments.has(kYes.name)) {
    const auto lost = losses_of_role(role, client.acl_tokens());
    if (const auto agreed = ask_before(
            {.deed = fmt::format("this deletes role '{}' for good", role.name), .word = role.name, .lost = lost},
            arguments);
        agreed != kDone)
      return agreed;
  }
  client.delete_acl_role(role.id);
  print(fmt::format("ACL role {} successfully deleted\n", role.id));
  return kDone;
}

std::vector<Flag> role_flags() {
  return {{"name", "NAME", "The role's name."},
          {"description", "TEXT", "For people."},
          {"policy", "NAME", "A policy that the role has; on update, these alone.", true},
          {"json", "", "As JSON."},
          kTemplate};
}

}  // namespace

const Command& acl_role_create_command() {
  static const Command command{.name = "acl role create",
                               .summary = "Makes a role: policies under one name.",
                               .examples = {"underway acl role create -name operators -policy nodes -policy jobs"},
                               .flags = role_flags(),
                               .run = create_acl_role};
  return command;
}

const Command& acl_role_update_command() {
  static const Command command{.name = "acl role update",
                               .arguments = "ID|NAME",
                               .summary = "Changes a role: whoever has it has the new rights at once.",
                               .flags = role_flags(),
                               .least = 1,
                               .most = 1,
                               .run = update_acl_role};
  return command;
}

const Command& acl_role_list_command() {
  static const Command command{
      .name = "acl role list", .summary = "Lists roles.", .flags = with_format_flags(), .run = list_acl_roles};
  return command;
}

const Command& acl_role_info_command() {
  static const Command command{.name = "acl role info",
                               .arguments = "ID|NAME",
                               .summary = "Shows a role.",
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = info_acl_role};
  return command;
}

const Command& acl_role_delete_command() {
  static const Command command{.name = "acl role delete",
                               .arguments = "ID|NAME",
                               .summary = "Deletes a role: tokens lose what it granted.",
                               .flags = {kYes},
                               .least = 1,
                               .most = 1,
                               .run = remove_acl_role};
  return command;
}

}  // namespace underway::cli
