#include "api/cluster/change_words.hpp"

#include <fmt/format.h>

#include "api/cluster/apply_directory.hpp"
#include "base/text.hpp"
#include "ownership/upgrade.hpp"
#include "server/job/deployment_decisions.hpp"
#include "server/job/scaling_decisions.hpp"
#include "server/node/drain_decisions.hpp"
#include "server/node/orphan_decisions.hpp"

namespace underway::api {
namespace {

/// Its name; of one that is not known its id.
std::string node_name(const Tables& tables, const std::string& id) {
  const auto row = tables.find_node(id);
  return row ? row->name : id;
}

std::string node_names(const Tables& tables, const std::vector<std::string>& ids) {
  std::vector<std::string> names;
  for (const auto& id : ids) names.push_back(node_name(tables, id));
  return join(names, ", ");
}

}  // namespace

ChangeWords words_of(const Tables&, const ApplyDirectory& request) {
  return {fmt::format("apply cluster '{}'", request.cluster.cluster.name)};
}

ChangeWords words_of(const Tables&, const server::DeregisterJob& request) {
  return {fmt::format("stop job '{}'", request.id), request.ns};
}

ChangeWords words_of(const Tables& tables, const server::DrainNode& request) {
  return {fmt::format("drain node {}", node_name(tables, request.node_id))};
}

ChangeWords words_of(const Tables& tables, const server::KeepOrphans& request) {
  std::vector<std::string> ids;
  for (const auto& [id, _] : request.found) ids.push_back(id);
  return {fmt::format("keep the orphans of {}", node_names(tables, ids))};
}

ChangeWords words_of(const Tables&, const server::RegisterJob& request) {
  return {fmt::format("run job '{}'", request.job.id), request.job.ns};
}

ChangeWords words_of(const Tables&, const server::RevertJob& request) {
  return {fmt::format("revert job '{}' to version {}", request.id, request.version), request.ns};
}

ChangeWords words_of(const Tables&, const server::ScaleJob& request) {
  return {request.count ? fmt::format("scale '{}' of job '{}' to {}", request.group, request.id, *request.count)
                        : fmt::format("message about '{}' of job '{}'", request.group, request.id),
          request.ns};
}

ChangeWords words_of(const Tables& tables, const server::StopAllocation& request) {
  const auto row = tables.find_allocation(request.id);
  if (!row) return {fmt::format("stop allocation '{}'", request.id)};
  return {fmt::format("stop allocation '{}'", row->name), row->ns};
}

ChangeWords words_of(const Tables&, const server::StopCluster& request) {
  return {fmt::format("take cluster '{}' down", request.name)};
}

ChangeWords words_of(const Tables& tables, const server::StopOrphans& request) {
  return {fmt::format("stop the orphans of {}", node_names(tables, request.node_ids))};
}

ChangeWords words_of(const Tables& tables, const ownership::BeginMove& request) {
  const auto& [ns, name, node, without_overlay] = request.wanted;
  return {fmt::format("move capsule '{}' to {}", name, node_name(tables, node)), ns};
}

ChangeWords words_of(const Tables&, const ownership::BeginRestore& request) {
  const auto& wanted = request.wanted;
  return {fmt::format("restore capsule '{}' to {}", wanted.name, wanted.snapshot), wanted.ns};
}

ChangeWords words_of(const Tables&, const ownership::BeginUpgrade& request) {
  const auto& wanted = request.wanted;
  return {wanted.back            ? fmt::format("take the upgrade of capsule '{}' back", wanted.name)
          : wanted.rehearse_only ? fmt::format("rehearse capsule '{}' with '{}'", wanted.name, wanted.image)
                                 : fmt::format("upgrade capsule '{}' to '{}'", wanted.name, wanted.image),
          wanted.ns};
}

ChangeWords words_of(const Tables&, const files::PutFiles& request) {
  if (request.files.size() == 1) return {fmt::format("declare file {}", request.files.front().file.name)};
  return {fmt::format("declare {} files", request.files.size())};
}

ChangeWords words_of(const Tables&, const files::RemoveFile& request) {
  return {fmt::format("remove file {}", request.name)};
}

}  // namespace underway::api
