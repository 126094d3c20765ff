#pragma once
/// @file
/// Hosts whose virtual machines sleep: what one is asked, and how that follows its way through Slurm and its node.
///
///   SleepHosts     the wish, on the host's row
///   Slurm rests    no job comes, those that are there are suspended     slurm/elastic/member_controller.hpp
///   machine sleeps its allocation is asked to                           server/node/sleep_decisions.hpp
///   WakeHosts      the opposite wish: the machine first, Slurm then
///
/// A machine that goes to another node (server/node/move_decisions.hpp) sleeps on its way, and so does its host: once
/// that node is ready for it, the wish is written down here, and it is taken back when the machine runs there.

#include <map>
#include <string>
#include <vector>

#include "server/request.hpp"

namespace underway::host {

/// Has the machines of hosts of a cluster sleep, all or none; nothing happens of whom that is asked for already. `why`:
/// for people. Errors: not_found; unsupported (a provider is not "qemu"); conflict (a machine does not run, or a host
/// is to go).
struct SleepHosts {
  std::string cluster;
  std::vector<std::string> names;
  std::string why;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const SleepHosts& request,
                                         const server::Context& context);

/// And be awake, all or none. Nothing happens of one that is not to sleep. `hosts`: by their names, ids of the nodes
/// where they go on, with memory and disks; empty: where they are. Errors: not_found; conflict (Slurm jobs of theirs
/// sleep on hosts that are not named); exhausted (others have the room), and those of server::MoveAllocation.
struct WakeHosts {
  std::string cluster;
  std::map<std::string, std::string> hosts;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const WakeHosts& request,
                                         const server::Context& context);

/// On its way to another node.
struct MachineMove {
  tables::Row<model::Allocation> from;
  tables::Row<model::Allocation> to;  ///< null: no node has room for it at present
};
std::optional<MachineMove> move_of(const tables::Tables& tables, const model::Host& host);

/// The allocation that has the host's machine: the newest that has not ended. Null: there is none.
tables::Row<model::Allocation> machine_of(const tables::Tables& tables, const model::Host& host);

/// What follows for one host from its wish and from how its machine stands.
struct SleepStep {
  enum class Kind {
    none,
    sleep,    ///< its machine
    wake,     ///< its machine
    give_up,  ///< it could not be put to sleep
    depart,   ///< the host is to sleep, as its machine moves
    arrive    ///< it need not sleep any more: its machine runs where it went to, or did not go
  } kind = Kind::none;
  std::string allocation;
};
SleepStep next_sleep_step(const tables::Tables& tables, const model::Cluster& cluster, const model::Host& host);

/// Its machine is about to move: DepartHost has it sleep until then. ArriveHost: it has, or stays. Nothing happens when
/// it is not so.
struct DepartHost {
  std::string cluster, name;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const DepartHost& request,
                                         const server::Context& context);
struct ArriveHost {
  std::string cluster, name;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const ArriveHost& request,
                                         const server::Context& context);

/// It could not be put to sleep, and runs on: the wish is taken back, and that of hosts with which it shares Slurm
/// jobs, as far as they have their room still. The reason stays with its allocation.
struct GiveUpSleep {
  std::string cluster, name;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const GiveUpSleep& request,
                                         const server::Context& context);

}  // namespace underway::host
