// A virtual machine that goes to another node while it runs, on the one and on the other.
#include <signal.h>

#include "base/log.hpp"
#include "base/text.hpp"
#include "node/task/task_event.hpp"
#include "node/task/task_runner.hpp"

namespace underway::node {

// --- the one that goes

awaitable<std::optional<protocol::LiveMachine>> TaskRunner::live() {
  const std::shared_ptr<RunningTask> machine = process_;
  if (!machine) co_return std::nullopt;
  protocol::LiveMachine found;
  try {
    found = co_await machine->live();
  } catch (const Error& error) {
    found.why_not = error.one_line();
  }
  co_return found;
}

awaitable<protocol::Departure> TaskRunner::depart(std::string to, std::function<void(Doors)> open) {
  const auto turn = take_machine(MachineVerb::move);
  const std::shared_ptr<RunningTask> machine = process_;
  // First: an agent that finds it standing still has to know whom to ask for.
  record_.sent_to = std::move(to);
  changed();
  try {
    open(co_await machine->departures());
    co_return co_await machine->depart();
  } catch (Error& error) {
    record_.sent_to.clear();
    changed();
    wake();
    error.while_doing(fmt::format("sending task '{}' to another node", task_->name));
    throw;
  }
}

awaitable<void> TaskRunner::stay() {
  const std::shared_ptr<RunningTask> machine = process_;
  if (machine) co_await machine->stay();
  record_.sent_to.clear();
  record_event(event::make(protocol::event::kResumed, "It did not reach the other node, and goes on here"));
  wake();
}

awaitable<void> TaskRunner::leave() {
  const std::shared_ptr<RunningTask> machine = process_;
  // Whatever its end looks like, it does not begin again.
  if (!asked_.kill) asked_.kill = Kill{};
  record_.stopping = true;
  record_.sent_to.clear();
  record_event(event::make(protocol::event::kMoved, "It goes on on another node"));
  wake();
  if (machine) co_await machine->leave();
}

// --- the one that comes

awaitable<void> TaskRunner::start_target() {
  starting_target_ = true;
  const auto done = std::shared_ptr<void>(nullptr, [this](void*) {
    starting_target_ = false;
    wake();
  });
  co_await prepare();
  if (asked_.kill) throw Error(Code::conflict, fmt::format("task '{}' is being stopped", task_->name));
  record_.target = true;
  note_attempt();
  LaunchSpec spec = start_spec();
  spec.takes_in = true;
  try {
    target_ = co_await context_.drivers.start(std::move(spec));
  } catch (...) {
    record_.launched = record_.target = false;
    changed();
    throw;
  }
  record_.handle = target_->handle();
  changed();
}

awaitable<os::Fd> TaskRunner::entrance(bool disk) {
  const std::shared_ptr<RunningTask> target = target_;
  if (!target) throw Error(Code::not_found, fmt::format("task '{}' takes in no machine", task_->name));
  co_return co_await target->entrance(disk);
}

awaitable<void> TaskRunner::await_memory(protocol::Departure departure) {
  came_at_ = std::chrono::steady_clock::now();
  came_ = departure;
  const std::shared_ptr<RunningTask> target = target_;
  if (!target) throw Error(Code::not_found, fmt::format("task '{}' takes in no machine", task_->name));
  co_await target->await_memory();
}

awaitable<void> TaskRunner::drop_target() {
  while (starting_target_) co_await wake_.wait();
  const std::shared_ptr<RunningTask> target = std::exchange(target_, nullptr);
  if (record_.target) {
    // Whoever died before it was gone left it to us.
    if (target) {
      target->stop(SIGKILL, Duration{0});
      co_await target->wait();
      co_await target->forget();
    }
    record_.target = record_.launched = false;
    record_.handle = nullptr;
    changed();
  }
  came_.reset();
}

void TaskRunner::tell_of_way(Duration stood_still) {
  std::string what = fmt::format("It came from another node while it ran, and stood still for {}",
                                 human_duration(std::max<Duration>(stood_still, std::chrono::milliseconds{1})));
  if (!came_->converged) what += ": it wrote faster than that could be sent";
  if (came_->rebooted) what += "; its guest booted anew on the way";
  auto told = event::make(protocol::event::kMoved, std::move(what));
  told.details["stood_still_ms"] =
      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(stood_still).count());
  record_event(std::move(told));
  log::info("node: machine of allocation {} came while it ran, and stood still for {} ms", allocation_->id.substr(0, 8),
            std::chrono::duration_cast<std::chrono::milliseconds>(stood_still).count());
}

/// It is entered as ours. Without its memory, when its QEMU is gone, it boots from its disks, which are here whole.
awaitable<std::optional<EndKind>> TaskRunner::go_on_here() {
  const std::shared_ptr<RunningTask> target = target_;
  std::optional<Error> failed;
  try {
    co_await target->go_on();
  } catch (const Error& error) {
    failed = error;
  }
  if (failed) {
    co_await drop_target();
    if (asked_.kill) co_return EndKind::start_failed;
    record_event(event::failure(protocol::event::kDriverFailure, *failed));
    co_return EndKind::asked_restart;
  }
  process_ = std::exchange(target_, nullptr);
  record_.target = false;
  begun(true);
  if (came_) tell_of_way(came_->stood_still + (std::chrono::steady_clock::now() - came_at_));
  came_.reset();
  co_return std::nullopt;
}

}  // namespace underway::node
