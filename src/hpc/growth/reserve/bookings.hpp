#pragma once
/// @file
/// Reservations of hosts that do not exist yet (model::HostReservation): which hosts of a pool are held for one, how
/// many are to be made, and what Slurm is told. Pure; growth.hpp carries it out, and looks again.
///
///   before        the pool's hosts are anybody's
///   lead          hosts are chosen, idle ones first, and what lacks is made before any job that waits has it; Slurm
///                 has a reservation of them from its begin on, and until then starts there what ends before
///   from … until  none of them goes; one that dies is another's place
///   afterwards    Slurm's reservation is over, and hosts go as all that are idle do
///
/// Whoever dies at any point, the rest follows from what is declared, from what is written down (Memory::reservations:
/// which of Slurm's are ours) and from what Slurm says.

#include "growth/look.hpp"

namespace underway::growth {

/// How long before a reservation begins its hosts are made: half as long again as a host takes as a rule, a minute at
/// least, and of an urgent pool the time that others take to fall asleep. So long its hosts are idle, at most.
Duration reservation_lead(const elastic::PoolClass& pool);

/// Whether Slurm has to be asked for its reservations: one is near, or one of ours may be there.
bool asks_for_reservations(const ClusterFacts& facts, TimePoint now);

struct Bookings {
  std::set<std::string> held;                   ///< hosts
  std::map<std::string, std::int64_t> lacking;  ///< by pool: hosts that are to be made
  std::vector<std::string> ours;                ///< names of Slurm's reservations that are, or are about to be, ours
  std::map<std::string, slurm::Command> steps;  ///< by name: what Slurm is told
  std::vector<std::string> lines;               ///< for people, of each that is not over
  bool settled = true;
};
/// `nodes`: the hosts as they are at this look.
Bookings book_hosts(const ClusterFacts& facts, const SlurmLook& slurm, const std::vector<elastic::NodeView>& nodes,
                    TimePoint now);

}  // namespace underway::growth
