#pragma once
/// @file
/// Slurm's reservations, as `scontrol -o show reservation` prints them, and what Slurm is told of ours. Untrusted:
/// whatever is printed is read as far as it makes sense.
///
/// Ours name their nodes, so that Slurm replaces none of them by itself, and ignore the jobs that still run there
/// (IGNORE_JOBS): a node is kept as soon as those have ended, and nobody's that would run into the reservation starts
/// there. The words are the same in 20.11, 22.05 and 24.11.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "slurm/elastic/members.hpp"

namespace underway::slurm {

struct Reservation {
  std::string name = {};
  TimePoint begins{}, ends{};  ///< whole seconds
  std::set<std::string> nodes = {};
  std::set<std::string> accounts = {}, users = {};
  bool operator==(const Reservation&) const = default;
};

Command reservations_command();
/// Nodes of one, and of all; of one that names more none is read.
inline constexpr std::size_t kMostReserved = 100'000;
/// One whose name or times make no sense is left out, and so is a line of more than 1 MiB.
std::vector<Reservation> parse_reservations(std::string_view text);

/// It begins now when its time is over, which Slurm refuses otherwise.
Command create_command(const Reservation& wanted, TimePoint now);
/// What has to be said so that `has` becomes `wanted`; empty: nothing. Slurm moves the begin of none that has begun.
/// Times that differ by less than a minute are the same.
Command update_command(const Reservation& has, const Reservation& wanted, TimePoint now);
/// Refused while jobs that use it wait or run.
Command delete_reservation_command(const std::string& name);

}  // namespace underway::slurm
