#pragma once
/// @file
/// Hosts of opportunistic pools are taken back, by somebody's word or for urgent hosts (room.hpp): what is asked for,
/// and that it is over. The next look (look.hpp) decides which hosts go, and writes that down; their jobs have the
/// notice that the cluster promises (notices.hpp).

#include "model/elastic/recall.hpp"
#include "server/request.hpp"

namespace underway::growth {

/// Hosts are to go, and the pool is to have no more than are left to it until EndRecalls.
/// Errors: not_found without the cluster or a host; invalid when nothing, or something that makes no sense, is asked
/// for; conflict when nothing of it can be taken back: the pool promises its hosts, or they go already; exhausted when
/// too many recalls are in force.
struct RecallHosts {
  std::string cluster;
  std::string pool;                ///< empty: that of `hosts`, or the only one that is opportunistic
  std::vector<std::string> hosts;  ///< these; empty: `count` of the pool
  std::int64_t count = 0;
  std::string why;
  std::string for_host = {};  ///< it is over when this host is gone
};
server::Decision<model::Recall> decide(const tables::Tables& tables, const RecallHosts& request,
                                       const server::Context& context);
/// Of a cluster: each may name as many hosts as a pool has, and all are read at every look.
inline constexpr std::size_t kMostRecalls = 100;

/// The pools may have hosts again; those that go, go. Returns what has ended. Errors: not_found when there is no such.
struct EndRecalls {
  std::string cluster;
  std::int64_t number = 0;  ///< 0: all of `pool` that are by somebody's word
  std::string pool;         ///< empty: of all pools
};
server::Decision<std::vector<model::Recall>> decide(const tables::Tables& tables, const EndRecalls& request,
                                                    const server::Context& context);

}  // namespace underway::growth
