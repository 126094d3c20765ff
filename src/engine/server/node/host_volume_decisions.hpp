#pragma once
/// @file
/// Decisions about dynamic host volumes. The server says which volumes a node lends: what it has to, from the record
/// that is durable before the node is asked; a node's row has those that are ready, whatever the node itself believes.

#include "server/decision.hpp"
#include "tables/host_volumes.hpp"

namespace underway::server {

struct PutHostVolume {
  model::HostVolume volume;  ///< with an id: a volume that is there is changed
  bool registering = false;  ///< the directory is there, instead of to be made
};
/// Chooses the node, if none is named, and writes the volume down as pending: the node is asked next.
/// Throws invalid with all problems; not_found (node, volume); conflict (no node suits; the name is taken on the node;
/// what may not change would).
Decision<model::HostVolume> decide(const Tables&, const PutHostVolume&, const Context&);

/// The node has it: from now on its row lends it, and who waits for it is asked again.
struct HostVolumeReady {
  std::string id, path;
  std::int64_t bytes = 0;
};
Decision<Nothing> decide(const Tables&, const HostVolumeReady&, const Context&);
/// The node could not make it: one that was never there is forgotten; one that was stays as it was.
struct HostVolumeFailed {
  std::string id;
};
Decision<Nothing> decide(const Tables&, const HostVolumeFailed&, const Context&);

/// Takes it out of the node's row and marks it: the node is asked next. Throws not_found; conflict naming the
/// allocations that use it.
struct DeleteHostVolume {
  std::string id;
};
Decision<model::HostVolume> decide(const Tables&, const DeleteHostVolume&, const Context&);
/// It is gone, and with it all claims on it. Also when its node is, and is never asked.
struct HostVolumeGone {
  std::string id;
};
Decision<Nothing> decide(const Tables&, const HostVolumeGone&, const Context&);
/// The node could not delete it: it is lent as before.
struct HostVolumeStays {
  std::string id;
};
Decision<Nothing> decide(const Tables&, const HostVolumeStays&, const Context&);

/// Throws not_found.
struct DeleteVolumeClaim {
  std::string id;
};
Decision<Nothing> decide(const Tables&, const DeleteVolumeClaim&, const Context&);
/// Of a job that is forgotten.
void delete_claims_of(std::vector<Change>& changes, const Tables&, const std::string& ns, const std::string& job_id);

/// Of a node that registers: of the dynamic volumes that it reports its row has those that have a record here. A record
/// of a volume that it does not have is marked, and again once it has.
void admit_volumes(std::vector<Change>& changes, const Tables&, model::Node& node);

/// Allocations that have not ended and mount the volume.
std::vector<tables::Row<model::Allocation>> users_of(const Tables&, const model::HostVolume&);

}  // namespace underway::server
