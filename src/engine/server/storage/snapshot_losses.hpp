#pragma once
/// @file
/// What a restoration (server/storage/snapshots.hpp) ends.

#include "base/json/describe.hpp"
#include "server/server.hpp"

namespace underway::server {

/// What runs now, and does not in the state of a snapshot: nodes end it when that state is restored, since this server
/// has ordered it and knows of it no more.
struct SnapshotLosses {
  std::vector<std::string> jobs;  ///< "namespace/id" of those that lose allocations, by name
  std::int64_t allocations = 0;
};
const describe::Structure& description(describe::Tag<SnapshotLosses>);

/// Of the archive in this file; nothing is changed. Throws as Server::restore_snapshot.
async::awaitable<SnapshotLosses> losses_of_snapshot(Server& server, std::string archive, bool force);

}  // namespace underway::server
