#include "growth/detail/views.hpp"

#include "base/text.hpp"
#include "slurm/elastic/members.hpp"

namespace underway::growth::detail {

using elastic::BootResult;
using elastic::NodePhase;
using elastic::NodeView;
using model::HostStatus;

namespace {

struct NodeJobs {
  std::vector<std::string> ids;
  std::int64_t memory_mb = 0;
  TimePoint ends{};
  bool endless = false;  ///< nobody knows when one of them ends
};

std::map<std::string, NodeJobs> jobs_by_node(const std::vector<slurm::QueuedJob>& queue) {
  std::map<std::string, NodeJobs> out;
  for (const auto& job : queue) {
    for (const auto& name : job.nodes) {
      auto& jobs = out[name];
      jobs.ids.push_back(job.id);
      jobs.memory_mb += job.memory_mb;
      jobs.ends = std::max(jobs.ends, job.ends);
      jobs.endless = jobs.endless || job.ends == TimePoint{};
    }
  }
  return out;
}

class Looking {
 public:
  Looking(const ClusterFacts& facts, const SlurmLook& slurm, const std::map<std::string, Seen>& before, TimePoint now)
      : before_(before), now_(now), jobs_(jobs_by_node(slurm.queue)) {
    for (const auto& record : slurm.records) records_[record.name] = &record;
    for (const auto& host : facts.hosts) hosts_[host.name] = &host;
  }

  Views run(const ClusterFacts& facts) {
    for (std::size_t i = 0; i < facts.pools.size(); ++i) {
      const auto& pool = facts.pools[i];
      std::set<std::string> wanted(pool.hosts.hosts.begin(), pool.hosts.hosts.end());
      std::set<std::string> names = wanted;
      for (const auto& host : facts.hosts) {
        if (host.pool == pool.type.name) names.insert(host.name);
      }
      for (const auto& name : names) look_at(pool, i, name, wanted.contains(name));
    }
    return std::move(out_);
  }

 private:
  void look_at(const PoolFacts& pool, std::size_t number, const std::string& name, bool wanted) {
    const auto* host = find(hosts_, name);
    const auto* record = find(records_, name);
    if (host != nullptr) out_.taken.insert(name);
    if (record != nullptr) {
      for (const auto& partition : record->partitions) out_.partitions[pool.type.name].insert(partition);
    }
    if (!wanted && (host == nullptr || host->status == HostStatus::stopped)) {
      out_.settled = out_.settled && host == nullptr;
      return;
    }
    if (wanted && host != nullptr) note_failure(*host, number, asked_at(pool, name, host));
    const auto phase = phase_of(host, record, name, wanted);
    if (!phase) return;
    add(pool, name, *phase, record, asked_at(pool, name, host));
  }

  void note_failure(const HostFacts& host, std::size_t number, TimePoint asked) {
    const bool no_room = has_no_room(host, asked, now_);
    if (host.status == HostStatus::failed)
      out_.not_made.push_back({{host.name, number}, BootResult::failed});
    else if (no_room)
      out_.not_made.push_back({{host.name, number}, BootResult::refused});
  }

  /// Nothing: somebody else holds the node, and it is neither to be counted on nor to be taken away.
  std::optional<NodePhase> phase_of(const HostFacts* host, const slurm::NodeRecord* record, const std::string& name,
                                    bool wanted) const {
    const bool goes = host != nullptr && (host->status == HostStatus::stopping || host->status == HostStatus::stopped);
    if (!wanted) return NodePhase::draining;
    if (host != nullptr && host->asleep && !goes) return NodePhase::asleep;
    if (goes || host == nullptr || !host->admitted || record == nullptr) return NodePhase::booting;
    if (record->draining() && !slurm::held_by_us(*record)) return std::nullopt;
    const bool up = record->responds() && !record->draining() &&
                    (record->state == "IDLE" || record->state == "MIXED" || record->state == "ALLOCATED");
    if (!up) return NodePhase::booting;
    return record->empty() && !jobs_.contains(name) ? NodePhase::idle : NodePhase::busy;
  }

  void add(const PoolFacts& pool, const std::string& name, NodePhase phase, const slurm::NodeRecord* record,
           TimePoint asked) {
    NodeView view{.name = name, .class_name = pool.type.name, .phase = phase};
    const auto known = before_.find(name);
    const bool same = known != before_.end() && known->second.phase == phase;
    view.since = same ? known->second.since : now_;
    // A server that was started again does not wait for a boot anew.
    if (known == before_.end() && phase == NodePhase::booting) view.since = asked;
    view.booted = asked;
    if (const auto gang = pool.hosts.gangs.find(name); gang != pool.hosts.gangs.end()) view.gang = gang->second;
    view.cpus_free = pool.type.vcpus;
    view.memory_free_mb = pool.type.memory_mb;
    if (record != nullptr && phase == NodePhase::busy)
      view.cpus_free = std::max<std::int64_t>(record->cpus - record->cpus_given, 0);
    if (const auto* jobs = find_jobs(name)) {
      view.jobs = jobs->ids;
      view.memory_free_mb = std::max<std::int64_t>(view.memory_free_mb - jobs->memory_mb, 0);
      if (!jobs->endless) view.free_at = jobs->ends;
    }
    out_.settled = out_.settled && (phase == NodePhase::idle || phase == NodePhase::busy || phase == NodePhase::asleep);
    out_.nodes.push_back(std::move(view));
  }

  TimePoint asked_at(const PoolFacts& pool, const std::string& name, const HostFacts* host) const {
    if (const auto at = pool.hosts.asked_at.find(name); at != pool.hosts.asked_at.end())
      return from_unix_nanos(at->second);
    return host != nullptr ? from_unix_nanos(host->created_at) : now_;
  }

  template <class T>
  static const T* find(const std::map<std::string, const T*>& all, const std::string& name) {
    const auto at = all.find(name);
    return at == all.end() ? nullptr : at->second;
  }
  const NodeJobs* find_jobs(const std::string& name) const {
    const auto at = jobs_.find(name);
    return at == jobs_.end() ? nullptr : &at->second;
  }

  const std::map<std::string, Seen>& before_;
  TimePoint now_;
  std::map<std::string, NodeJobs> jobs_;
  std::map<std::string, const slurm::NodeRecord*> records_;
  std::map<std::string, const HostFacts*> hosts_;
  Views out_;
};

}  // namespace

const NodeView* Views::find(const std::string& name) const {
  const auto at = std::find_if(nodes.begin(), nodes.end(), [&](const NodeView& node) { return node.name == name; });
  return at == nodes.end() ? nullptr : &*at;
}

Views views_of(const ClusterFacts& facts, const SlurmLook& slurm, const std::map<std::string, Seen>& before,
               TimePoint now) {
  return Looking(facts, slurm, before, now).run(facts);
}

PoolStatus status_of(const elastic::PoolClass& type, const std::vector<NodeView>& nodes, const elastic::State& state,
                     TimePoint now) {
  PoolStatus out{.pool = type.name, .asked_by = type.asked_by, .always = type.min_nodes, .most = type.max_nodes};
  std::int64_t all = 0;
  for (const auto& node : nodes) {
    if (node.class_name != type.name) continue;
    ++all;
    switch (node.phase) {
      case NodePhase::booting:
        ++out.booting;
        break;
      case NodePhase::idle:
        ++out.idle;
        break;
      case NodePhase::busy:
        ++out.busy;
        break;
      case NodePhase::draining:
        ++out.leaving;
        break;
      case NodePhase::asleep:
        ++out.asleep;
        break;
    }
  }
  if (type.hourly() > 0) out.cost_per_hour = elastic::format_money(type.hourly() * all);
  const auto known = state.classes.find(type.name);
  if (known == state.classes.end() || type.asked_by == model::AskedBy::slurm) return out;
  const auto& it = known->second;
  out.failed_boots = it.failed_boots;
  const auto nanos = unix_nanos(now);
  if (it.breaker != elastic::BreakerState::closed)
    out.trouble = fmt::format("{} of its hosts did not come up, so it is left alone for a while", it.failures.size());
  else if (it.backoff_until > nanos)
    out.trouble = fmt::format("its provider has refused {} time{} in a row; it is asked again in {}", it.refusals,
                              it.refusals == 1 ? "" : "s", human_duration(Duration{it.backoff_until - nanos}));
  return out;
}

}  // namespace underway::growth::detail
