// What can be done to a task that is a virtual machine, while it runs.
#include <signal.h>

#include "base/text.hpp"
#include "node/task/task_event.hpp"
#include "node/task/task_runner.hpp"

namespace underway::node {
namespace {

const char* noun_of(MachineVerb verb) {
  switch (verb) {
    case MachineVerb::pause:
      return "pause";
    case MachineVerb::resume:
      return "resumption";
    case MachineVerb::suspend:
      return "way to sleep";
    case MachineVerb::checkpoint:
      return "checkpoint";
    case MachineVerb::move:
      return "way to another node";
  }
  return "";
}

model::TaskEvent checkpointed(const protocol::TaskCheckpoint& made) {
  auto event =
      event::make(protocol::event::kCheckpointed,
                  fmt::format("Checkpoint {}, {}", made.id, human_bytes(static_cast<std::uint64_t>(made.bytes))));
  event.details["checkpoint"] = made.id;
  event.details["bytes"] = std::to_string(made.bytes);
  return event;
}

}  // namespace

std::shared_ptr<void> TaskRunner::take_machine(MachineVerb verb) {
  if (!process_) throw Error(Code::invalid, fmt::format("task '{}' is not running", task_->name));
  if (asked_.kill || asked_.restart) throw Error(Code::invalid, fmt::format("task '{}' is being stopped", task_->name));
  const auto busy = record_.sent_to.empty() ? on_machine_ : MachineVerb::move;
  if (busy)
    throw Error(Code::conflict, fmt::format("task '{}' is busy", task_->name))
        .because(fmt::format("its {} is not done yet", noun_of(*busy)))
        .advise("try again when it is: `underway alloc status` shows it");
  on_machine_ = verb;
  return {nullptr, [this](void*) { on_machine_.reset(); }};
}

awaitable<void> TaskRunner::suspend() {
  const auto turn = take_machine(MachineVerb::suspend);
  const std::shared_ptr<RunningTask> machine = process_;
  // It ends by what is asked of it: that is no failure, and it begins again when it is permitted to.
  asked_.permitted = false;
  asked_.restart = EndKind::asked_restart;
  try {
    co_await machine->suspend();
    record_event(event::make(protocol::event::kSuspended, "It sleeps: its memory is on the disk"));
  } catch (Error& error) {
    if (process_ == machine) {
      asked_.restart.reset();
      permit();
    }
    error.while_doing(fmt::format("putting task '{}' to sleep", task_->name));
    throw;
  }
}

void TaskRunner::restore(const std::string& checkpoint) {
  std::shared_ptr<void> turn;
  if (process_) turn = take_machine(MachineVerb::suspend);
  record_.restore = checkpoint;
  changed();
  record_event(event::make(protocol::event::kRestored, fmt::format("It goes back to checkpoint {}", checkpoint)));
  if (process_) give_up_machine();
}

void TaskRunner::give_up_machine() {
  asked_.restart = EndKind::asked_restart;
  process_->stop(SIGKILL, Duration{0});
}

void TaskRunner::forget_kept() {
  record_.kept_in.clear();
  changed();
}

awaitable<std::optional<protocol::TaskCheckpoint>> TaskRunner::do_to_machine(MachineVerb verb) {
  const auto turn = take_machine(verb);
  const std::shared_ptr<RunningTask> machine = process_;
  try {
    switch (verb) {
      case MachineVerb::pause:
        co_await machine->pause();
        record_event(event::make(protocol::event::kPaused, "Its processors stand still, its memory stays"));
        break;
      case MachineVerb::resume:
        co_await machine->resume();
        record_event(event::make(protocol::event::kResumed, "It goes on where it stood still"));
        break;
      case MachineVerb::suspend:
      case MachineVerb::move:
        break;  // end the task: see suspend() and depart()
      case MachineVerb::checkpoint: {
        auto made = co_await machine->checkpoint();
        made.task = task_->name;
        record_event(checkpointed(made));
        co_return made;
      }
    }
  } catch (Error& error) {
    error.while_doing(fmt::format("{} of task '{}'", noun_of(verb), task_->name));
    throw;
  }
  co_return std::nullopt;
}

}  // namespace underway::node
