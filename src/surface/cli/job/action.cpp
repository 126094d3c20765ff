#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/alloc/exec_terminal.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

/// A running allocation of the job whose group has the task.
std::string any_allocation(sdk::Client& client, const std::string& job, const std::string& group) {
  for (const auto& allocation : client.job_allocations(job)) {
    if (allocation.client_status == model::ClientStatus::running && allocation.group == group) return allocation.id;
  }
  throw Error(Code::not_found, fmt::format("no allocation of group '{}' of job '{}' runs", group, job));
}

int list(sdk::Client& client, const std::string& job) {
  Table table({"Task Group", "Task", "Action", "Command"});
  for (const auto& group : client.job(job).groups) {
    for (const auto& task : group.tasks) {
      for (const auto& action : task.actions) table.add({group.name, task.name, action.name, action.command});
    }
  }
  table.print();
  return kDone;
}

int run_job_action(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string job = resolve_job(client, arguments.get("job"));
  if (arguments.positional().empty()) return list(client, job);
  const std::string& name = arguments.positional().front();
  const std::string wanted_task = arguments.get("task"), wanted_group = arguments.get("group");
  sdk::ActionRun action{.job = job, .action = name};
  const auto specification = client.job(job);
  for (const auto& group : specification.groups) {
    for (const auto& task : group.tasks) {
      const bool has =
          std::any_of(task.actions.begin(), task.actions.end(), [&](const auto& a) { return a.name == name; });
      if (!has || (!wanted_group.empty() && group.name != wanted_group)) continue;
      if (!wanted_task.empty() && task.name != wanted_task) continue;
      if (!action.task.empty())
        throw Error(Code::conflict, fmt::format("several tasks of job '{}' have an action '{}'", job, name))
            .advise("say which with -group and -task");
      action.group = group.name;
      action.task = task.name;
    }
  }
  if (action.task.empty())
    throw Error(Code::not_found, fmt::format("job '{}' has no action '{}'", job, name))
        .advise(fmt::format("`underway action -job {}` lists them", job));
  const std::string given = arguments.get("alloc");
  action.allocation = given.empty() ? any_allocation(client, job, action.group) : resolve_allocation(client, given);
  sdk::ExecSession session;
  session.tty = arguments.get("t", is_terminal(0) && is_terminal(1) ? "true" : "false") == "true";
  return run_in_terminal(std::move(session), arguments.get("i", "true") == "true", escape_of(arguments),
                         [&](const sdk::ExecSession& ours) { return client.run_action(action, ours); });
}

}  // namespace

const Command& action_command() {
  static const Command command{
      .name = "action",
      .arguments = "[NAME]",
      .summary = "Runs an action of a job in one of its tasks, or lists the job's actions.",
      .examples = {"underway action -job web", "underway action -job web -alloc 3b1c flush-cache"},
      .flags = {{"job", "ID", "The job."},
                {"alloc", "ID", "The allocation; one that runs when it is absent."},
                {"group", "NAME", "The group, when several have an action of that name."},
                {"task", "NAME", "The task, likewise."},
                {"t", "BOOL", "A terminal; by default when standard input and output are one."},
                {"i", "BOOL", "Whether standard input is handed through; true."},
                kEscape},
      .least = 0,
      .most = 1,
      .run = run_job_action};
  return command;
}

}  // namespace underway::cli
