#include "growth/recall.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "growth/notices.hpp"
#include "model/cluster.hpp"
#include "model/elastic/growth.hpp"
#include "tables/recalls.hpp"

namespace underway::growth {

using model::Recall;

namespace {

/// Of a pool there are 10,000 hosts at most.
constexpr std::int64_t kMostHosts = 10'000;

tables::Row<model::Cluster> get_cluster(const tables::Tables& tables, const std::string& name) {
  auto found = tables.find_cluster(name);
  if (!found || found->stop)
    throw Error(Code::not_found, fmt::format("cluster '{}' not found", name))
        .advise("`underway cluster list` tells which there are");
  return found;
}

std::string opportunistic_pools(const model::Cluster& cluster) {
  std::vector<std::string> names;
  for (const auto& pool : cluster.pools) {
    if (model::is_opportunistic(pool)) names.push_back(fmt::format("'{}'", pool.name));
  }
  return names.empty() ? "no pool of the cluster is opportunistic"
                       : fmt::format("opportunistic are {}", join(names, ", "));
}

Error nothing_to_take(const std::string& what, const model::Cluster& cluster) {
  return Error(Code::conflict, fmt::format("{} cannot be taken back", what))
      .because(fmt::format("its pool is none that is taken back at any time; {}", opportunistic_pools(cluster)))
      .advise("for others: `underway host suspend`, or a smaller `size` or `most` of the pool");
}

/// All hosts are of one pool, there, and not on their way.
std::string pool_of_hosts(const tables::Tables& tables, const model::Cluster& cluster,
                          const std::vector<std::string>& hosts) {
  const auto book = tables::find_record<NoticeBook>(tables, cluster.name).value_or(NoticeBook{});
  std::set<std::string> pools;
  for (const auto& name : hosts) {
    const auto host = tables.find_host(cluster.name, name);
    if (!host)
      throw Error(Code::not_found, fmt::format("cluster '{}' has no host '{}'", cluster.name, name))
          .advise("`underway host list` lists them");
    const auto* pool = cluster.find_pool(host->pool);
    if (pool == nullptr || !model::is_opportunistic(*pool))
      throw nothing_to_take(fmt::format("host '{}'", name), cluster);
    if (book.find_host(name) != nullptr)
      throw Error(Code::conflict, fmt::format("host '{}' is being taken back already", name))
          .advise("`underway elastic status` says until when");
    pools.insert(host->pool);
  }
  if (pools.size() > 1)
    throw Error(Code::invalid, "these hosts are of several pools")
        .because(join(std::vector<std::string>(pools.begin(), pools.end()), ", "))
        .advise("recall those of each pool by themselves");
  return *pools.begin();
}

std::string only_pool(const model::Cluster& cluster) {
  std::vector<std::string> names;
  for (const auto& pool : cluster.pools) {
    if (model::is_opportunistic(pool)) names.push_back(pool.name);
  }
  if (names.size() != 1)
    throw Error(Code::invalid, "of which pool are hosts to be taken back?").because(opportunistic_pools(cluster));
  return names.front();
}

void check_count(const model::Cluster& cluster, const std::string& name, std::int64_t count) {
  const auto* pool = cluster.find_pool(name);
  if (pool == nullptr)
    throw Error(Code::not_found, fmt::format("cluster '{}' has no pool '{}'", cluster.name, name))
        .because(opportunistic_pools(cluster));
  if (!model::is_opportunistic(*pool)) throw nothing_to_take(fmt::format("of pool '{}' nothing", name), cluster);
  if (count < 1 || count > kMostHosts)
    throw Error(Code::invalid, fmt::format("{} hosts cannot be taken back; from 1 to {}", count, kMostHosts));
}

}  // namespace

server::Decision<Recall> decide(const tables::Tables& tables, const RecallHosts& request,
                                const server::Context& context) {
  const auto cluster = get_cluster(tables, request.cluster);
  Recall recall{.cluster = cluster->name, .why = request.why, .for_host = request.for_host};
  const std::set<std::string> hosts(request.hosts.begin(), request.hosts.end());
  recall.hosts.assign(hosts.begin(), hosts.end());
  recall.asked_at = unix_nanos(context.now);
  if (!recall.hosts.empty()) {
    recall.pool = pool_of_hosts(tables, *cluster, recall.hosts);
    recall.count = static_cast<std::int64_t>(recall.hosts.size());
    if (!request.pool.empty() && request.pool != recall.pool)
      throw Error(Code::invalid, fmt::format("host '{}' is of pool '{}', and not of '{}'", recall.hosts[0], recall.pool,
                                             request.pool));
  } else {
    recall.pool = request.pool.empty() ? only_pool(*cluster) : request.pool;
    recall.count = request.count;
    check_count(*cluster, recall.pool, recall.count);
  }
  const auto others = tables::records<Recall>(tables, cluster->name + "/");
  if (others.size() >= kMostRecalls)
    throw Error(Code::exhausted, fmt::format("{} recalls are in force in cluster '{}'", others.size(), cluster->name))
        .advise("`underway host recall -end` ends those that are over");
  for (const auto& other : others) recall.number = std::max(recall.number, other.number);
  ++recall.number;
  server::Decision<Recall> decision;
  decision.changes.push_back(tables::put_record(recall));
  decision.result = std::move(recall);
  return decision;
}

server::Decision<std::vector<Recall>> decide(const tables::Tables& tables, const EndRecalls& request,
                                             const server::Context&) {
  server::Decision<std::vector<Recall>> decision;
  for (auto& recall : tables::records<Recall>(tables, request.cluster + "/")) {
    const bool meant = request.number != 0
                           ? recall.number == request.number
                           : recall.for_host.empty() && (request.pool.empty() || recall.pool == request.pool);
    if (!meant) continue;
    decision.changes.push_back(tables::delete_record<Recall>(tables::RecordOf<Recall>::name(recall)));
    decision.result.push_back(std::move(recall));
  }
  if (decision.result.empty())
    throw Error(Code::not_found, request.number != 0 ? fmt::format("there is no recall {}", request.number)
                                                     : std::string("no recall is in force"))
        .advise("`underway elastic status` says which there are");
  return decision;
}

}  // namespace underway::growth
