#pragma once
/// @file
/// A server that is started while the file of its store is gone (deleted, or on a disk that is not mounted) would make
/// an empty one, and begin another cluster. So the data directory has a mark that a store once was there, with the ids
/// of the clusters whose state it held, and a store without its mark, or a mark without its store, is looked at before
/// anything starts.

#include <string>
#include <vector>

#include "base/random.hpp"
#include "store/store.hpp"

namespace underway::server {

/// The setting with the id of the cluster whose state the store holds: made with the store, restored with a snapshot.
inline constexpr const char* kClusterSetting = "cluster/id";

struct StorePlace {
  std::string state_file;
  std::string mark_file;
  /// What a server makes after its store: each of them says that there was one, too, if the mark was lost with it.
  std::vector<std::string> signs;
};

/// Before the store is opened, which would make a missing one. Throws conflict when it is missing or empty though it
/// once was there, unless it shall be a new one. Blocks: disk.
void refuse_lost_store(const StorePlace& place, bool new_cluster);

/// After it was opened: a new store gets its id, and the directory its mark; killed in between, the next start goes on
/// from there. Throws conflict as refuse_lost_store(), for a store of another directory, and for a new cluster where
/// there is one. Blocks: disk.
void settle_store(store::Store& store, const StorePlace& place, bool new_cluster, IdSource& ids);

/// The store of this directory may be the cluster's from now on. Durable when it returns. Blocks: disk.
void extend_mark(const std::string& mark_file, const std::string& cluster_id);

}  // namespace underway::server
