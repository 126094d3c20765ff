#include "api/cluster/apply_directory.hpp"

#include <iterator>

namespace underway::api {

server::Decision<AppliedDirectory> decide(const tables::Tables& tables, const ApplyDirectory& request,
                                          const server::Context& context) {
  auto cluster = decide(tables, request.cluster, context);
  server::Decision<AppliedDirectory> decision{std::move(cluster.changes), {std::move(cluster.result), {}}};
  if (!request.files) return decision;
  auto files = decide(tables, *request.files, context);
  std::move(files.changes.begin(), files.changes.end(), std::back_inserter(decision.changes));
  decision.result.files = std::move(files.result);
  return decision;
}

}  // namespace underway::api
