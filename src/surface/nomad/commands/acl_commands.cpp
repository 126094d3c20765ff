// Rights: what Nomad's commands take besides what ours do.
#include "base/error.hpp"
#include "cli/acl/login_commands.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "cli/wire.hpp"
#include "nomad/table.hpp"
#include "os/file.hpp"

namespace underway::nomad {
namespace {

using boost::json::object;
using cli::Api;
using cli::elements;
using cli::Json;
using cli::print;
using cli::text;

/// The token's policies, its own and its roles'.
int own_policies(const Arguments& arguments) {
  Api api(arguments);
  const Json token = api.get("/v1/acl/token/self");
  boost::json::array found;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> names;
  for (const auto& name : elements(token, "Policies")) names.emplace_back(std::string_view(name.as_string()));
  for (const auto& role : elements(token, "Roles")) {
    for (const auto& policy : elements(api.get("/v1/acl/role/" + cli::part(text(role, "ID"))), "Policies"))
      names.push_back(text(policy, "Name"));
  }
  for (const auto& name : names) {
    const Json policy = api.get("/v1/acl/policy/" + cli::part(name));
    found.push_back(policy);
    rows.push_back({name, text(policy, "JobACL.JobID"), text(policy, "JobACL.Group"), text(policy, "JobACL.Task")});
  }
  if (cli::print_formatted(arguments, found)) return 0;
  if (text(token, "Type") == "management")
    print("No policies found: the token has management rights\n");
  else
    print(rows.empty() ? "No policies found\n" : cli::table_text({"Name", "Job ID", "Group Name", "Task Name"}, rows));
  return 0;
}

/// With an argument the secret is what the file holds: Nomad's way to a token that is known before.
int bootstrap(const Arguments& arguments) {
  if (arguments.positional().empty()) return cli::acl_bootstrap_command().run(arguments);
  std::string secret = cli::read_input(arguments.positional().front());
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == ' ')) secret.pop_back();
  Api api(arguments);
  const Json token = api.put("/v1/acl/bootstrap", object{{"BootstrapSecret", secret}});
  if (cli::print_formatted(arguments, token)) return 0;
  print(cli::token_text(token));
  return 0;
}

int login(const Arguments& arguments) {
  const auto [type, method, token] = cli::log_in(arguments);
  if (cli::print_formatted(arguments, token)) return 0;
  print(fmt::format("Successfully logged in via {} and {}\n\n", type, method) + cli::token_text(token));
  return 0;
}

constexpr Flag kNoMerge{"no-merge", "", "What is not said is emptied, instead of staying.", false};

/// The role becomes what is said and nothing else.
int update_role(const Arguments& arguments) {
  if (!arguments.has("no-merge")) return cli::acl_role_update_command().run(arguments);
  Api api(arguments);
  boost::json::array policies;
  for (const auto& name : arguments.all("policy")) policies.push_back(object{{"Name", name}});
  if (policies.empty()) throw Error(Code::invalid, "at least one policy name must be specified using the -policy flag");
  const std::string& id = arguments.positional().front();
  const Json role = api.put("/v1/acl/role/" + cli::part(id), object{{"ID", id},
                                                                    {"Name", arguments.get("name")},
                                                                    {"Description", arguments.get("description")},
                                                                    {"Policies", policies}});
  if (!cli::print_formatted(arguments, role)) print("Successfully updated ACL role\n");
  return 0;
}

}  // namespace

void add_acl_commands(Table& table) {
  auto boot = shared(cli::acl_bootstrap_command());
  boot.arguments = "[<file>]";
  boot.most = 1;
  boot.run = bootstrap;
  table.push_back(std::move(boot));
  table.push_back({.name = "acl policy self",
                   .summary = "Lists the policies of the token.",
                   .flags = cli::with_format_flags(),
                   .run = own_policies});
  table.push_back(shared(cli::acl_role_info_command(),
                         {{"by-name", "", "The argument is a name; ids and names are both found without it."}}));
  auto update = shared(cli::acl_role_update_command(), {kNoMerge});
  update.run = update_role;
  table.push_back(std::move(update));
  table.push_back(shared(cli::acl_auth_method_update_command(),
                         {{"description", "TEXT", "Refused: an auth method has a name and no description here."},
                          {"policy", "NAME", "Refused: binding rules give rights to who logs in."}}));
  table.push_back(shared(cli::acl_auth_method_create_command(),
                         {{"description", "TEXT", "Refused: an auth method has a name and no description here."}}));
  table.push_back(shared(cli::acl_token_update_command(), {{"global", "", "Kept for Nomad's clients."}}));
  table.push_back(shared(cli::acl_binding_rule_update_command(), {kNoMerge}));
  auto logging_in = shared(
      cli::login_command(),
      {{"login-token", "JWT", "Of a JWT method: the token itself. Who lists processes sees it; a FILE nobody sees."}});
  logging_in.run = login;
  table.push_back(std::move(logging_in));
  table.push_back(shared(cli::acl_policy_apply_command()));
}

}  // namespace underway::nomad
