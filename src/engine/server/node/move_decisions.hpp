#pragma once
/// @file
/// Allocations that go on elsewhere with their virtual machines: memory, disks, and what they were in the middle of.
/// The successor is placed first, so that nothing sleeps without a place to wake at:
///
///   A (it moves)              B (its successor)        the machines
///   wanted, marked            -                        run, until a node has room
///   not wanted                arrival: expected        run; B's node looks whether it can take them
///   not wanted, to sleep      arrival: ready           go to sleep on A's node; their directory is sent
///   ended, left               arrival: arrived         go on, on B's node
///
/// Where both nodes can (vm/live.hpp), they go while they run, and the two lines in the middle are one:
///
///   not wanted                arrival: coming          run, are sent, and stand still on both nodes
///   left                      arrival: arrived         go on, on B's node
///
/// B's node reports `arrived` when all is there, and its guest goes on when the server says so; that this report is
/// entered is the one moment at which a machine becomes B's. A's node asks the server what became of it (fate_of),
/// and nothing goes on there before the answer. What fails before is no failure: B's node says `ready`, and they sleep.
///
/// B's node cannot take them, or they cannot be put to sleep (the disk is full): A is wanted again, and B is not. They
/// are gone with A's node: B begins anew. Each line is a state of the rows alone: whoever dies, the next one goes on
/// from there. A machine is started on B's node when A's has told that nothing of A runs, or when it has left A, and at
/// no other time.

#include "protocol/messages.hpp"
#include "server/decision.hpp"

namespace underway::server {

/// Has them go on elsewhere: on the node `to_node`, or on any that has room but their own. Until there is one they run
/// on, and the wish stands. Nothing happens when they are on their way. `cancel`: takes back a wish for which there was
/// no node yet. `wake`: those that sleep go on there, else they sleep there. Errors: not_found (the allocation, the
/// node); conflict (it does not run, it is on that node, a constraint of its job is against that node, it is on its way
/// already); unsupported (as SleepAllocation).
struct MoveAllocation {
  std::string id;
  std::string to_node = {};
  bool cancel = false;
  bool wake = false;
};
Decision<Nothing> decide(const Tables&, const MoveAllocation&, const Context&);

/// Nobody goes on with what the machines of a group kept where they ended: their nodes remove it, as soon as they are
/// linked. For machines with a name, whose directories stay for the next allocation of that name.
struct DiscardMachines {
  std::string ns, job_id, group;
};
Decision<Nothing> decide(const Tables&, const DiscardMachines&, const Context&);

/// All that runs in it are virtual machines that could sleep.
bool can_move(const model::Allocation& allocation);
/// It could not move, and nobody has asked again since `asked`, ns since the epoch.
bool failed_to_move(const model::Allocation& allocation, std::int64_t asked);

/// It is not wanted where it is any more, and its machines are not where they are to go yet.
bool is_leaving(const model::Allocation& allocation);
/// To which the machines of an allocation that is leaving are on their way. Null: none is placed at present.
tables::Row<model::Allocation> destination_of(const Tables&, const model::Allocation& leaving);

/// What becomes of a machine of `leaving` that was sent to allocation `to` while it ran, and stands still. What is
/// decided stays so.
protocol::MoveFate fate_of(const Tables&, const model::Allocation& leaving, const std::string& to);

/// What the node says of machines that come to `row`: enters it, with what follows for the allocation that they leave.
void note_arrival(std::vector<Change>& changes, const Tables&, model::Allocation& row,
                  const model::AllocArrivalReport& report, const Context&);
/// It cannot leave after all: it is wanted where it is, and what was to take its place is not.
void stay(std::vector<Change>& changes, const Tables&, model::Allocation& leaving, const std::string& why,
          const Context&);
/// They are not waited for any longer: their destination begins anew, and they end where they are.
void give_up_move(std::vector<Change>& changes, const Tables&, const model::Allocation& leaving, const std::string& why,
                  const Context&);

}  // namespace underway::server
