#pragma once
/// @file
/// Allocations that sleep: their virtual machines' memory goes to the disk of their node, and their processors and
/// memory are others' until they are woken.
///
///   wish        order to the node       the node says         room
///   wanted      stop by suspending      runs                  held
///   wanted      stop by suspending      asleep                free
///   not wanted  start                   asleep, then runs     held
///
/// A wish is a row's: whoever dies, server, agent or keeper, it is carried out by the next one.

#include <set>

#include "server/request.hpp"

namespace underway::server {

/// Asks for sleep; that they do is told by the row (model::AllocSleep). Nothing happens when that is asked for already.
/// Errors: not_found; conflict (it does not run, or has ended); unsupported (a task is no virtual machine, or holds a
/// device of its node).
struct SleepAllocation {
  std::string id;
};
Decision<Nothing> decide(const Tables&, const SleepAllocation&, const Context&);

/// Has them go on, where they are. Their room is theirs from now on. Nothing happens when they were not asked to sleep.
/// Errors: not_found; exhausted (others have their room: who, and what lacks).
struct WakeAllocation {
  std::string id;
};
Decision<Nothing> decide(const Tables&, const WakeAllocation&, const Context&);

/// Why it cannot sleep, for people: a task of it is no virtual machine, or holds a device of its node. Empty: it can.
std::string why_not_asleep(const model::Allocation&);
/// "allocation 7f3a9c12 (web.app[0])".
std::string brief(const model::Allocation&);

/// Why the node of an allocation that sleeps has no room for it to wake: "it needs 2048 MiB of memory, 512 are free".
/// Empty: it has. `with`: ids of those that are to wake with it, and have their room.
std::string why_no_room(const Tables&, const model::Allocation&, const std::set<std::string>& with = {});

}  // namespace underway::server
