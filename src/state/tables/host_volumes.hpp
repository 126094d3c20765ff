#pragma once
/// @file
/// Dynamic host volumes and their claims as records: volumes by id, claims by namespace, job, group and id.

#include <algorithm>

#include "model/node/host_volume.hpp"
#include "tables/records.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::HostVolume> {
  static constexpr std::string_view kind = "host-volume";
  static std::string name(const model::HostVolume& volume) { return volume.id; }
};

template <>
struct RecordOf<model::HostVolumeClaim> {
  static constexpr std::string_view kind = "host-volume-claim";
  static std::string name(const model::HostVolumeClaim& claim) {
    return claim.ns + "/" + claim.job_id + "/" + claim.group + "/" + claim.id;
  }
};

/// Those on a node.
inline std::vector<model::HostVolume> host_volumes_on(const Tables& tables, const std::string& node_id) {
  auto volumes = records<model::HostVolume>(tables);
  std::erase_if(volumes, [&](const auto& volume) { return volume.node_id != node_id; });
  return volumes;
}

/// Those of a job.
inline std::vector<model::HostVolumeClaim> claims_of_job(const Tables& tables, const std::string& ns,
                                                         const std::string& job_id) {
  auto claims = records<model::HostVolumeClaim>(tables, ns + "/" + job_id + "/");
  // A job's id may have slashes: "a" is a prefix of "a/b".
  std::erase_if(claims, [&](const auto& claim) { return claim.ns != ns || claim.job_id != job_id; });
  return claims;
}

}  // namespace underway::tables
