#include "acl/policy.hpp"
#include "base/json/json.hpp"
#include "cli/acl/access_losses.hpp"
#include "cli/commands.hpp"
#include "cli/impact/loss.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int apply_acl_policy(const Arguments& arguments) {
  model::AclPolicy policy;
  policy.name = arguments.positional()[0];
  const std::string& file = arguments.positional()[1];
  policy.rules = read_input(file);
  hcl::Diagnostics diagnostics;
  acl::parse_policy(policy.rules, file, diagnostics);
  if (diagnostics.has_errors()) refuse(diagnostics, fmt::format("the policy '{}' in '{}'", policy.name, file));
  policy.description = arguments.get("description");
  if (const auto job = arguments.find("job")) {
    policy.job_acl = model::JobAcl{arguments.get("namespace", model::kDefaultNamespace), *job, arguments.get("group"),
                                   arguments.get("task")};
  }
  make_client(arguments).put_acl_policy(policy);
  print(fmt::format("Successfully wrote \"{}\" ACL policy!\n", policy.name));
  return kDone;
}

int list_acl_policies(const Arguments& arguments) {
  const auto policies = make_client(arguments).acl_policies();
  if (print_formatted(arguments, json::to_value(policies))) return kDone;
  Table table({"Name", "Description"});
  for (const auto& policy : policies) table.add({policy.name, policy.description});
  table.print();
  return kDone;
}

int info_acl_policy(const Arguments& arguments) {
  const auto policy = make_client(arguments).acl_policy(arguments.positional().front());
  if (print_formatted(arguments, json::to_value(policy))) return kDone;
  std::vector<std::pair<std::string, std::string>> lines = {{"Name", policy.name},
                                                            {"Description", policy.description},
                                                            {"CreateIndex", std::to_string(policy.create_index)},
                                                            {"ModifyIndex", std::to_string(policy.modify_index)}};
  std::string out = key_values(lines);
  if (const auto& job = policy.job_acl)
    out += "\nAssociated Workload\n" +
           key_values({{"Namespace", job->ns}, {"JobID", job->job_id}, {"Group", job->group}, {"Task", job->task}});
  print(out + "\nRules\n\n" + policy.rules + (policy.rules.ends_with('\n') ? "" : "\n"));
  return kDone;
}

int remove_acl_policy(const Arguments& arguments) {
  const std::string& name = arguments.positional().front();
  auto client = make_client(arguments);
  if (!arguments.has(kYes.name)) {
    const auto lost = losses_of_policy(client.acl_policy(name), client.acl_tokens(), client.acl_roles());
    if (const auto agreed = ask_before(
            {.deed = fmt::format("this deletes policy '{}' for good", name), .word = name, .lost = lost}, arguments);
        agreed != kDone)
      return agreed;
  }
  client.delete_acl_policy(name);
  print(fmt::format("Successfully deleted {} policy!\n", name));
  return kDone;
}

}  // namespace

const Command& acl_policy_apply_command() {
  static const Command command{
      .name = "acl policy apply",
      .arguments = "NAME FILE",
      .summary = "Makes or changes a policy from a file of rules; - is standard input.",
      .details = "With -job the tasks of a job have the policy by themselves, without a token.",
      .examples = {"underway acl policy apply -description 'reads everything' reader reader.hcl"},
      .flags = {{"description", "TEXT", "For people."},
                {"job", "ID", "The job (of -namespace) whose tasks have the policy."},
                {"group", "NAME", "Only this group of the job."},
                {"task", "NAME", "Only this task of the group."}},
      .least = 2,
      .most = 2,
      .run = apply_acl_policy};
  return command;
}

const Command& acl_policy_list_command() {
  static const Command command{
      .name = "acl policy list", .summary = "Lists policies.", .flags = with_format_flags(), .run = list_acl_policies};
  return command;
}

const Command& acl_policy_info_command() {
  static const Command command{.name = "acl policy info",
                               .arguments = "NAME",
                               .summary = "Shows a policy with its rules.",
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = info_acl_policy};
  return command;
}

const Command& acl_policy_delete_command() {
  static const Command command{.name = "acl policy delete",
                               .arguments = "NAME",
                               .summary = "Deletes a policy: tokens and roles lose what it granted.",
                               .flags = {kYes},
                               .least = 1,
                               .most = 1,
                               .run = remove_acl_policy};
  return command;
}

}  // namespace underway::cli
