// Allocations that are virtual machines, on their way to another node.
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

/// Until a node has room. Returns what it goes on as.
std::string wait_for_place(sdk::Client& client, const std::string& id) {
  const std::string brief = short_id(id);
  const OnInterrupt interrupted(
      fmt::format("It moves as soon as a node has room; `underway alloc move -cancel {}` takes that back", brief));
  // The scheduler answers within a second; only then is it worth a word that it found no node.
  sdk::Wait wait{.longest = std::chrono::seconds(2)};
  bool told = false;
  while (true) {
    const auto read = client.allocation_at(id, wait);
    const auto& row = read.value;
    if (!row.next_allocation.empty()) return row.next_allocation;
    if (row.terminal())
      throw Error(Code::conflict, fmt::format("allocation {} has ended meanwhile", brief))
          .because(row.client_description);
    if (row.sleep && !row.sleep->trouble.empty() && !row.transition.migrate)
      throw Error(Code::unavailable, fmt::format("allocation {} stays on node {}, as it was", brief, row.node_name))
          .because(row.sleep->trouble);
    if (!row.transition.migrate)
      throw Error(Code::conflict, fmt::format("allocation {} is not to move any more", brief))
          .because("somebody has taken that back");
    if (read.index == wait.index && !std::exchange(told, true))
      print(fmt::format("No other node has room for it yet: it runs on on node {}\n", row.node_name));
    wait.index = read.index;
  }
}

/// What is new of its way; nothing is.
std::string words_for(const model::Allocation& next) {
  switch (next.arrival->phase) {
    case model::ArrivalPhase::expected:
      return fmt::format("It goes on as allocation {} on node {}, which looks whether it can take it",
                         short_id(next.id), next.node_name);
    case model::ArrivalPhase::coming:
      return fmt::format("Node {} can: its memory and disks are sent while it runs", next.node_name);
    case model::ArrivalPhase::ready:
      return fmt::format("{}: it is put to sleep, and its memory and disks are sent",
                         next.arrival->trouble.empty() ? fmt::format("Node {} can", next.node_name)
                                                       : "Not while it runs: " + next.arrival->trouble);
    case model::ArrivalPhase::arrived:
      return fmt::format("Its memory and disks are on node {}", next.node_name);
    default:
      return {};
  }
}

int follow_move(sdk::Client& client, const std::string& id) {
  auto next = wait_for_place(client, id);
  const OnInterrupt interrupted(
      fmt::format("It goes on without being watched: underway alloc status {}", short_id(next)));
  sdk::Wait wait;
  std::string told;
  while (true) {
    const auto read = client.allocation_at(next, wait);
    wait.index = read.index;
    const auto& row = read.value;
    const auto arrival = row.arrival.value_or(model::AllocArrival());
    if (const auto words = words_for(row); !words.empty() && words != told) print((told = words) + "\n");
    if (arrival.phase == model::ArrivalPhase::refused)
      throw Error(Code::unavailable, fmt::format("allocation {} stays where it is, as it was", short_id(id)))
          .because(arrival.trouble);
    if (arrival.phase == model::ArrivalPhase::lost)
      throw Error(Code::unavailable,
                  fmt::format("the machines of allocation {} are lost: {} begins anew", short_id(id), short_id(next)))
          .because(arrival.trouble);
    if (row.terminal()) {
      if (row.next_allocation.empty())
        throw Error(Code::conflict, fmt::format("allocation {} has ended meanwhile", short_id(next)))
            .because(row.client_description);
      next = row.next_allocation;
      wait = {};
      continue;
    }
    if (arrival.phase != model::ArrivalPhase::arrived || row.client_status != model::ClientStatus::running) continue;
    print(
        fmt::format("Allocation {} {} on node {}\n", short_id(next), row.sleeps() ? "sleeps" : "runs", row.node_name));
    return kDone;
  }
}

int move_machines(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto id = resolve_allocation(client, arguments.positional()[0]);
  const bool cancel = arguments.has("cancel");
  if (cancel && (arguments.has("node") || arguments.has("wake")))
    throw Error(Code::invalid, "-cancel goes with neither -node nor -wake");
  client.move_allocation(id, {.node = arguments.get("node"), .wake = arguments.has("wake"), .cancel = cancel});
  return cancel || arguments.has("detach") ? kDone : follow_move(client, id);
}

}  // namespace

const Command& alloc_move_command() {
  static const Command command{
      .name = "alloc move",
      .arguments = "ID",
      .summary = "Has a virtual machine go on on another node, with its memory and disks.",
      .details =
          "All machines of the allocation. The other node is asked first whether it has the room, the images and the "
          "disk; only then are they put to sleep, sent and woken there. What cannot move runs on where it is. In the "
          "meantime they are, to those who speak to them, a network that went away. Where both nodes have real KVM and "
          "the same processors, or the machine's job says migrate = \"live\", they are sent while they run, and stand "
          "still for the last of it alone. One that sleeps goes on sleeping "
          "there, unless -wake is given. `underway node drain` and `node maintain` do this with all machines of a "
          "node.",
      .examples = {"underway alloc move 3b1c", "underway alloc move -node m2 3b1c", "underway alloc move -wake 3b1c"},
      .flags = {{"node", "NODE", "There or nowhere; without it, where there is room."},
                {"wake", "", "Those that sleep go on there."},
                {"cancel", "", "Takes it back while no node has room."},
                {"detach", "", "Returns when it is asked for, and does not wait until it is done."}},
      .least = 1,
      .most = 1,
      .run = move_machines};
  return command;
}

}  // namespace underway::cli
