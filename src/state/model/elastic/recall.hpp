#pragma once
/// @file
/// Hosts of opportunistic pools that are taken back: what was asked for, and what came of it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json/describe.hpp"

namespace underway::model {

/// A host that goes.
struct RecalledHost {
  std::string host;
  std::int64_t until = 0;         ///< when its notice is over, ns since the epoch; 0: it goes at once
  std::vector<std::string> jobs;  ///< Slurm jobs that are done again if they still run by then
};

/// A host that stays although it is asked for.
struct SpareHost {
  std::string host, why;
};

/// Of the hosts that stay so many are told of.
inline constexpr std::size_t kMostSpareHosts = 100;

/// In force until it is ended: until then the pool has no more hosts than were left to it.
struct Recall {
  std::string cluster;
  std::int64_t number = 0;  ///< of the cluster's, from 1
  std::string pool;
  std::vector<std::string> hosts;  ///< these; empty: `count` of them, those that cost least
  std::int64_t count = 0;
  std::string why;              ///< for people
  std::string for_host;         ///< it ends with this host, for which room is made; empty: by somebody's word
  std::int64_t asked_at = 0;    ///< ns since the epoch
  std::int64_t decided_at = 0;  ///< ns since the epoch; 0: not yet, `ceiling`, `goes` and `stays` say nothing
  std::int64_t ceiling = 0;     ///< hosts that the pool has at most
  std::vector<RecalledHost> goes;
  std::vector<SpareHost> stays;  ///< the first kMostSpareHosts

  bool decided() const { return decided_at != 0; }
};

const describe::Structure& description(describe::Tag<RecalledHost>);
const describe::Structure& description(describe::Tag<SpareHost>);
const describe::Structure& description(describe::Tag<Recall>);

}  // namespace underway::model
