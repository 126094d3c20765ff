// The serial line of a virtual machine, of an allocation or of a host.
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/alloc/exec_terminal.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/host/find_host.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

/// Until somebody leaves it, or the machine ends. What comes through a pipe passes as it is, and its end leaves the
/// console open: what the guest answers is still to come.
int open_console(sdk::Client& client, const std::string& allocation, const std::string& of, const std::string& task) {
  sdk::ExecSession session;
  session.task = task;
  session.tty = true;
  const bool by_hand = is_terminal(0);
  bool left = false;
  if (by_hand) {
    say(fmt::format("On the console of {}. Ctrl-] leaves it.", of));
    session.filter = [&left](std::string_view typed) {
      auto passed = typed_to_console(typed);
      left = !passed;
      return passed;
    };
  }
  try {
    const int code = run_in_terminal(std::move(session), true, {}, [&](const sdk::ExecSession& ready) {
      return client.console_of_allocation(allocation, ready);
    });
    if (by_hand) say(fmt::format("\nThe console of {} has ended: its machine does not run any more", of));
    return code;
  } catch (const Error&) {
    if (!left) throw;
  }
  say(fmt::format("\nLeft the console of {}", of));
  return kDone;
}

int run_alloc_console(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto id = resolve_allocation(client, arguments.positional().front());
  return open_console(client, id, "allocation " + short_id(id), arguments.get("task"));
}

/// The allocation that has the host's machine now.
std::string machine_of(sdk::Client& client, const model::Host& host) {
  Error error(Code::unsupported, fmt::format("host '{}' has no console", host.name));
  if (host.provider != "qemu")
    throw error.because(fmt::format("its provider is '{}': only virtual machines have one", host.provider))
        .advise(fmt::format("a shell on it: underway host exec {}", host.name));
  client.use_namespace(model::kDefaultNamespace);  // of the jobs of pools, whatever the caller's is
  for (const auto& row : client.job_allocations(model::pool_job_id(host.cluster, host.pool))) {
    if (row.group == host.name && row.client_status == model::ClientStatus::running &&
        row.desired_status == model::DesiredStatus::run)
      return row.id;
  }
  throw Error(Code::unavailable, error.message())
      .because(host.asleep                       ? "its machine sleeps"
               : host.status_description.empty() ? "its machine does not run"
                                                 : host.status_description);
}

int run_host_console(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto host = find_host(client, arguments.positional().front());
  return open_console(client, machine_of(client, host), "host " + host.name, {});
}

constexpr const char* kDetails =
    "What the guest says from now on is printed, and what is typed goes to it; what it said before is in the task's "
    "log (underway alloc logs). Ctrl-] leaves it, and ends nothing: whoever was logged in still is. One at a time "
    "is on it. Who reads too slowly misses what comes meanwhile; the machine waits for nobody. From a pipe, bytes "
    "go to the guest as they are, and what it says is printed until the machine ends or this is interrupted.";

}  // namespace

const Command& alloc_console_command() {
  static const Command command{.name = "alloc console",
                               .arguments = "ID",
                               .summary = "The serial console of a virtual machine.",
                               .details = kDetails,
                               .examples = {"underway alloc console 3b1c", "underway alloc console -task db 3b1c"},
                               .flags = {{"task", "NAME", "The machine's task; not needed when there is one."}},
                               .least = 1,
                               .most = 1,
                               .run = run_alloc_console};
  return command;
}

const Command& host_console_command() {
  static const Command command{.name = "host console",
                               .arguments = "[CLUSTER/]HOST",
                               .summary = "The serial console of a host that is a virtual machine.",
                               .details = kDetails,
                               .examples = {"underway host console v1"},
                               .least = 1,
                               .most = 1,
                               .run = run_host_console};
  return command;
}

}  // namespace underway::cli
