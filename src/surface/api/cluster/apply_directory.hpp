#pragma once
/// @file
/// All that a cluster's directory declares, as one request: what runs and what lies on its nodes become so in one
/// commit. `plan` shows the very changes that `apply` makes, as both ask the decision below.

#include "files/masters/decisions.hpp"
#include "server/job/job_decisions.hpp"

namespace underway::api {

struct ApplyDirectory {
  server::ApplyCluster cluster;
  std::optional<files::PutFiles> files;  ///< absent where no files are synchronised
};
struct AppliedDirectory {
  server::AppliedCluster cluster;
  files::FilesPut files;
};
/// Throws what the parts throw.
server::Decision<AppliedDirectory> decide(const tables::Tables& tables, const ApplyDirectory& request,
                                          const server::Context& context);

}  // namespace underway::api
