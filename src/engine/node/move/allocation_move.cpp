// A virtual machine that goes to another node while it runs: what the allocation that it leaves does about it, and the
// one that it comes to. Whose it is is the server's to say (server/node/move_decisions.hpp).
#include <sys/socket.h>

#include <cerrno>

#include "base/log.hpp"
#include "node/allocation/allocation_runner.hpp"
#include "node/kernel_runtime.hpp"

namespace underway::node {
namespace {

using protocol::MoveFate;

/// Its guest stands still meanwhile.
constexpr Duration kAskForFate = std::chrono::milliseconds(200);

}  // namespace

// --- the one that goes

struct AllocationRunner::Departing {
  std::string task, to;
  bool over = false;
  std::optional<Error> failed;
  protocol::Departure departure;
  async::Event changed;
};

awaitable<protocol::Departure> AllocationRunner::send_machine(protocol::MachineStream request) {
  get_task(request.task);
  const auto departing = std::make_shared<Departing>();
  departing->task = request.task;
  departing->to = request.to;
  // Not by whoever asks: when its link ends, the machine has to go on.
  work_.spawn("departure of " + request.task, depart(departing));
  while (!departing->over) co_await departing->changed.wait();
  if (departing->failed) throw *departing->failed;
  co_return departing->departure;
}

awaitable<void> AllocationRunner::depart(std::shared_ptr<Departing> departing) {
  ++on_machines_;
  async::TaskGroup doors(context_.runtime.executor(), "departure of allocation " + id().substr(0, 8));
  const auto open = [&](Doors made) {
    for (const bool disk : {false, true}) {
      protocol::MachineStream header{.alloc = id(), .to = departing->to, .task = departing->task, .disk = disk};
      os::Fd& door = disk ? made.disk : made.memory;
      if (door) doors.spawn(disk ? "disks" : "memory", watch_door(std::move(door), std::move(header)));
    }
  };
  try {
    departing->departure = co_await get_task(departing->task).depart(departing->to, open);
  } catch (const Error& error) {
    departing->failed = error;
  }
  departing->over = true;
  departing->changed.notify_all();
  if (departing->failed)
    log::warn("node: allocation {} runs on: {}", id().substr(0, 8), departing->failed->one_line());
  else
    co_await settle_departure(departing->task);
  co_await doors.stop();
  --on_machines_;
  unreported = true;
  task_event_.notify_all();
  reported_();
  review();
}

awaitable<void> AllocationRunner::watch_door(os::Fd door, protocol::MachineStream header) {
  while (true) {
    co_await readable(door.get());
    os::Fd socket(::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) continue;
    // Its last bytes may be on their way when the door is closed.
    work_.spawn("a machine on its way", context_.predecessors->carry(header, std::move(socket)));
  }
}

awaitable<void> AllocationRunner::settle_departure(std::string task) {
  TaskRunner& runner = get_task(task);
  while (!runner.sent_to().empty() && !runner.dead() && !letting_go_) {
    const std::string to = runner.sent_to();
    MoveFate fate = MoveFate::open;
    std::optional<Error> failed;
    try {
      fate = co_await context_.predecessors->fate_of(id(), to);
      if (fate == MoveFate::left) co_await runner.leave();
      if (fate == MoveFate::stays) co_await runner.stay();
    } catch (const Error& error) {
      failed = error;
    }
    if (failed) log::debug("node: what becomes of allocation {}: {}", id().substr(0, 8), failed->one_line());
    if (runner.sent_to().empty()) break;
    const auto timer = context_.runtime.after(kAskForFate, [this] { task_event_.notify_all(); });
    co_await task_event_.wait();
  }
}

/// An agent before us sent it, or was about to.
awaitable<void> AllocationRunner::settle_left_open(std::string task) {
  ++on_machines_;
  co_await settle_departure(std::move(task));
  --on_machines_;
  task_event_.notify_all();
  review();
}

// --- the one that comes

bool AllocationRunner::stands_still() const {
  return std::ranges::any_of(runners_, [](const auto& entry) { return entry.second->has_target(); });
}

awaitable<os::Fd> AllocationRunner::entrance(std::string task, bool disk) {
  co_return co_await get_task(task).entrance(disk);
}

awaitable<std::string> AllocationRunner::why_not_running(std::vector<protocol::KeptMachine> machines) {
  if (machines.size() != 1 || runners_.size() != 1) co_return "its group has other tasks than one machine";
  if (wants_disk()) co_return "its ephemeral disk goes along";
  if (!machines.front().live) co_return "it does not run";
  co_return co_await context_.drivers.why_not_live(machines.front().driver, *machines.front().live);
}

awaitable<std::string> AllocationRunner::take_running() {
  TaskRunner& runner = *runners_.begin()->second;
  const std::string task = runners_.begin()->first;
  std::optional<Error> failed;
  try {
    co_await join_network();
    co_await runner.start_target();
    const auto departure = co_await context_.predecessors->receive_machine(id(), task);
    co_await runner.await_memory(departure);
  } catch (const Error& error) {
    failed = error;
  }
  if (!failed) co_return std::string();
  co_await runner.drop_target();
  co_return failed->one_line();
}

}  // namespace underway::node
