#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/acl/login_commands.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

using boost::json::object;
using model::BindingRule;

std::string path_of_acl_binding_rule(const std::string& id) {
  return "/v1/acl/binding-rule/" + http::percent_encode(id);
}

/// By a part of its id.
std::string resolve(sdk::Client& client, const std::string& prefix) {
  std::vector<std::string> found;
  const auto rules = ask(client, "GET", "/v1/acl/binding-rules");
  for (const auto& row : rules.as_array()) {
    const std::string id(row.at("ID").as_string());
    if (id == prefix) return id;
    if (id.starts_with(prefix)) found.push_back(id);
  }
  if (found.empty()) throw Error(Code::not_found, fmt::format("no ACL binding rule has the id '{}'", prefix));
  if (found.size() > 1) throw Error(Code::conflict, fmt::format("{} ACL binding rules begin so", found.size()));
  return found.front();
}

int print_rule(const boost::json::value& value, const Arguments& arguments) {
  if (print_formatted(arguments, value)) return kDone;
  const auto rule = json::decode<BindingRule>(value, "answer");
  print(key_values({{"ID", rule.id},
                    {"Description", rule.description.empty() ? "<none>" : rule.description},
                    {"Auth Method", rule.auth_method},
                    {"Selector", rule.selector.empty() ? "<none>" : '"' + rule.selector + '"'},
                    {"Bind Type", std::string(describe::spell(rule.bind_type))},
                    {"Bind Name", rule.bind_name.empty() ? "<none>" : '"' + rule.bind_name + '"'},
                    {"Create Time", format_time(from_unix_nanos(rule.create_time))},
                    {"Modify Time", format_time(from_unix_nanos(rule.modify_time))},
                    {"Create Index", std::to_string(rule.create_index)},
                    {"Modify Index", std::to_string(rule.modify_index)}}));
  return kDone;
}

object fields_of_acl_binding_rule(const Arguments& arguments) {
  object body;
  for (const auto& [flag, member] :
       {std::pair("description", "Description"), std::pair("auth-method", "AuthMethod"),
        std::pair("selector", "Selector"), std::pair("bind-type", "BindType"), std::pair("bind-name", "BindName")}) {
    if (const auto value = arguments.find(flag)) body[member] = *value;
  }
  return body;
}

int create_acl_binding_rule(const Arguments& arguments) {
  for (const char* flag : {"auth-method", "bind-type"}) {
    if (!arguments.has(flag)) throw Error(Code::invalid, fmt::format("-{} is missing", flag));
  }
  auto client = make_client(arguments);
  return print_rule(ask(client, "PUT", "/v1/acl/binding-rule", fields_of_acl_binding_rule(arguments)), arguments);
}

int update_acl_binding_rule(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto id = resolve(client, arguments.positional().front());
  object body = fields_of_acl_binding_rule(arguments);
  if (arguments.has("no-merge")) {
    for (const char* member : {"Description", "Selector", "BindType", "BindName"}) {
      if (!body.contains(member)) body[member] = "";
    }
  }
  return print_rule(ask(client, "PUT", path_of_acl_binding_rule(id), body), arguments);
}

int list_acl_binding_rules(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto rules = ask(client, "GET", "/v1/acl/binding-rules");
  if (print_formatted(arguments, rules)) return kDone;
  Table table({"ID", "Description", "Auth Method"});
  for (const auto& row : rules.as_array()) {
    const auto rule = json::decode<BindingRule>(row, "answer");
    table.add({rule.id, rule.description, rule.auth_method});
  }
  table.print();
  return kDone;
}

int info_acl_binding_rule(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto id = resolve(client, arguments.positional().front());
  return print_rule(ask(client, "GET", path_of_acl_binding_rule(id)), arguments);
}

int remove_acl_binding_rule(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto id = resolve(client, arguments.positional().front());
  ask(client, "DELETE", path_of_acl_binding_rule(id));
  print(fmt::format("Successfully deleted ACL binding rule \"{}\"\n", id));
  return kDone;
}

std::vector<Flag> rule_flags() {
  return {{"auth-method", "NAME", "The method whose logins it is for."},
          {"selector", "EXPRESSION", "For whom: 'engineering in list.groups'; none: everybody."},
          {"bind-type", "role|policy|management", "What those get."},
          {"bind-name", "NAME", "Which role or policy; ${value.x} is a mapped claim."},
          {"description", "TEXT", "For people."},
          {"json", "", "As JSON."},
          kTemplate};
}

}  // namespace

const Command& acl_binding_rule_create_command() {
  static const Command command{.name = "acl binding-rule create",
                               .summary = "Says what those may do who log in by an auth method.",
                               .examples = {"underway acl binding-rule create -auth-method corp -bind-type role "
                                            "-bind-name operators -selector 'hpc-admins in list.groups'"},
                               .flags = rule_flags(),
                               .run = create_acl_binding_rule};
  return command;
}

const Command& acl_binding_rule_update_command() {
  static const Command command{.name = "acl binding-rule update",
                               .arguments = "ID",
                               .summary = "Changes a binding rule; what is not said stays.",
                               .flags = rule_flags(),
                               .least = 1,
                               .most = 1,
                               .run = update_acl_binding_rule};
  return command;
}

const Command& acl_binding_rule_list_command() {
  static const Command command{.name = "acl binding-rule list",
                               .summary = "Lists binding rules.",
                               .flags = with_format_flags(),
                               .run = list_acl_binding_rules};
  return command;
}

const Command& acl_binding_rule_info_command() {
  static const Command command{.name = "acl binding-rule info",
                               .arguments = "ID",
                               .summary = "Shows a binding rule.",
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = info_acl_binding_rule};
  return command;
}

const Command& acl_binding_rule_delete_command() {
  static const Command command{.name = "acl binding-rule delete",
                               .arguments = "ID",
                               .summary = "Deletes a binding rule; tokens that have what it granted keep it.",
                               .least = 1,
                               .most = 1,
                               .run = remove_acl_binding_rule};
  return command;
}

}  // namespace underway::cli
