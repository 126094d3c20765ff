#include "server/node/node_pool_decisions.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::server {

using model::NodePool;

namespace {

bool built_in(const std::string& name) { return name == model::kDefaultNodePool || name == model::kEveryNodePool; }

void check(const NodePool& pool) {
  const auto problems = model::problems(pool);
  if (problems.empty()) return;
  throw Error(Code::invalid, fmt::format("node pool '{}' is not valid", pool.name)).because(problems);
}

[[noreturn]] void refuse_delete(const std::string& name, const char* what, const std::vector<std::string>& names) {
  throw Error(Code::conflict, fmt::format("node pool '{}' has {}", name, what))
      .because(join(std::span(names).first(std::min<std::size_t>(names.size(), 10)), ", "));
}

}  // namespace

Decision<Nothing> decide(const Tables& tables, const PutNodePool& request, const Context&) {
  const auto& pool = request.pool;
  check(pool);
  if (built_in(pool.name)) throw Error(Code::invalid, fmt::format("node pool '{}' is built in and stays", pool.name));
  Decision<Nothing> decision;
  NodePool wanted = pool;
  wanted.create_index = wanted.modify_index = 0;
  auto current = tables::find_node_pool(tables, pool.name);
  if (current) current->create_index = current->modify_index = 0;
  if (!current || !describe::equal(*current, wanted)) decision.changes.push_back(tables::put_record(wanted));
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const DeleteNodePool& request, const Context&) {
  const auto& name = request.name;
  if (built_in(name)) throw Error(Code::conflict, fmt::format("node pool '{}' is built in and stays", name));
  if (!tables::find_node_pool(tables, name))
    throw Error(Code::not_found, fmt::format("node pool '{}' not found", name));
  std::vector<std::string> nodes, jobs;
  for (const auto& node : tables.nodes()) {
    if (node->node_pool == name) nodes.push_back(node->name);
  }
  for (const auto& job : tables.jobs()) {
    if (job->node_pool == name && !job->stop && job->status != model::JobStatus::dead)
      jobs.push_back(job->ns + "/" + job->id);
  }
  if (!nodes.empty()) refuse_delete(name, "nodes in it", nodes);
  if (!jobs.empty()) refuse_delete(name, "jobs that are not over", jobs);
  Decision<Nothing> decision;
  decision.changes.push_back(tables::delete_record<NodePool>(name));
  return decision;
}

void ensure_node_pool(std::vector<Change>& changes, const Tables& tables, const std::string& name) {
  if (name == model::kEveryNodePool)
    throw Error(Code::invalid, "a node cannot be in node pool 'all'").because("every node is");
  if (tables::find_node_pool(tables, name)) return;
  NodePool pool;
  pool.name = name;
  check(pool);
  changes.push_back(tables::put_record(pool));
}

std::optional<Duration> lifetime_in_pool(const Tables& tables, const std::string& pool) {
  const auto row = tables::find_node_pool(tables, pool);
  if (!row || row->identity_ttl == Duration{0}) return std::nullopt;
  return row->identity_ttl;
}

}  // namespace underway::server
