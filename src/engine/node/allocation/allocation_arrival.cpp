// Virtual machines that come to an allocation from another node, with their memory and disks, and those that have gone.
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdio>

#include "async/retry.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "node/allocation/allocation_runner.hpp"
#include "node/task/task_event.hpp"

namespace underway::node {
namespace {

using model::ArrivalPhase;

/// Who has them may be away for as long as its machine boots.
const auto kAskAgain = async::RetryPolicy::up_to(std::chrono::seconds{10});

std::uint64_t free_bytes(const std::string& path) {
  struct statvfs space{};
  if (::statvfs(path.c_str(), &space) != 0) throw errno_error(errno, fmt::format("cannot look at '{}'", path));
  return static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
}

/// The server lets nothing move of which one of these is something else.
bool is_machine(const model::Task& task) { return task.is_main() || task.is_sidecar(); }

}  // namespace

ArrivalPhase AllocationRunner::arrival_phase() const {
  return state_.arrival ? state_.arrival->phase : ArrivalPhase::expected;
}

bool AllocationRunner::awaits_machines() const {
  const auto phase = arrival_phase();
  return allocation_->arrival && context_.predecessors != nullptr && !dead() &&
         (phase == ArrivalPhase::expected || phase == ArrivalPhase::coming || phase == ArrivalPhase::ready);
}

void AllocationRunner::note_arrival(ArrivalPhase phase, const std::string& trouble) {
  state_.arrival = model::AllocArrivalReport{phase, trouble};
  write_state();
  unreported = true;
  reported_();
}

std::optional<model::AllocArrivalReport> AllocationRunner::arrival_report() const {
  if (!allocation_->arrival) return std::nullopt;
  return state_.arrival.value_or(model::AllocArrivalReport());
}

awaitable<void> AllocationRunner::take_machines() {
  const std::string from = allocation_->arrival->from.substr(0, 8);
  std::optional<Error> failed;
  try {
    co_await blocking(context_.runtime, [this] { directory_.build(); });
    if (arrival_phase() == ArrivalPhase::expected) {
      co_await look_whether_here();
      if (dead() || arrival_phase() == ArrivalPhase::refused) co_return;
      if (arrival_phase() == ArrivalPhase::coming) {
        const auto why = co_await take_running();
        if (dead() || arrival_phase() != ArrivalPhase::coming) co_return;
        if (why.empty()) co_return note_arrival(ArrivalPhase::arrived, "");
        note_sleep(why);
      }
    } else if (arrival_phase() == ArrivalPhase::coming) {
      // Nobody knows how much of it is here.
      co_await runners_.begin()->second->drop_target();
      note_sleep(fmt::format("the agent of node '{}' was started anew on the way", context_.node.name));
    }
    tell_all(event::make(protocol::event::kWaiting, fmt::format("Waiting for the machines of allocation {}", from)));
    co_await bring_machines();
  } catch (const Error& error) {
    failed = error;
  }
  if (dead()) co_return;
  if (!failed && arrival_phase() == ArrivalPhase::ready) co_return note_arrival(ArrivalPhase::arrived, "");
  const auto why = failed ? failed->one_line() : state_.arrival->trouble;
  note_arrival(ArrivalPhase::lost, why);
  tell_all(
      event::make(protocol::event::kTaskSetup,
                  fmt::format("The machines of allocation {} cannot be had, this one begins anew: {}", from, why)));
  log::warn("node: the machines of allocation {} do not reach {}: {}", from, id().substr(0, 8), why);
}

awaitable<void> AllocationRunner::look_whether_here() {
  std::vector<protocol::KeptMachine> machines;
  const auto why = co_await why_not_here(machines);
  if (dead()) co_return;
  if (!why.empty()) co_return note_arrival(ArrivalPhase::refused, why);
  const bool asked_for = std::ranges::any_of(machines, [](const auto& it) { return it.live && it.live->asked_for; });
  const auto asleep = co_await why_not_running(std::move(machines));
  if (dead()) co_return;
  if (asleep.empty()) co_return note_arrival(ArrivalPhase::coming, "");
  // Where nobody asked for more, that they sleep on the way is no news.
  note_arrival(ArrivalPhase::ready, asked_for ? asleep : "");
}

/// They were to come while they run, and sleep on the way instead.
void AllocationRunner::note_sleep(const std::string& why) {
  tell_all(
      event::make(protocol::event::kTaskSetup, "It cannot come while it runs, and is put to sleep for it: " + why));
  log::warn("node: the machine of allocation {} does not come to {} while it runs: {}",
            allocation_->arrival->from.substr(0, 8), id().substr(0, 8), why);
  note_arrival(ArrivalPhase::ready, why);
}

/// Nothing is asked of them yet: they run on when this says no.
awaitable<std::string> AllocationRunner::why_not_here(std::vector<protocol::KeptMachine>& machines) {
  const auto ask = [&]() -> awaitable<void> { machines = co_await context_.predecessors->describe_machines(id()); };
  std::optional<Error> failed;
  try {
    co_await async::retry(kAskAgain, ask);
  } catch (const Error& error) {
    failed = error;
  }
  // Gone with their node: that is no reason to wait for them.
  if (failed && failed->code() == Code::not_found) throw std::move(*failed);
  if (failed) co_return failed->one_line();
  std::uint64_t needed = 0, free = 0;
  for (const auto& machine : machines) {
    needed += static_cast<std::uint64_t>(std::max<std::int64_t>(machine.bytes, 0));
    auto why = co_await context_.drivers.lacks(machine.driver, machine.bases);
    if (!why.empty()) co_return fmt::format("on node '{}': {}", context_.node.name, why);
  }
  co_await blocking(context_.runtime, [&] { free = free_bytes(directory_.root()); });
  if (free >= needed) co_return std::string();
  co_return fmt::format("on node '{}' are {} of disk free, and they may need {}", context_.node.name, human_bytes(free),
                        human_bytes(needed));
}

awaitable<void> AllocationRunner::bring_machines() {
  std::vector<std::string> tasks;
  for (const auto& [name, runner] : runners_)
    if (is_machine(runner->task())) tasks.push_back(name);
  const auto fetch = [&]() -> awaitable<void> {
    std::string to;
    co_await blocking(context_.runtime, [&] { to = open_machines(directory_.root()); });
    for (const auto& task : tasks) co_await context_.predecessors->fetch_machine(id(), task, to + "/" + task);
  };
  co_await async::retry(kAskAgain, fetch);
  co_await blocking(context_.runtime, [&] { close_machines(directory_.root()); });
}

/// One that came and was never started lies where it arrived.
std::string AllocationRunner::kept_in(const std::string& task) const {
  const auto arrived = arrived_machine(directory_.root(), task);
  return allocation_->arrival && os::exists(arrived) ? arrived : get_task(task).record().kept_in;
}

/// They went on elsewhere, or nobody does. A machine with a name has its directory outside of the allocation's: from
/// now on the next one of that name begins with none, however long this takes.
awaitable<void> AllocationRunner::remove_kept() {
  const bool is_anothers = context_.predecessors != nullptr && context_.predecessors->has_namesake(id());
  for (const auto& [name, runner] : runners_) {
    const std::string kept = runner->record().kept_in, removed = fmt::format("{}.{}.removed", kept, id());
    if (kept.empty() || is_anothers) continue;
    co_await blocking(context_.runtime, [&] {
      if (std::rename(kept.c_str(), removed.c_str()) != 0 && errno != ENOENT)
        throw errno_error(errno, fmt::format("cannot remove '{}'", kept));
      os::remove_tree(removed);
    });
  }
  for (auto& [name, runner] : runners_) runner->forget_kept();
}

awaitable<std::vector<protocol::TaskCheckpoint>> AllocationRunner::checkpoints(std::string task) {
  if (!task.empty()) get_task(task);
  std::vector<protocol::TaskCheckpoint> found;
  for (const auto& [name, runner] : runners_) {
    const std::string kept = kept_in(name);
    if ((!task.empty() && name != task) || kept.empty()) continue;
    for (auto& made : co_await context_.drivers.checkpoints(runner->task().driver, kept)) {
      made.task = name;
      found.push_back(std::move(made));
    }
  }
  co_return found;
}

awaitable<void> AllocationRunner::restore(std::string task, std::string checkpoint) {
  if (stopping_ || dead())
    throw Error(Code::invalid, fmt::format("allocation {} has ended, or is about to", id().substr(0, 8)));
  const auto there = co_await checkpoints(std::move(task));
  for (const auto& made : there) {
    if (made.id != checkpoint) continue;
    // While it runs on: one that cannot be gone back to costs nothing.
    co_await context_.drivers.verify_checkpoint(get_task(made.task).task().driver, kept_in(made.task), checkpoint);
    co_return get_task(made.task).restore(checkpoint);
  }
  Error unknown(Code::not_found, fmt::format("allocation {} has no checkpoint '{}'", id().substr(0, 8), checkpoint));
  if (there.empty()) unknown.because("it has none at all: only virtual machines do, of which one was made");
  throw unknown.advise(fmt::format("underway alloc checkpoint -list {}", id().substr(0, 8)));
}

awaitable<std::vector<protocol::KeptMachine>> AllocationRunner::kept_machines() {
  std::vector<protocol::KeptMachine> found;
  for (const auto& [name, runner] : runners_) {
    if (!is_machine(runner->task())) continue;
    const std::string kept = kept_in(name), driver = runner->task().driver;
    if (kept.empty())
      throw Error(Code::unsupported, fmt::format("the machine of task '{}' cannot go elsewhere", name))
          .because("it writes to disks outside of its own directory, or was never started")
          .advise("stop it, and have it placed anew");
    auto& machine = found.emplace_back(protocol::KeptMachine{.task = name, .driver = driver, .bytes = 0, .bases = {}});
    DiskUse use;
    co_await blocking(context_.runtime, [&] { use = measure_disk(kept); });
    const auto given = allocation_->resources.tasks.find(name);
    const std::int64_t memory = given == allocation_->resources.tasks.end() ? 0 : given->second.memory_mb;
    machine.bytes = static_cast<std::int64_t>(use.bytes) + (memory << 20);
    machine.bases = co_await context_.drivers.bases(driver, kept);
    machine.live = co_await runner->live();
  }
  co_return found;
}

}  // namespace underway::node
