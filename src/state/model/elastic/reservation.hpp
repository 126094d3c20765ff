#pragma once
/// @file
/// `reservation` of a pool that grows: from one moment until another it has hosts that are for some people alone, be
/// they there already or not.

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/json/describe.hpp"

namespace underway::model {

struct HostReservation {
  std::string name;                   ///< Slurm's reservation has it, too
  std::int64_t hosts = 1;             ///< so many
  std::string from, until;            ///< RFC 3339, with a zone
  std::vector<std::string> accounts;  ///< whose jobs may use them
  std::vector<std::string> users;     ///< likewise; where both are given a job is of both

  /// The epoch when it is no time, which problems() says.
  TimePoint begins() const;
  TimePoint ends() const;
};

/// What is wrong with those of a pool that has at most `most` hosts, each behind `where`. One that is over is right.
std::vector<std::string> problems(const std::vector<HostReservation>& reservations, std::int64_t most,
                                  const std::string& where);

const describe::Structure& description(describe::Tag<HostReservation>);

}  // namespace underway::model
