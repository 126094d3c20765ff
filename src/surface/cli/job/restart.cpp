#include <thread>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

using model::ClientStatus;
using Stubs = std::vector<wire::AllocationStub>;

struct RestartPlan {
  std::size_t batch = 1;
  Duration pause{0};
  bool reschedule = false, no_shutdown_delay = false, all_tasks = false, ask = true;
  std::vector<std::string> tasks;  ///< none: all that run
};

bool chosen(const wire::AllocationStub& allocation, const std::vector<std::string>& groups) {
  if (allocation.desired_status != model::DesiredStatus::run || allocation.client_status != ClientStatus::running)
    return false;
  return groups.empty() || std::find(groups.begin(), groups.end(), allocation.group) != groups.end();
}

/// "3", or "20%" of `count`; at least one.
std::size_t parse_batch(std::string text, std::size_t count) {
  const bool share = text.ends_with('%');
  if (share) text.pop_back();
  const auto number = parse_number<std::uint32_t>(text);
  if (!number || *number == 0)
    throw Error(Code::invalid, fmt::format("-batch-size '{}' is neither a number nor a percentage", text));
  return share ? std::max<std::size_t>(1, (*number * count + 99) / 100) : *number;
}

RestartPlan plan_of(const Arguments& arguments, std::size_t count) {
  RestartPlan plan;
  plan.batch = parse_batch(arguments.get("batch-size", "1"), count);
  const std::string pause = arguments.get("batch-wait", "0s");
  const auto parsed = parse_duration(pause);
  if (!parsed || *parsed < Duration{0})
    throw Error(Code::invalid, fmt::format("-batch-wait '{}' is no span of time", pause));
  plan.pause = *parsed;
  plan.reschedule = arguments.has("reschedule");
  plan.no_shutdown_delay = arguments.has("no-shutdown-delay");
  plan.tasks = arguments.all("task");
  if (plan.reschedule && !plan.tasks.empty())
    throw Error(Code::invalid, "-reschedule replaces whole allocations: it goes without -task");
  plan.all_tasks = arguments.has("all-tasks");
  if (plan.all_tasks && (plan.reschedule || !plan.tasks.empty()))
    throw Error(Code::invalid, "-all-tasks restarts whole allocations: it goes without -task and -reschedule");
  const std::string on_error = arguments.get("on-error", "ask");
  if (on_error != "ask" && on_error != "fail")
    throw Error(Code::invalid, fmt::format("-on-error '{}' is neither ask nor fail", on_error));
  plan.ask = on_error == "ask";
  return plan;
}

/// Until what replaces the allocation runs. Throws when it comes to nothing.
void wait_for_replacement(sdk::Client& client, const std::string& job, const std::string& old) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  while (std::chrono::steady_clock::now() < deadline) {
    const std::string next = client.allocation(old).next_allocation;
    if (!next.empty()) {
      const auto status = client.allocation(next).client_status;
      if (status == ClientStatus::running) return;
      if (status == ClientStatus::failed)
        throw Error(Code::internal,
                    fmt::format("allocation {}, which replaces {}, failed", short_id(next), short_id(old)));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  throw Error(Code::unavailable,
              fmt::format("nothing replaced allocation {} of job '{}' within 10 min", short_id(old), job));
}

void restart_one(sdk::Client& client, const std::string& job, const wire::AllocationStub& allocation,
                 const RestartPlan& plan) {
  if (plan.reschedule) {
    client.stop_allocation(allocation.id, plan.no_shutdown_delay);
    return wait_for_replacement(client, job, allocation.id);
  }
  if (plan.all_tasks) return client.restart_all_tasks(allocation.id);
  if (plan.tasks.empty()) return client.restart_allocation(allocation.id, {});
  for (const auto& task : plan.tasks) client.restart_allocation(allocation.id, task);
}

/// False: stop here.
bool go_on_after(const Error& error, const wire::AllocationStub& allocation, const RestartPlan& plan) {
  say(fmt::format("error: allocation {}: {}", short_id(allocation.id), error.one_line()));
  return plan.ask && is_terminal(0) && confirm("Go on with the others?");
}

int restart_job(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string job = resolve_job(client, arguments.positional().front());
  Stubs allocations = client.job_allocations(job);
  std::erase_if(allocations, [&](const auto& a) { return !chosen(a, arguments.all("group")); });
  if (allocations.empty()) {
    print("No allocations to restart\n");
    return kDone;
  }
  const RestartPlan plan = plan_of(arguments, allocations.size());
  const std::string what = plan.reschedule ? "Reschedule" : "Restart";
  if (!arguments.has("yes") && is_terminal(0) &&
      !confirm(fmt::format("{} {} allocations of '{}'?", what, allocations.size(), job)))
    return kDone;
  int code = kDone;
  for (std::size_t i = 0; i < allocations.size(); ++i) {
    if (i > 0 && i % plan.batch == 0 && plan.pause > Duration{0}) std::this_thread::sleep_for(plan.pause);
    say(fmt::format("==> {} allocation {} ({}) on {}", what, short_id(allocations[i].id), allocations[i].group,
                    allocations[i].node_name));
    std::optional<Error> failed;
    try {
      restart_one(client, job, allocations[i], plan);
    } catch (const Error& error) {
      failed = error;
    }
    if (!failed) continue;
    code = kFailed;
    if (!go_on_after(*failed, allocations[i], plan)) return kFailed;
  }
  return code;
}

}  // namespace

const Command& job_restart_command() {
  static const Command command{
      .name = "job restart",
      .arguments = "ID",
      .summary = "Restarts the tasks of a job's allocations, or replaces the allocations, one after another.",
      .examples = {"underway job restart web", "underway job restart -batch-size 20% -batch-wait 30s web",
                   "underway job restart -reschedule -group frontend web"},
      .flags = {{"batch-size", "N|N%", "How many between two pauses; 1."},
                {"batch-wait", "SPAN", "How long to pause after each batch; 0s."},
                {"group", "NAME", "Only allocations of this group; may be given again.", true},
                {"task", "NAME", "Only this task; may be given again.", true},
                {"all-tasks", "", "Also tasks that have ended, in the order of their lifecycle."},
                {"reschedule", "", "Stops each allocation and waits for what replaces it, perhaps elsewhere."},
                {"no-shutdown-delay", "", "With -reschedule: does not wait for shutdown_delay; a restart never does."},
                {"on-error", "ask|fail", "What to do when one cannot be restarted; ask, and fail without a terminal."},
                {"yes", "", "Does not ask."}},
      .least = 1,
      .most = 1,
      .run = restart_job};
  return command;
}

}  // namespace underway::cli
