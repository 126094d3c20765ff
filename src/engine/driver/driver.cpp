#include "driver/driver.hpp"

#include "base/error.hpp"

namespace underway::driver {
namespace {

Error only_machines(const char* what) {
  return Error(Code::unsupported, fmt::format("the task cannot be {}", what))
      .because("only virtual machines can: tasks with driver = \"qemu\"")
      .advise("name the machine's task, where the allocation has one: -task NAME");
}

}  // namespace

void TaskHandle::pause() { throw only_machines("paused"); }
void TaskHandle::resume() { throw only_machines("resumed"); }
void TaskHandle::suspend() { throw only_machines("put to sleep"); }
os::Fd TaskHandle::console() { throw only_machines("reached by a console"); }
LiveMachine TaskHandle::live() const { throw only_machines("sent elsewhere while it runs"); }
Departures TaskHandle::departures() { throw only_machines("sent elsewhere while it runs"); }
Departed TaskHandle::depart() { throw only_machines("sent elsewhere while it runs"); }
void TaskHandle::stay() { throw only_machines("sent elsewhere while it runs"); }
void TaskHandle::leave() { throw only_machines("sent elsewhere while it runs"); }
os::Fd TaskHandle::entrance(MachinePart) { throw only_machines("taken in while it runs"); }
void TaskHandle::await_memory() { throw only_machines("taken in while it runs"); }
void TaskHandle::go_on() { throw only_machines("taken in while it runs"); }
Checkpoint TaskHandle::checkpoint() { throw only_machines("kept in a checkpoint"); }

}  // namespace underway::driver
