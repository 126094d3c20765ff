// Allocations that are virtual machines: pause, suspend, resume, checkpoint, restore.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

constexpr Flag kMachine{"task", "NAME", "The machine's task; all tasks that run when not given.", false};
const Flag kDetach{"detach", "", "Returns when it is asked for, and does not wait until it is done."};

int pause_machines(const Arguments& arguments) {
  auto client = make_client(arguments);
  client.pause_allocation(resolve_allocation(client, arguments.positional()[0]), arguments.get("task"));
  return kDone;
}

/// Until the wish of `since` is carried out, or was given up.
int follow_sleep(sdk::Client& client, const std::string& id, bool wanted) {
  const std::string brief = short_id(id);
  const OnInterrupt interrupted(fmt::format("It goes on without being watched: underway alloc status {}", brief));
  sdk::Wait wait;
  while (true) {
    const auto read = client.allocation_at(id, wait);
    wait.index = read.index;
    const auto& row = read.value;
    const auto sleep = row.sleep.value_or(model::AllocSleep());
    if (row.terminal())
      throw Error(Code::conflict, fmt::format("allocation {} has ended meanwhile", brief))
          .because(row.client_description);
    if (!sleep.trouble.empty() && wanted)
      throw Error(Code::unavailable, fmt::format("allocation {} does not sleep, and runs on", brief))
          .because(sleep.trouble);
    if (sleep.wanted != wanted)
      throw Error(Code::conflict, fmt::format("somebody else has asked for the opposite of allocation {}", brief));
    if (sleep.asleep == wanted) break;
  }
  print(fmt::format("Allocation {} {}\n", brief, wanted ? "sleeps" : "is awake"));
  return kDone;
}

int suspend_machines(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto id = resolve_allocation(client, arguments.positional()[0]);
  client.suspend_allocation(id);
  return arguments.has("detach") ? kDone : follow_sleep(client, id, true);
}

int resume_machines(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto id = resolve_allocation(client, arguments.positional()[0]);
  const auto sleep = client.allocation(id).sleep;
  const bool sleeps = sleep && sleep->wanted;
  if (sleeps && arguments.has("task"))
    throw Error(Code::invalid, fmt::format("allocation {} sleeps, with all of its machines", short_id(id)))
        .advise("leave out -task");
  client.resume_allocation(id, arguments.get("task"));
  return !sleeps || arguments.has("detach") ? kDone : follow_sleep(client, id, false);
}

int checkpoint_machines(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto id = resolve_allocation(client, arguments.positional()[0]);
  const auto made = arguments.has("list") ? client.allocation_checkpoints(id, arguments.get("task"))
                                          : client.checkpoint_allocation(id, arguments.get("task"));
  if (arguments.has("json")) {
    print_json(json::to_value(made));
    return kDone;
  }
  Table table({"Task", "Checkpoint", "Memory", "Made"});
  for (const auto& checkpoint : made)
    table.add({checkpoint.task, checkpoint.id, human_bytes(static_cast<std::uint64_t>(checkpoint.bytes)),
               ago(checkpoint.at)});
  table.print();
  return kDone;
}

int restore_machine(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto id = resolve_allocation(client, arguments.positional()[0]);
  const std::string checkpoint = arguments.positional()[1];
  if (!arguments.has("yes") &&
      !confirm(fmt::format("What allocation {} has done since checkpoint {} is lost. Are you sure?", short_id(id),
                           checkpoint)))
    throw Error(Code::conflict, "nothing was changed").advise("-yes answers the question");
  client.restore_allocation(id, arguments.get("task"), checkpoint);
  print(fmt::format("Allocation {} goes back to checkpoint {}\n", short_id(id), checkpoint));
  return kDone;
}

}  // namespace

const Command& alloc_pause_command() {
  static const Command command{
      .name = "alloc pause",
      .arguments = "ID",
      .summary = "Has a virtual machine stand still, in memory.",
      .details =
          "Its memory stays on its host, and so it does when the agent is started again. Whoever speaks to it waits, "
          "and gives up after a time: a node in it counts as down. A stop has it go on first, to shut down.",
      .examples = {"underway alloc pause 3b1c", "underway alloc pause -task db 3b1c"},
      .flags = {kMachine},
      .least = 1,
      .most = 1,
      .run = pause_machines};
  return command;
}

const Command& alloc_suspend_command() {
  static const Command command{
      .name = "alloc suspend",
      .arguments = "ID",
      .summary = "Has a virtual machine sleep: its memory goes to the disk, its room is free for others.",
      .details =
          "All machines of the allocation. It is still the allocation that it was, on its node, and goes on from there "
          "with `underway alloc resume`; to those who speak to it that is a network that went away. When the disk is "
          "full, or memory cannot be written whole, it runs on. A machine that has a device of its node cannot sleep.",
      .examples = {"underway alloc suspend 3b1c"},
      .flags = {kDetach},
      .least = 1,
      .most = 1,
      .run = suspend_machines};
  return command;
}

const Command& alloc_resume_command() {
  static const Command command{.name = "alloc resume",
                               .arguments = "ID",
                               .summary = "Has a virtual machine go on that was suspended or paused.",
                               .details =
                                   "One that sleeps goes on where it is, when its node has the room again: its "
                                   "processors and memory are its own from the moment that this is asked for.",
                               .examples = {"underway alloc resume 3b1c"},
                               .flags = {kMachine, kDetach},
                               .least = 1,
                               .most = 1,
                               .run = resume_machines};
  return command;
}

const Command& alloc_checkpoint_command() {
  static const Command command{
      .name = "alloc checkpoint",
      .arguments = "ID",
      .summary = "Keeps a virtual machine as it is now, memory and disks.",
      .details =
          "It stands still until its memory is written, and goes on. It is kept on its node, beside its disks, with as "
          "many as `checkpoints` of its config says; a machine with `clone` can begin there, and `underway alloc "
          "restore` "
          "goes back to it. Prints what it is called.",
      .examples = {"underway alloc checkpoint 3b1c", "underway alloc checkpoint -task db -json 3b1c",
                   "underway alloc checkpoint -list 3b1c"},
      .flags = {kMachine, {"list", "", "Makes none, and shows those that there are."}, {"json", "", "As JSON."}},
      .least = 1,
      .most = 1,
      .run = checkpoint_machines};
  return command;
}

const Command& alloc_restore_command() {
  static const Command command{
      .name = "alloc restore",
      .arguments = "ID CHECKPOINT",
      .summary = "Has a virtual machine go back to a checkpoint, memory and disks.",
      .details =
          "It ends at once, and goes on as it was when the checkpoint was made; what it has done since is lost, and "
          "its "
          "connections are. The checkpoint stays. Its guest is told by its generation id that it lives a second time, "
          "and "
          "what it keeps of random numbers and times is its own to look after. One whose memory cannot be "
          "read whole is refused, and the machine runs on.",
      .examples = {"underway alloc checkpoint -list 3b1c", "underway alloc restore 3b1c c-20261127T2230"},
      .flags = {{"task", "NAME", "The machine's task; not needed, as checkpoints have names of their own."},
                {"yes", "", "Does not ask."}},
      .least = 2,
      .most = 2,
      .run = restore_machine};
  return command;
}

}  // namespace underway::cli
