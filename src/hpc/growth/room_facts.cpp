// Room for urgent work: what the tables have of it, and how a decision gets there.
#include "growth/room.hpp"
#include "host/virtual/sleep.hpp"
#include "model/elastic/promised.hpp"
#include "scheduler/fleet/fleet.hpp"
#include "tables/recalls.hpp"

namespace underway::growth {
namespace {

using model::HostStatus;

/// Nodes that machines of the cluster's pools can be on.
std::vector<RoomNode> nodes_of(const tables::Tables& tables, const model::Cluster& cluster) {
  std::set<std::string> pools;
  for (const auto& pool : cluster.pools) {
    if (pool.machine) pools.insert(pool.machine->on);
  }
  std::vector<RoomNode> out;
  for (const auto& node : tables.nodes()) {
    if (!pools.contains(node->node_pool) || !node->ready()) continue;
    const auto has = scheduler::capacity_of(*node);
    RoomNode room{node->id, node->name, has.cpu, has.memory_mb};
    for (const auto& allocation : tables.allocations_on_node(node->id)) {
      if (allocation->terminal()) continue;
      const auto holds = scheduler::amount_of(*allocation);
      room.cpu_free -= holds.cpu;
      room.memory_free_mb -= holds.memory_mb;
    }
    out.push_back(std::move(room));
  }
  return out;
}

/// Of pools whose machines may not be everywhere.
std::map<std::string, scheduler::Bounds> bounds_of_pools(const tables::Tables& tables, const model::Cluster& cluster,
                                                         const std::vector<RoomNode>& nodes) {
  std::vector<tables::Row<model::Node>> rows;
  for (const auto& node : nodes) {
    if (auto row = tables.find_node(node.id)) rows.push_back(std::move(row));
  }
  std::map<std::string, scheduler::Bounds> out;
  for (const auto& pool : cluster.pools) {
    const auto job = pool.machine && pool.elastic
                         ? tables.find_job(model::kDefaultNamespace, model::pool_job_id(cluster.name, pool.name))
                         : nullptr;
    if (!job || job->groups.empty()) continue;
    auto bounds = scheduler::bounds_of(tables, job, job->groups.front(), rows);
    for (const auto& row : rows) {
      if (row->node_pool != job->node_pool) bounds.bar(row->id, "it is in another node pool");
    }
    if (!bounds.empty()) out.emplace(pool.name, std::move(bounds));
  }
  return out;
}

std::optional<YieldingHost> yielding(const tables::Tables& tables, const model::Pool& pool, const model::Host& host) {
  const auto machine = host::machine_of(tables, host);
  if (host.status != HostStatus::running || !machine) return std::nullopt;
  model::Allocation awake = *machine;
  awake.sleep.reset();
  const auto holds = scheduler::amount_of(awake);
  YieldingHost out{.name = host.name, .node = machine->node_id, .cpu = holds.cpu, .memory_mb = holds.memory_mb};
  out.vcpus = pool.cpus;
  out.pool = pool.name;
  out.to_sleep = !host.sleep.empty();
  out.asleep = host.asleep;
  out.ours = host.sleep.starts_with(kMakesRoom);
  out.moves = host.sleeps_to_move || machine->awaits_machines() || host::move_of(tables, host).has_value();
  out.stayed = machine->sleep && machine->sleep->wanted && !machine->sleep->trouble.empty();
  return out;
}

std::optional<UrgentHost> urgent(const tables::Tables& tables, const model::Host& host, TimePoint now,
                                 Duration patience) {
  if (host.status != HostStatus::creating || now - from_unix_nanos(host.created_at) < patience) return std::nullopt;
  const auto job = tables.find_job(model::kDefaultNamespace, model::pool_job_id(host.cluster, host.pool));
  const auto* group = job ? job->find_group(host.name) : nullptr;
  if (group == nullptr || host::machine_of(tables, host)) return std::nullopt;
  const auto needs = group->total_resources();
  return UrgentHost{host.name, host.pool, needs.cpu, needs.memory_mb};
}

}  // namespace

namespace {

/// A host that is taken back: whose room is its machine's until that is gone.
OpportunisticHost opportunistic(const model::Host& host, const model::Allocation& machine,
                                const std::vector<model::Recall>& recalls, const NoticeBook& notices) {
  const auto holds = scheduler::amount_of(machine);
  OpportunisticHost out{host.name, host.pool, machine.node_id, holds.cpu, holds.memory_mb};
  out.goes = host.status == HostStatus::stopping || notices.find_host(host.name) != nullptr;
  for (const auto& recall : recalls) {
    const bool named = std::find(recall.hosts.begin(), recall.hosts.end(), host.name) != recall.hosts.end();
    const bool stays =
        std::any_of(recall.stays.begin(), recall.stays.end(), [&](const auto& it) { return it.host == host.name; });
    out.goes = out.goes || (named && !recall.decided());
    out.stays = out.stays || (stays && !recall.for_host.empty());
  }
  return out;
}

}  // namespace

RoomFacts room_facts(const tables::Tables& tables, const model::Cluster& cluster, TimePoint now, Duration patience) {
  RoomFacts out{.cluster = cluster.name};
  if (cluster.elastic) out.promises = cluster.elastic->promises;
  const auto recalls = tables::records<model::Recall>(tables, cluster.name + "/");
  const auto notices = tables::find_record<NoticeBook>(tables, cluster.name).value_or(NoticeBook{});
  for (const auto& recall : recalls) {
    const auto urgent = recall.for_host.empty() ? nullptr : tables.find_host(cluster.name, recall.for_host);
    const bool there = urgent && urgent->status != HostStatus::stopping && urgent->status != HostStatus::stopped;
    if (!recall.for_host.empty() && !there) out.over.push_back(recall.number);
  }
  for (const auto& host : tables.hosts(cluster.name)) {
    const auto* pool = cluster.find_pool(host->pool);
    if (pool == nullptr || !pool->elastic || host->provider != "qemu") continue;
    if (pool->elastic->opportunistic) {
      if (const auto machine = host::machine_of(tables, *host))
        out.opportunistic.push_back(opportunistic(*host, *machine, recalls, notices));
    } else if (pool->elastic->yields) {
      if (auto found = yielding(tables, *pool, *host)) out.yielding.push_back(*std::move(found));
    } else if (pool->elastic->urgent) {
      if (auto found = urgent(tables, *host, now, patience)) out.urgent.push_back(*std::move(found));
    }
  }
  if (out.any()) out.nodes = nodes_of(tables, cluster);
  if (out.any()) out.bounds = bounds_of_pools(tables, cluster, out.nodes);
  out.book = tables::find_record<SleepBook>(tables, cluster.name).value_or(SleepBook{cluster.name, {}});
  return out;
}

namespace {

/// What of a node is for those who were promised it: all but what is held by whatever makes way for nobody.
RoomNode room_for_promised(const tables::Tables& tables, const model::Node& node, const std::set<std::string>& owned,
                           const std::set<std::string>& way) {
  const auto has = scheduler::capacity_of(node);
  RoomNode out{node.id, node.name, has.cpu, has.memory_mb};
  for (const auto& allocation : tables.allocations_on_node(node.id)) {
    if (allocation->terminal() || owned.contains(allocation->job_id) || way.contains(allocation->job_id)) continue;
    const auto holds = scheduler::amount_of(*allocation);
    out.cpu_free -= holds.cpu;
    out.memory_free_mb -= holds.memory_mb;
  }
  return out;
}

/// As many as the scheduler would find a place for, the largest first.
std::int64_t placed(std::vector<model::PromisedHosts> promised, std::vector<RoomNode>& nodes) {
  std::sort(promised.begin(), promised.end(), [](const auto& a, const auto& b) {
    return std::tie(a.size.memory_mb, a.size.cpu) > std::tie(b.size.memory_mb, b.size.cpu);
  });
  std::int64_t out = 0;
  for (const auto& one : promised) {
    auto left = one.count;
    for (auto& node : nodes) {
      while (left > 0 && node.cpu_free >= one.size.cpu && node.memory_free_mb >= one.size.memory_mb) {
        node.cpu_free -= one.size.cpu;
        node.memory_free_mb -= one.size.memory_mb;
        --left;
      }
    }
    out += one.count - left;
  }
  return out;
}

}  // namespace

std::vector<std::string> promises_without_room(const tables::Tables& tables, const model::Cluster& cluster) {
  std::map<std::string, std::vector<model::PromisedHosts>> by_holder;
  std::set<std::string> owned, way;
  for (auto& one : model::promised_hosts(cluster)) {
    // Those that are always there hold what they hold.
    if (!one.sold) continue;
    owned.insert(model::pool_job_id(cluster.name, one.pool));
    by_holder[one.on].push_back(std::move(one));
  }
  if (by_holder.empty()) return {};
  for (const auto& pool : cluster.pools) {
    if (pool.elastic && (pool.elastic->yields || pool.elastic->opportunistic))
      way.insert(model::pool_job_id(cluster.name, pool.name));
  }
  std::vector<std::string> out;
  for (const auto& [on, promised] : by_holder) {
    std::vector<RoomNode> nodes;
    for (const auto& node : tables.nodes()) {
      if (node->node_pool == on && node->datacenter == cluster.datacenter && node->ready())
        nodes.push_back(room_for_promised(tables, *node, owned, way));
    }
    std::int64_t wanted = 0;
    for (const auto& one : promised) wanted += one.count;
    const auto count = nodes.size();
    const auto room = placed(promised, nodes);
    if (room < wanted)
      out.push_back(fmt::format("owners are promised {}, and {} node{} of '{}' {} room for {}, whoever sleeps",
                                model::sold_text(promised), count, count == 1 ? "" : "s", on,
                                count == 1 ? "has" : "have", room));
  }
  return out;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteSleeps& request,
                                         const server::Context&) {
  server::Decision<server::Nothing> decision;
  const auto written = tables::find_record<SleepBook>(tables, request.book.cluster);
  const bool same = written ? describe::equal(*written, request.book) : request.book.sleeps.empty();
  if (!same) decision.changes.push_back(tables::put_record(request.book));
  return decision;
}

const describe::Structure& description(describe::Tag<SleepBook>) {
  static const describe::Structure s =
      describe::Builder<SleepBook>("sleep book", "Which hosts of a cluster slept for which, and when.")
          .wire<&SleepBook::cluster>("Cluster", "The cluster.")
          .wire<&SleepBook::sleeps>("Sleeps", "Of each host that there is, its sleeps.")
          .done();
  return s;
}

}  // namespace underway::growth
