#include "growth/room.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "elastic/preemption/resume.hpp"
#include "elastic/preemption/victims.hpp"

namespace underway::growth {
namespace {

/// What memory takes to a disk and back, as far as anybody knows beforehand: a disk of a node, one stream.
constexpr std::int64_t kMibPerSecond = 300;

Duration written_in(std::int64_t memory_mb) { return std::chrono::milliseconds(1000 * memory_mb / kMibPerSecond); }

/// Of a host: the Slurm jobs that are on it, and whether one of them is on others, too.
struct HostJobs {
  std::size_t count = 0;
  bool spans = false;
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
      ++jobs.count;
      jobs.spans = jobs.spans || job.nodes.size() > 1;
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
        ledger_(facts.book.sleeps),
        nodes_(facts.nodes),
        bounds_(facts.bounds) {
    // What falls asleep, or goes, is about to be free.
    for (const auto& host : facts.yielding) {
      if (host.to_sleep && !host.asleep) give(host.node, host.cpu, host.memory_mb);
    }
    for (const auto& host : facts.opportunistic) {
      if (host.goes) give(host.node, host.cpu, host.memory_mb);
    }
    out_.over = facts.over;
  }

  Room run() {
    settle_book();
    // A promise that is over goes before work that is urgent.
    wake(true);
    for (const auto& host : facts_.urgent) place(host);
    if (out_.sleep.empty() && out_.recall.empty() && facts_.urgent.empty()) wake(false);
    out_.book = {facts_.cluster, ledger_.sleeps()};
    tell();
    return std::move(out_);
  }

 private:
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
      const auto at = std::find_if(facts_.yielding.begin(), facts_.yielding.end(),
                                   [&](const auto& host) { return host.name == sleep.job; });
      if (at == facts_.yielding.end())
        ledger_.forget(sleep.job);
      else if (sleep.until == 0 && !at->to_sleep && !at->asleep)
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

  RoomNode* with_room(const elastic::Sleeper& sleeper) {
    const auto fits = [&](const RoomNode& node) {
      return node.cpu_free >= sleeper.cpus && node.memory_free_mb >= sleeper.memory_mb;
    };
    if (auto* own = find_node(sleeper.host); own != nullptr && fits(*own)) return own;
    const auto host = std::find_if(facts_.yielding.begin(), facts_.yielding.end(),
                                   [&](const auto& it) { return it.name == sleeper.job; });
    if (host->stayed) return nullptr;
    const auto other = std::find_if(nodes_.begin(), nodes_.end(), [&](const RoomNode& node) {
      return fits(node) && may_come(host->pool, node.id, sleeper.host);
    });
    if (other == nodes_.end()) return nullptr;
    comes(host->pool, other->id, sleeper.host);
    return &*other;
  }

  /// Where they fell asleep, or, while others have that room, where there is some: memory and disks go there. Those
  /// first that have slept longest. `due`: only those whose promise is over.
  void wake(bool due) {
    auto all = sleepers();
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return std::tie(b.asleep, a.job) < std::tie(a.asleep, b.job); });
    if (due) {
      const auto names = elastic::due(all, facts_.promises, Duration{0});
      std::erase_if(all, [&](const auto& it) { return std::find(names.begin(), names.end(), it.job) == names.end(); });
    }
    for (const auto& sleeper : all) {
      const auto* node = with_room(sleeper);
      if (node == nullptr) continue;
      give(node->id, -sleeper.cpus, -sleeper.memory_mb);
      out_.wake.push_back({sleeper.job, node->id == sleeper.host ? std::string() : node->id});
    }
  }

  std::vector<elastic::Candidate> candidates() const {
    std::vector<elastic::Candidate> out;
    for (const auto& host : facts_.yielding) {
      const bool sleeps =
          host.to_sleep || host.asleep ||
          std::any_of(out_.sleep.begin(), out_.sleep.end(), [&](const auto& nap) { return nap.host == host.name; });
      if (sleeps || host.node.empty()) continue;
      const auto known = jobs_.find(host.name);
      const auto jobs = known == jobs_.end() ? HostJobs() : known->second;
      const auto total = ledger_.total(host.name, now_);
      // One without jobs keeps nobody waiting.
      const auto takes = jobs.count > 0 ? written_in(host.memory_mb) : Duration{0};
      out.push_back({.job = host.name,
                     .hosts = {host.node},
                     .cpus = host.cpu,
                     .memory_mb = host.memory_mb,
                     .suspendable = !jobs.spans,
                     .suspend = takes,
                     .restart = takes,
                     .suspensions = total.suspensions,
                     .asleep = Duration{total.asleep}});
    }
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

  void put_to_sleep(const std::string& name, const UrgentHost& urgent) {
    const auto at = std::find_if(facts_.yielding.begin(), facts_.yielding.end(),
                                 [&](const auto& host) { return host.name == name; });
    give(at->node, at->cpu, at->memory_mb);
    ledger_.fall_asleep({.job = name, .for_job = urgent.name, .cpus = at->vcpus, .since = unix_nanos(now_)}, now_);
    out_.sleep.push_back({name, kMakesRoom + urgent.name});
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
  elastic::SleepLedger ledger_;
  std::vector<RoomNode> nodes_;
  std::map<std::string, scheduler::Bounds> bounds_;
  std::set<std::string> taken_;  ///< by this decision
  Room out_;
};

}  // namespace

Room make_room(const RoomFacts& facts, const SlurmLook& slurm, TimePoint now) {
  return MakingRoom(facts, slurm, now).run();
}

}  // namespace underway::growth
