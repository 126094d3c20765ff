// A driver's virtual machine that goes to another node while it runs.
#include "node/detail/kept_task.hpp"

namespace underway::node {

awaitable<protocol::LiveMachine> KeptTask::live() {
  driver::LiveMachine found;
  const auto look = [this, &found] { found = handle_->live(); };
  co_await blocking(runtime_, look);
  co_return protocol::LiveMachine{found.why_not, found.asked_for, found.accelerator, found.version, found.processor};
}

awaitable<Doors> KeptTask::departures() {
  driver::Departures made;
  const auto job = [this, &made] { made = handle_->departures(); };
  co_await blocking(runtime_, job);
  co_return Doors{std::move(made.memory), std::move(made.disk)};
}

awaitable<protocol::Departure> KeptTask::depart() {
  driver::Departed departed;
  const auto job = [this, &departed] { departed = handle_->depart(); };
  co_await blocking(runtime_, job);
  co_return protocol::Departure{departed.rebooted, departed.converged, departed.stood_still};
}

awaitable<void> KeptTask::stay() {
  const auto job = [this] { handle_->stay(); };
  co_await blocking(runtime_, job);
}

awaitable<void> KeptTask::leave() {
  const auto job = [this] { handle_->leave(); };
  co_await blocking(runtime_, job);
}

awaitable<os::Fd> KeptTask::entrance(bool disk) {
  os::Fd socket;
  const auto part = disk ? driver::MachinePart::disk : driver::MachinePart::memory;
  const auto job = [this, &socket, part] { socket = handle_->entrance(part); };
  co_await blocking(runtime_, job);
  co_return socket;
}

awaitable<void> KeptTask::await_memory() {
  const auto job = [this] { handle_->await_memory(); };
  co_await blocking(runtime_, job);
}

awaitable<void> KeptTask::go_on() {
  const auto job = [this] { handle_->go_on(); };
  co_await blocking(runtime_, job);
}

}  // namespace underway::node
