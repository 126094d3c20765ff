#include "growth/asked.hpp"

#include <set>

#include "base/text.hpp"
#include "slurm/hostlist.hpp"

namespace underway::growth {

using model::HostStatus;
using model::PoolHosts;
using model::SlurmAnswer;

namespace {

/// The hosts that the pools of a cluster which Slurm asks for are to have.
class AskedPools {
 public:
  AskedPools(const tables::Tables& tables, const model::Cluster& cluster) {
    for (const auto& pool : cluster.pools) {
      for (auto& name : pool.all_host_names()) known_.insert(std::move(name));
      if (!model::asked_by_slurm(pool)) continue;
      Asked asked;
      const auto record = tables::find_record<PoolHosts>(tables, cluster.name + "/" + pool.name);
      asked.before = record.value_or(PoolHosts{.cluster = cluster.name, .pool = pool.name});
      asked.before.hosts = model::hosts_to_have(pool, record);
      asked.now = asked.before;
      for (const auto& name : pool.host_names()) always_.insert(name);
      for (const auto& name : pool.all_host_names()) of_pool_[name] = pools_.size();
      pools_.push_back(std::move(asked));
    }
  }

  bool any() const { return !pools_.empty(); }
  bool knows(const std::string& host) const { return known_.contains(host); }
  /// Whether Slurm has a say in it.
  bool has_say(const std::string& host) const { return of_pool_.contains(host) && !always_.contains(host); }
  bool has(const std::string& host) const {
    const auto& hosts = pools_.at(of_pool_.at(host)).now.hosts;
    return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
  }
  std::int64_t asked_at(const std::string& host) const {
    const auto& all = pools_.at(of_pool_.at(host)).now.asked_at;
    const auto at = all.find(host);
    return at == all.end() ? 0 : at->second;
  }

  void add(const std::string& host, const std::string& gang, TimePoint now) {
    auto& hosts = pools_.at(of_pool_.at(host)).now;
    if (!has(host)) hosts.hosts.push_back(host);
    // Asked for again it boots again, and has as long for it.
    hosts.asked_at[host] = unix_nanos(now);
    hosts.gangs.erase(host);
    if (!gang.empty()) hosts.gangs[host] = gang;
  }

  void remove(const std::string& host) {
    auto& hosts = pools_.at(of_pool_.at(host)).now;
    std::erase(hosts.hosts, host);
    hosts.asked_at.erase(host);
    hosts.gangs.erase(host);
  }

  void put_into(std::vector<server::Change>& changes) const {
    for (const auto& pool : pools_) {
      const auto& [before, now] = pool;
      if (before.hosts != now.hosts || before.asked_at != now.asked_at || before.gangs != now.gangs)
        changes.push_back(tables::put_record(now));
    }
  }

 private:
  struct Asked {
    PoolHosts before, now;
  };
  std::set<std::string> known_, always_;
  std::map<std::string, std::size_t> of_pool_;
  std::vector<Asked> pools_;
};

void refuse_what_is_no_ask(const AskedBySlurm& request) {
  const auto wrong = model::problems(request.ask);
  if (!wrong.empty()) throw Error(Code::invalid, "that is nothing that Slurm asks for").because(wrong);
}

void refuse_unknown(const AskedPools& pools, const AskedBySlurm& request) {
  std::vector<std::string> unknown;
  for (const auto& name : request.ask.nodes) {
    if (!pools.knows(name)) unknown.push_back(name);
  }
  if (unknown.empty()) return;
  throw Error(Code::invalid, fmt::format("cluster '{}' has no host {}", request.cluster, slurm::fold_hosts(unknown)))
      .because("Slurm asks for nodes of pools by the names of their hosts; nothing was done")
      .advise("compare slurm.conf with the pools of the cluster: `underway apply` renders its lines from them");
}

/// By host: the job of several nodes that it is made for.
std::map<std::string, std::string> gangs_of(const model::SlurmAsk& ask) {
  std::map<std::string, std::string> out;
  for (const auto& job : ask.jobs) {
    if (job.nodes.size() < 2) continue;
    for (const auto& name : job.nodes) out.try_emplace(name, std::to_string(job.id));
  }
  return out;
}

}  // namespace

server::Decision<SlurmAnswer> decide(const tables::Tables& tables, const AskedBySlurm& request,
                                     const server::Context& context) {
  refuse_what_is_no_ask(request);
  const auto cluster = tables.find_cluster(request.cluster);
  if (!cluster || cluster->stop)
    throw Error(Code::not_found, fmt::format("cluster '{}' not found", request.cluster))
        .advise("`underway cluster list` tells which there are");
  AskedPools pools(tables, *cluster);
  if (!pools.any())
    throw Error(Code::conflict, fmt::format("Slurm does not ask for hosts of cluster '{}'", request.cluster))
        .because("none of its pools has elastic { asked_by = \"slurm\" }")
        .advise("say so of a pool, or take Slurm's programs out of slurm.conf");
  refuse_unknown(pools, request);
  server::Decision<SlurmAnswer> decision;
  auto& answer = decision.result;
  const auto gangs = gangs_of(request.ask);
  for (const auto& name : std::set<std::string>(request.ask.nodes.begin(), request.ask.nodes.end())) {
    if (!pools.has_say(name)) {
      answer.left_alone.push_back(name);
    } else if (request.program == SlurmProgram::resume) {
      const auto gang = gangs.find(name);
      pools.add(name, gang == gangs.end() ? "" : gang->second, context.now);
      answer.asked_for.push_back(name);
    } else {
      pools.remove(name);
      answer.given_back.push_back(name);
    }
  }
  pools.put_into(decision.changes);
  return decision;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const PutAsked& request,
                                         const server::Context& context) {
  server::Decision<server::Nothing> decision;
  const auto cluster = tables.find_cluster(request.cluster);
  if (!cluster || cluster->stop) return decision;
  AskedPools pools(tables, *cluster);
  for (const auto& name : request.wanted) {
    if (pools.has_say(name) && !pools.has(name)) pools.add(name, "", context.now);
  }
  for (const auto& [name, at] : request.not_wanted) {
    if (pools.has_say(name) && pools.asked_at(name) == at) pools.remove(name);
  }
  pools.put_into(decision.changes);
  return decision;
}

namespace {

class AskedLook {
 public:
  AskedLook(const ClusterFacts& facts, const SlurmLook& slurm, TimePoint now) : facts_(facts), now_(now) {
    for (const auto& record : slurm.records) records_[record.name] = &record;
    for (const auto& host : facts.hosts) hosts_[host.name] = &host;
  }

  AskedOutlook run() {
    out_.put.cluster = facts_.name;
    for (const auto& pool : facts_.pools) {
      if (!pool.by_slurm()) continue;
      const std::set<std::string> have(pool.hosts.hosts.begin(), pool.hosts.hosts.end());
      for (const auto& name : pool.all_names) {
        if (pool.always.contains(name)) continue;
        have.contains(name) ? look_at_one_that_is_there(pool, name) : look_at_one_that_is_not(name);
      }
    }
    return std::move(out_);
  }

 private:
  const slurm::NodeRecord* record_of(const std::string& name) const {
    const auto at = records_.find(name);
    return at == records_.end() ? nullptr : at->second;
  }

  /// A resume that nobody brought us, or a suspend that came after the resume which followed it.
  void look_at_one_that_is_not(const std::string& name) {
    const auto* record = record_of(name);
    if (record == nullptr || record->powered_down() || record->draining() || record->state == "DOWN") return;
    if (record->powering_up() || record->state == "IDLE" || !record->empty()) out_.put.wanted.push_back(name);
  }

  void look_at_one_that_is_there(const PoolFacts& pool, const std::string& name) {
    const auto at = pool.hosts.asked_at.find(name);
    const auto asked = at == pool.hosts.asked_at.end() ? 0 : at->second;
    const auto* record = record_of(name);
    // A suspend that nobody brought us.
    if (record != nullptr && record->powered_down() && record->empty()) return give_back(name, asked);
    const auto why = why_not_made(pool, name, record, from_unix_nanos(asked));
    if (why.empty()) return;
    ++out_.failed_boots;
    if (record != nullptr && record->state != "DOWN") out_.failed[name] = why;
    give_back(name, asked);
  }

  std::string why_not_made(const PoolFacts& pool, const std::string& name, const slurm::NodeRecord* record,
                           TimePoint asked) const {
    const auto found = hosts_.find(name);
    const auto* host = found == hosts_.end() ? nullptr : found->second;
    if (host != nullptr && host->status == HostStatus::failed) return "its host could not be made";
    if (host != nullptr && has_no_room(*host, asked, now_)) return "no node has room for it";
    // One that has been up and does not answer is Slurm's to judge (SlurmdTimeout).
    const bool boots = record == nullptr || record->powering_up();
    if (boots && now_ - asked >= pool.type.boot_timeout)
      return fmt::format("it was not there within {}", human_duration(pool.type.boot_timeout));
    return {};
  }

  void give_back(const std::string& name, std::int64_t asked) { out_.put.not_wanted[name] = asked; }

  const ClusterFacts& facts_;
  TimePoint now_;
  std::map<std::string, const slurm::NodeRecord*> records_;
  std::map<std::string, const HostFacts*> hosts_;
  AskedOutlook out_;
};

}  // namespace

AskedOutlook look_at_asked(const ClusterFacts& facts, const SlurmLook& slurm, TimePoint now) {
  return AskedLook(facts, slurm, now).run();
}

}  // namespace underway::growth
