// What the tables have of growth, and what is written down of it.
#include "growth/look.hpp"
#include "growth/notices.hpp"
#include "growth/room.hpp"
#include "tables/recalls.hpp"
#include "tables/slurm_members.hpp"

namespace underway::growth {

using model::PoolHosts;

namespace {

elastic::PoolClass class_of(const model::Pool& pool) {
  elastic::PoolClass out;
  static_cast<model::PoolElastic&>(out) = *pool.elastic;
  out.name = pool.name;
  out.vcpus = pool.cpus;
  out.memory_mb = pool.memory_mb;
  out.min_nodes = pool.size;
  out.max_nodes = std::max(pool.size, pool.slurm ? pool.slurm->most : 0);
  if (pool.slurm) out.features = pool.slurm->features;
  if (!pool.node_class.empty()) out.features.push_back(pool.node_class);
  out.features.push_back(pool.name);
  return out;
}

const model::Pool* growing_pool(const model::Cluster& cluster, const std::string& name) {
  const auto* pool = cluster.stop ? nullptr : cluster.find_pool(name);
  return pool != nullptr && pool->elastic ? pool : nullptr;
}

HostFacts host_facts(const tables::Tables& tables, const model::Host& host) {
  HostFacts out{.name = host.name, .pool = host.pool, .status = host.status, .created_at = host.created_at};
  out.placed = host.provider != "qemu" || !host.machine_node.empty();
  const auto member = tables::find_record<model::SlurmMember>(tables, host.cluster + "/" + host.name);
  out.admitted = member && member->status == model::SlurmMembership::admitted;
  out.sleeps = host.asleep;
  out.asleep = host.asleep || !host.sleep.empty() || (member && member->status == model::SlurmMembership::resting);
  return out;
}

/// Room that there is again is for those who sleep: no others are made in their stead. And who waits for somebody to
/// fall asleep waits for room that is about to be there.
void mind_sleepers(ClusterFacts& facts) {
  bool falls_asleep = false;
  for (auto& pool : facts.pools) {
    std::int64_t asleep = 0;
    for (const auto& host : facts.hosts) {
      if (host.pool != pool.type.name || !host.asleep) continue;
      ++asleep;
      falls_asleep = falls_asleep || (pool.type.yields && !host.sleeps);
    }
    if (asleep == 0) continue;
    pool.type.max_nodes = static_cast<std::int64_t>(pool.hosts.hosts.size()) - asleep;
    // They are of those that are always there: who has come in addition goes, and its room may be theirs.
    pool.type.min_nodes = std::max<std::int64_t>(std::min(pool.type.min_nodes - asleep, pool.type.max_nodes), 0);
  }
  if (!falls_asleep) return;
  for (auto& host : facts.hosts) {
    const auto pool = std::find_if(facts.pools.begin(), facts.pools.end(),
                                   [&](const PoolFacts& it) { return it.type.name == host.pool; });
    host.room_comes = pool != facts.pools.end() && pool->type.urgent;
  }
}

/// A pool from which hosts were taken back has no more than were left to it, and one that is asked for some makes none.
/// And who waits for somebody to go waits for room that is about to be there.
void mind_recalls(ClusterFacts& facts) {
  for (auto& pool : facts.pools) {
    for (const auto& recall : facts.recalls) {
      if (recall.pool != pool.type.name) continue;
      const auto has = static_cast<std::int64_t>(pool.hosts.hosts.size());
      pool.type.max_nodes = std::min(pool.type.max_nodes, recall.decided() ? recall.ceiling : has);
    }
    pool.type.min_nodes = std::min(pool.type.min_nodes, pool.type.max_nodes);
  }
  for (auto& host : facts.hosts) {
    host.room_comes = host.room_comes || std::any_of(facts.recalls.begin(), facts.recalls.end(), [&](const auto& it) {
                        return it.for_host == host.name && (!it.decided() || !it.goes.empty());
                      });
    const auto pool = std::find_if(facts.pools.begin(), facts.pools.end(),
                                   [&](const PoolFacts& it) { return it.type.name == host.pool; });
    facts.room_lacks = facts.room_lacks || (pool != facts.pools.end() && pool->type.urgent && !host.placed);
  }
}

}  // namespace

bool has_no_room(const HostFacts& host, TimePoint asked, TimePoint now) {
  constexpr Duration kSoon = std::chrono::seconds(15);  // a provider may be about to have some
  return host.status == model::HostStatus::creating && !host.placed && !host.room_comes && now - asked >= kSoon;
}

ClusterFacts facts_of(const tables::Tables& tables, const model::Cluster& cluster) {
  ClusterFacts out{.name = cluster.name};
  if (cluster.elastic) out.policy = *cluster.elastic;
  for (const auto& pool : cluster.pools) {
    if (!pool.elastic) continue;
    PoolFacts facts{.type = class_of(pool), .all_names = pool.all_host_names()};
    const auto known = tables::find_record<PoolHosts>(tables, cluster.name + "/" + pool.name);
    facts.hosts = known.value_or(PoolHosts{.cluster = cluster.name, .pool = pool.name});
    facts.hosts.hosts = model::hosts_to_have(pool, known);
    if (facts.by_slurm()) {
      for (auto& name : pool.host_names()) facts.always.insert(std::move(name));
    }
    out.pools.push_back(std::move(facts));
  }
  for (const auto& host : tables.hosts(cluster.name)) {
    if (growing_pool(cluster, host->pool) != nullptr) out.hosts.push_back(host_facts(tables, *host));
  }
  out.recalls = tables::records<model::Recall>(tables, cluster.name + "/");
  out.notices = tables::find_record<NoticeBook>(tables, cluster.name).value_or(NoticeBook{.cluster = cluster.name});
  mind_sleepers(out);
  mind_recalls(out);
  out.trial = tables::find_record<ForecastTrial>(tables, cluster.name);
  out.memory = tables::find_record<Memory>(tables, cluster.name).value_or(Memory{.cluster = cluster.name});
  return out;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteGrowth& request,
                                         const server::Context& context) {
  server::Decision<server::Nothing> decision;
  const auto cluster = tables.find_cluster(request.cluster);
  if (!cluster || cluster->stop) return decision;
  for (const auto& hosts : request.pools) {
    // It was declared otherwise while this was thought about: the next look sees that.
    const auto* pool = growing_pool(*cluster, hosts.pool);
    if (pool == nullptr || model::asked_by_slurm(*pool)) continue;
    decision.changes.push_back(tables::put_record(hosts));
  }
  for (const auto& recall : request.recalls) {
    const auto current = tables::find_record<model::Recall>(tables, tables::RecordOf<model::Recall>::name(recall));
    // One that was ended meanwhile: whoever goes, goes.
    if (current && !current->decided()) decision.changes.push_back(tables::put_record(recall));
  }
  if (!request.notices.cluster.empty()) put_notices(decision.changes, tables, request.notices);
  const auto written = tables::find_record<Memory>(tables, request.cluster);
  if (written && decision.changes.empty() && !worth_writing(*written, request.memory)) return decision;
  auto memory = request.memory;
  memory.written_at = unix_nanos(context.now);
  decision.changes.push_back(tables::put_record(memory));
  return decision;
}

namespace {

struct Leftovers {
  std::vector<std::string> hosts, memories, sleeps, notices, recalls, trials;  ///< names of their records

  bool any() const {
    return !hosts.empty() || !memories.empty() || !sleeps.empty() || !notices.empty() || !recalls.empty() ||
           !trials.empty();
  }
};

Leftovers leftovers_of(const tables::Tables& tables) {
  Leftovers out;
  for (const auto& hosts : tables::records<PoolHosts>(tables)) {
    const auto cluster = tables.find_cluster(hosts.cluster);
    if (!cluster || (!cluster->stop && growing_pool(*cluster, hosts.pool) == nullptr))
      out.hosts.push_back(tables::RecordOf<PoolHosts>::name(hosts));
  }
  for (const auto& memory : tables::records<Memory>(tables)) {
    if (!tables.find_cluster(memory.cluster)) out.memories.push_back(memory.cluster);
  }
  for (const auto& book : tables::records<SleepBook>(tables)) {
    if (!tables.find_cluster(book.cluster)) out.sleeps.push_back(book.cluster);
  }
  for (const auto& book : tables::records<NoticeBook>(tables)) {
    if (!tables.find_cluster(book.cluster)) out.notices.push_back(book.cluster);
  }
  for (const auto& recall : tables::records<model::Recall>(tables)) {
    const auto cluster = tables.find_cluster(recall.cluster);
    const auto* pool = cluster ? cluster->find_pool(recall.pool) : nullptr;
    if (pool == nullptr || !model::is_opportunistic(*pool))
      out.recalls.push_back(tables::RecordOf<model::Recall>::name(recall));
  }
  for (const auto& trial : tables::records<ForecastTrial>(tables)) {
    const auto cluster = tables.find_cluster(trial.cluster);
    if (!cluster || (!cluster->stop && !is_forecast(*cluster))) out.trials.push_back(trial.cluster);
  }
  return out;
}

}  // namespace

bool anything_to_forget(const tables::Tables& tables) { return leftovers_of(tables).any(); }

server::Decision<server::Nothing> decide(const tables::Tables& tables, const ForgetGrowth&, const server::Context&) {
  server::Decision<server::Nothing> decision;
  const auto left = leftovers_of(tables);
  for (const auto& name : left.hosts) decision.changes.push_back(tables::delete_record<PoolHosts>(name));
  for (const auto& name : left.memories) decision.changes.push_back(tables::delete_record<Memory>(name));
  for (const auto& name : left.sleeps) decision.changes.push_back(tables::delete_record<SleepBook>(name));
  for (const auto& name : left.notices) decision.changes.push_back(tables::delete_record<NoticeBook>(name));
  for (const auto& name : left.recalls) decision.changes.push_back(tables::delete_record<model::Recall>(name));
  for (const auto& name : left.trials) decision.changes.push_back(tables::delete_record<ForecastTrial>(name));
  return decision;
}

}  // namespace underway::growth
