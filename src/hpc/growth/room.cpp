#include "growth/room.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "elastic/preemption/resume.hpp"
#include "elastic/preemption/victims.hpp"
#include "growth/detail/groups.hpp"

namespace underway::growth {
namespace {

/// What memory takes to a disk and back, as far as anybody knows beforehand: a disk of a node, one stream.
constexpr std::int64_t kMibPerSecond = 300;

Duration written_in(std::int64_t memory_mb) { return std::chrono::milliseconds(1000 * memory_mb / kMibPerSecond); }

/// Of a host: the Slurm jobs that are on it.
struct HostJobs {
  bool stays = false;  ///< one of them cannot be done again
  Duration lost{};     ///< that they have run for, together
};

std::map<std::string, HostJobs> jobs_by_host(const RoomFacts& facts, const SlurmLook& slurm, TimePoint now) {
  std::map<std::string, const slurm::RedoFacts*> redo;
  for (const auto& known : slurm.redo) redo[known.id] = &known;
  std::map<std::string, HostJobs> out;
  for (const auto& job : slurm.queue) {
    const auto at = redo.find(job.id);
    const auto* known = at == redo.end() ? nullptr : at->second;
    const bool stays = facts.redone.contains(job.id) || !slurm::why_not_redone(job.id, known).empty();
    for (const auto& node : job.nodes) {
      auto& jobs = out[node];
      jobs.stays = jobs.stays || stays;
      if (job.starts != TimePoint{} && job.starts < now) jobs.lost += now - job.starts;
    }
  }
  return out;
}

class MakingRoom {
 public:
  MakingRoom(const RoomFacts& facts, const SlurmLook& slurm, TimePoint now)
      : facts_(facts),
        now_(now),
        jobs_(jobs_by_host(facts, slurm, now)),
        groups_(slurm.queue),
        ledger_(facts.book.sleeps),
        nodes_(facts.nodes),
        bounds_(facts.bounds) {
    // What falls asleep, or goes, is about to be free.
    for (const auto& host : facts.yielding) {
      yielding_[host.name] = &host;
      if (host.to_sleep && !host.asleep) give(host.node, host.cpu, host.memory_mb);
    }
    for (const auto& host : facts.opportunistic) {
      if (host.goes) give(host.node, host.cpu, host.memory_mb);
    }
    out_.over = facts.over;
  }

  Room run() {
    settle_book();
    take_back_wishes();
    // A promise that is over goes before work that is urgent.
    wake(true);
    for (const auto& host : facts_.urgent) place(host);
    if (out_.sleep.empty() && out_.recall.empty() && facts_.urgent.empty()) wake(false);
    out_.book = {facts_.cluster, ledger_.sleeps()};
    tell();
    return std::move(out_);
  }

 private:
  const YieldingHost* find_yielding(const std::string& name) const {
    const auto at = yielding_.find(name);
    return at == yielding_.end() ? nullptr : at->second;
  }
  RoomNode* find_node(const std::string& id) {
    const auto at = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& node) { return node.id == id; });
    return at == nodes_.end() ? nullptr : &*at;
  }
  void give(const std::string& node, std::int64_t cpu, std::int64_t memory_mb) {
    if (auto* found = find_node(node)) {
      found->cpu_free += cpu;
      found->memory_free_mb += memory_mb;
    }
  }

  /// Whether a machine of the pool may come to the node; `from`: which it leaves for it.
  bool may_come(const std::string& pool, const std::string& node, const std::string& from = {}) const {
    const auto bounds = bounds_.find(pool);
    return bounds == bounds_.end() || bounds->second.against(node, from).empty();
  }
  void comes(const std::string& pool, const std::string& node, const std::string& from = {}) {
    if (const auto bounds = bounds_.find(pool); bounds != bounds_.end()) bounds->second.move(from, node);
  }

  /// Of hosts that are awake again, or gone.
  void settle_book() {
    for (const auto& sleep : facts_.book.sleeps) {
      const auto* host = find_yielding(sleep.job);
      if (host == nullptr)
        ledger_.forget(sleep.job);
      else if (sleep.until == 0 && !host->to_sleep && !host->asleep)
        ledger_.wake(sleep.job, now_);
    }
  }

  std::vector<elastic::Sleeper> sleepers() const {
    std::vector<elastic::Sleeper> out;
    for (const auto& host : facts_.yielding) {
      if (!host.asleep || !host.to_sleep || !host.ours || host.moves) continue;
      const auto total = ledger_.total(host.name, now_);
      out.push_back({.job = host.name,
                     .host = host.node,
                     .cpus = host.cpu,
                     .memory_mb = host.memory_mb,
                     .since = now_ - Duration{total.asleep},
                     .asleep = Duration{total.asleep}});
    }
    return out;
  }

  /// Nobody's wish is that it sleeps. One that is unknown here is nobody who could.
  bool is_up(const std::string& name) const {
    const auto* host = find_yielding(name);
    return host == nullptr || (!host->to_sleep && !host->asleep);
  }
  /// Some sleep, or are to, and somebody does not: one could not be put to sleep, or a job that has other hosts came in
  /// the last moment.
  bool is_broken(const std::vector<std::string>& group) const {
    return std::any_of(group.begin(), group.end(), [&](const auto& name) { return is_up(name); });
  }

  /// Of broken groups in which nobody sleeps yet: they are left awake. Else they are woken as soon as there is room.
  void take_back_wishes() {
    std::set<std::string> seen;
    for (const auto& host : facts_.yielding) {
      if (!host.to_sleep || !host.ours || seen.contains(host.name)) continue;
      const auto group = groups_.of(host.name);
      seen.insert(group.begin(), group.end());
      Room::Waking waking;
      bool only_ours = true;  // and none of them sleeps
      for (const auto& name : group) {
        const auto* member = find_yielding(name);
        if (member == nullptr || !member->to_sleep) continue;
        only_ours = only_ours && member->ours && !member->asleep && !member->moves;
        waking[name];
      }
      if (!only_ours || !is_broken(group)) continue;
      for (const auto& [name, node] : waking) {
        const auto* member = find_yielding(name);
        give(member->node, -member->cpu, -member->memory_mb);
      }
      out_.wake.push_back(std::move(waking));
    }
  }

  /// Sleepers that can be woken, those together that share Slurm jobs.
  struct SleepingGroup {
    std::vector<elastic::Sleeper> members;
    Duration asleep{};    ///< whoever slept longest
    bool broken = false;  ///< somebody of it is awake, and can do nothing
  };
  std::vector<SleepingGroup> sleeping_groups() const {
    std::map<std::string, elastic::Sleeper> all;
    for (auto& sleeper : sleepers()) all.emplace(sleeper.job, sleeper);
    std::vector<SleepingGroup> out;
    std::set<std::string> seen;
    for (const auto& [first, any] : all) {
      if (seen.contains(first)) continue;
      const auto group = groups_.of(first);
      seen.insert(group.begin(), group.end());
      SleepingGroup found{.broken = is_broken(group)};
      bool complete = true;
      for (const auto& name : group) {
        const auto sleeper = all.find(name);
        const auto* host = find_yielding(name);
        // One that is falling asleep still, is on its way, or is somebody else's to wake, is waited for.
        if (sleeper == all.end()) {
          complete = complete && (host == nullptr || !host->to_sleep);
          continue;
        }
        found.asleep = std::max(found.asleep, sleeper->second.asleep);
        found.members.push_back(sleeper->second);
      }
      if (complete) out.push_back(std::move(found));
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
      return std::tie(b.asleep, a.members.front().job) < std::tie(a.asleep, b.members.front().job);
    });
    return out;
  }

  static bool fits(const RoomNode& node, const elastic::Sleeper& sleeper) {
    return node.cpu_free >= sleeper.cpus && node.memory_free_mb >= sleeper.memory_mb;
  }
  bool reserve(RoomNode* node, const elastic::Sleeper& sleeper, Room::Waking& out) {
    if (node == nullptr || !fits(*node, sleeper)) return false;
    give(node->id, -sleeper.cpus, -sleeper.memory_mb);
    out[sleeper.job] = node->id == sleeper.host ? std::string() : node->id;
    return true;
  }
  /// Room for all of them, where they fell asleep, or, while others have that, where there is some: memory and disks go
  /// there. Nothing: there is not, and what there was of it is still taken.
  bool reserve(const SleepingGroup& group, Room::Waking& out) {
    std::vector<const elastic::Sleeper*> elsewhere;
    for (const auto& sleeper : group.members) {
      if (!reserve(find_node(sleeper.host), sleeper, out)) elsewhere.push_back(&sleeper);
    }
    return std::all_of(elsewhere.begin(), elsewhere.end(), [&](const auto* sleeper) {
      const auto* host = find_yielding(sleeper->job);
      if (host->stayed) return false;
      const auto other = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& node) {
        return fits(node, *sleeper) && may_come(host->pool, node.id, sleeper->host);
      });
      if (other == nodes_.end() || !reserve(&*other, *sleeper, out)) return false;
      comes(host->pool, other->id, sleeper->host);
      return true;
    });
  }

  /// Those first that have slept longest. `due`: only those whose promise is over, or of whom somebody is awake.
  void wake(bool due) {
    const auto overdue = elastic::due(sleepers(), facts_.promises, Duration{0});
    auto kept = nodes_;  // of which those that wait for more keep a part
    for (auto& node : kept) node.cpu_free = node.memory_free_mb = 0;
    for (const auto& group : sleeping_groups()) {
      const bool over = std::any_of(group.members.begin(), group.members.end(), [&](const auto& it) {
        return std::find(overdue.begin(), overdue.end(), it.job) != overdue.end();
      });
      if (due && !over && !group.broken) continue;
      const auto before = nodes_;
      const auto bounds_before = bounds_;
      Room::Waking waking;
      if (reserve(group, waking)) {
        out_.wake.push_back(std::move(waking));
        continue;
      }
      bounds_ = bounds_before;
      if (over) {
        // Others that sleep do not take one after the other what it needs at once.
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
          kept[i].cpu_free += before[i].cpu_free - nodes_[i].cpu_free;
          kept[i].memory_free_mb += before[i].memory_free_mb - nodes_[i].memory_free_mb;
        }
      } else {
        nodes_ = before;
      }
    }
    for (const auto& node : kept) give(node.id, node.cpu_free, node.memory_free_mb);
  }

  bool makes_way(const YieldingHost& host) const {
    return host.to_sleep || host.asleep || put_to_sleep_.contains(host.name);
  }

  std::vector<elastic::Candidate> candidates() const {
    std::vector<elastic::Candidate> out;
    std::set<std::string> seen;
    for (const auto& host : facts_.yielding) {
      if (makes_way(host) || host.node.empty() || seen.contains(host.name)) continue;
      const auto group = groups_.of(host.name);
      seen.insert(group.begin(), group.end());
      out.push_back(candidate(host, group));
    }
    return out;
  }

  /// Of a group, by the name of one of it. Those on one node are written one after the other, by its disk, and those on
  /// others meanwhile: the jobs wait for whoever is last. Where machines are not of one size, each counts as the least.
  elastic::Candidate candidate(const YieldingHost& one, const std::vector<std::string>& group) const {
    elastic::Candidate out{.job = one.name, .cpus = one.cpu, .memory_mb = one.memory_mb};
    std::map<std::string, std::int64_t> written;
    std::int64_t most = 0;
    for (const auto& name : group) {
      const auto* host = find_yielding(name);
      if (host == nullptr || makes_way(*host) || host->node.empty()) {
        out.suspendable = false;
        continue;
      }
      out.hosts.push_back(host->node);
      out.cpus = std::min(out.cpus, host->cpu);
      out.memory_mb = std::min(out.memory_mb, host->memory_mb);
      most = std::max(most, written[host->node] += host->memory_mb);
      const auto total = ledger_.total(name, now_);
      out.suspensions = std::max(out.suspensions, total.suspensions);
      out.asleep = std::max(out.asleep, Duration{total.asleep});
    }
    // Without jobs nobody is kept waiting.
    if (jobs_.contains(one.name)) out.suspend = out.restart = written_in(most);
    return out;
  }

  /// Of whom nothing is promised.
  std::vector<elastic::Candidate> takeable() const {
    std::vector<elastic::Candidate> out;
    for (const auto& host : facts_.opportunistic) {
      if (host.goes || taken_.contains(host.name)) continue;
      const auto known = jobs_.find(host.name);
      const auto jobs = known == jobs_.end() ? HostJobs() : known->second;
      out.push_back({.job = host.name,
                     .hosts = {host.node},
                     .cpus = host.cpu,
                     .memory_mb = host.memory_mb,
                     .suspendable = !jobs.stays && !host.stays,
                     .lost = jobs.lost,
                     .suspensions = 0});
    }
    return out;
  }

  /// Reserves room for an urgent host: what is free, or becomes so, or is made. Nobody sleeps whose room can be had
  /// from who was promised nothing.
  void place(const UrgentHost& host) {
    std::vector<elastic::VictimHost> hosts;
    for (const auto& node : nodes_) {
      if (may_come(host.pool, node.id))
        hosts.push_back({.name = node.id, .cpus_free = node.cpu_free, .memory_free_mb = node.memory_free_mb});
    }
    const elastic::UrgentNeed need{
        .job = host.name, .priority = 1, .nodes = 1, .cpus = host.cpu, .memory_mb = host.memory_mb};
    auto all = takeable();
    auto chosen = elastic::choose_victims(need, hosts, all, {});
    if (!chosen.found) {
      for (auto& candidate : candidates()) all.push_back(std::move(candidate));
      chosen = elastic::choose_victims(need, hosts, all, facts_.promises);
    }
    if (!chosen.found) {
      out_.lines.push_back(fmt::format("{} waits for room, and nobody can make it: {}", host.name, chosen.why));
      return;
    }
    for (const auto& name : chosen.jobs) {
      if (!take_back(name, host)) put_to_sleep(name, host);
    }
    give(chosen.hosts.front(), -host.cpu, -host.memory_mb);
    comes(host.pool, chosen.hosts.front());
  }

  /// False: it is none of those.
  bool take_back(const std::string& name, const UrgentHost& urgent) {
    const auto at = std::find_if(facts_.opportunistic.begin(), facts_.opportunistic.end(),
                                 [&](const auto& host) { return host.name == name; });
    if (at == facts_.opportunistic.end()) return false;
    give(at->node, at->cpu, at->memory_mb);
    taken_.insert(name);
    const auto same = std::find_if(out_.recall.begin(), out_.recall.end(),
                                   [&](const auto& it) { return it.pool == at->pool && it.for_host == urgent.name; });
    if (same != out_.recall.end())
      same->hosts.push_back(name);
    else
      out_.recall.push_back({at->pool, {name}, kMakesRoom + urgent.name, urgent.name});
    return true;
  }

  void put_to_sleep(const std::string& one, const UrgentHost& urgent) {
    Room::Nap nap{groups_.of(one), kMakesRoom + urgent.name};
    for (const auto& name : nap.hosts) {
      const auto* host = find_yielding(name);
      give(host->node, host->cpu, host->memory_mb);
      ledger_.fall_asleep({.job = name, .for_job = urgent.name, .cpus = host->vcpus, .since = unix_nanos(now_)}, now_);
      put_to_sleep_.insert(name);
    }
    out_.sleep.push_back(std::move(nap));
  }

  void tell() {
    for (const auto& host : facts_.yielding) {
      if (!host.ours || !(host.to_sleep || host.asleep)) continue;
      const auto total = ledger_.total(host.name, now_);
      out_.lines.push_back(
          fmt::format("{} {}, and has slept for {} in all, of at most {}; {} of at most {} times", host.name,
                      host.moves    ? "goes on on another node"
                      : host.asleep ? "sleeps"
                                    : "is falling asleep",
                      human_duration(Duration{total.asleep}), human_duration(facts_.promises.max_asleep),
                      total.suspensions, facts_.promises.max_suspensions));
    }
    out_.settled = facts_.urgent.empty() && out_.sleep.empty() && out_.wake.empty() && out_.recall.empty() &&
                   out_.over.empty() && sleepers().empty();
  }

  const RoomFacts& facts_;
  TimePoint now_;
  std::map<std::string, HostJobs> jobs_;
  detail::HostGroups groups_;
  elastic::SleepLedger ledger_;
  std::vector<RoomNode> nodes_;
  std::map<std::string, scheduler::Bounds> bounds_;
  std::map<std::string_view, const YieldingHost*> yielding_;
  std::set<std::string> taken_, put_to_sleep_;  ///< by this decision
  Room out_;
};

}  // namespace

Room make_room(const RoomFacts& facts, const SlurmLook& slurm, TimePoint now) {
  return MakingRoom(facts, slurm, now).run();
}

}  // namespace underway::growth
