#include "growth/reserve/bookings.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"

namespace underway::growth {

using elastic::NodePhase;
using elastic::NodeView;

namespace {

constexpr Duration kLeastLead = std::chrono::minutes(1);
/// Until the jobs of who falls asleep are suspended, and for its memory to get to a disk: 100 MiB a second is a slow
/// one.
constexpr Duration kFallsAsleep = std::chrono::seconds(15);
constexpr std::int64_t kAsleepPerSecond = 100;

struct Declared {
  const PoolFacts* pool = nullptr;
  const model::HostReservation* it = nullptr;
  TimePoint begins{}, ends{}, made{};  ///< its hosts are made from then on
  bool near(TimePoint now) const { return made <= now && now < ends; }
};

/// Those that are not over, the earliest first.
std::vector<Declared> declared(const ClusterFacts& facts, TimePoint now) {
  std::vector<Declared> out;
  for (const auto& pool : facts.pools) {
    for (const auto& it : pool.type.reservations) {
      const Declared one{&pool, &it, it.begins(), it.ends(), it.begins() - reservation_lead(pool.type)};
      if (now < one.ends) out.push_back(one);
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begins, a.it->name) < std::tie(b.begins, b.it->name);
  });
  return out;
}

/// Better ones have lower numbers.
enum class Fitness : std::uint8_t {
  has,  ///< it is in Slurm's reservation, and no job of others is there when that begins
  idle,
  booting,
  free_soon,  ///< its jobs end before
  has_busy,   ///< it is in Slurm's reservation, and others' jobs are there for longer
  busy,       ///< to be had where no more can be made
  unfit,
};

class Booking {
 public:
  Booking(const ClusterFacts& facts, const SlurmLook& slurm, const std::vector<NodeView>& nodes, TimePoint now)
      : facts_(facts), slurm_(slurm), nodes_(nodes), now_(now) {
    if (!asks_for_reservations(facts, now)) return;  // a queue is long
    for (const auto& record : slurm.records) records_[record.name] = &record;
    for (const auto& job : slurm.queue) {
      if (!job.reservation.empty()) used_.insert(job.reservation);
      for (const auto& node : job.nodes) jobs_[node].insert(job.reservation);
    }
    if (!slurm.reservations) return;
    for (const auto& it : *slurm.reservations) known_[it.name] = &it;
  }

  Bookings run() {
    const auto all = declared(facts_, now_);
    for (const auto& one : all) {
      if (one.near(now_)) names_.insert(one.it->name);
    }
    for (const auto& one : all) {
      if (one.near(now_))
        book(one);
      else
        out_.lines.push_back(fmt::format("{}: its hosts are made from {} on", title(one), format_time(one.made)));
    }
    for (const auto& name : facts_.memory.reservations) {
      if (!names_.contains(name)) let_go(name);
    }
    return std::move(out_);
  }

 private:
  bool ours(const std::string& name) const {
    const auto& written = facts_.memory.reservations;
    return std::find(written.begin(), written.end(), name) != written.end();
  }
  const slurm::Reservation* find_known(const std::string& name) const {
    const auto at = known_.find(name);
    return at == known_.end() ? nullptr : at->second;
  }

  void book(const Declared& one) {
    const auto* has = find_known(one.it->name);
    if (has != nullptr && !ours(one.it->name)) {
      out_.lines.push_back(fmt::format(
          "{}: nothing is done, as Slurm has a reservation of this name that somebody else made: delete it (`scontrol "
          "delete reservation={}`), or give this one another name",
          title(one), one.it->name));
      return;
    }
    if (slurm_.reservations || ours(one.it->name)) out_.ours.push_back(one.it->name);
    const auto chosen = choose(one, has);
    std::int64_t there = 0, sure = 0, busy = 0;
    for (const auto& [fitness, node] : chosen) {
      out_.held.insert(node->name);
      const bool late = fitness == Fitness::has_busy || fitness == Fitness::busy;
      sure += late ? 0 : 1;
      busy += has_others(*node, one) ? 1 : 0;
      there += node->phase != NodePhase::booting && !has_others(*node, one) ? 1 : 0;
    }
    const std::int64_t lacking = one.it->hosts - sure;
    if (lacking > 0) out_.lacking[one.pool->type.name] += lacking;
    out_.settled = out_.settled && lacking == 0 && there == one.it->hosts;
    if (slurm_.reservations) tell_slurm(one, has, chosen);
    tell(one, there, busy, lacking);
  }

  using Chosen = std::vector<std::pair<Fitness, const NodeView*>>;

  Chosen choose(const Declared& one, const slurm::Reservation* has) const {
    Chosen out;
    for (const auto& node : nodes_) {
      if (node.class_name != one.pool->type.name) continue;
      const auto fitness = fitness_of(node, one, has != nullptr && has->nodes.contains(node.name));
      if (fitness != Fitness::unfit) out.emplace_back(fitness, &node);
    }
    const auto hosts = static_cast<std::size_t>(one.it->hosts);
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.first, a.second->name.size(), a.second->name) <
             std::tuple(b.first, b.second->name.size(), b.second->name);
    });
    if (out.size() > hosts) out.resize(hosts);
    return out;
  }

  Fitness fitness_of(const NodeView& node, const Declared& one, bool has) const {
    if (node.phase == NodePhase::draining || node.phase == NodePhase::asleep || out_.held.contains(node.name) ||
        is_elsewhere(node.name, one) || is_of_gang(node))
      return Fitness::unfit;
    const bool soon = node.free_at != TimePoint{} && node.free_at <= one.begins;
    if (!has_others(node, one) || soon) {
      if (has) return Fitness::has;
      if (soon) return Fitness::free_soon;
      return node.phase == NodePhase::booting ? Fitness::booting : Fitness::idle;
    }
    if (has) return Fitness::has_busy;
    return is_full(*one.pool) ? Fitness::busy : Fitness::unfit;
  }

  /// A job that is not of the reservation.
  bool has_others(const NodeView& node, const Declared& one) const {
    const auto at = jobs_.find(node.name);
    if (at == jobs_.end()) return false;  // what was there has just ended
    return at->second.size() > 1 || *at->second.begin() != one.it->name;
  }

  /// Another reservation of Slurm has the node at the same time. One of ours that is not declared any more is over.
  bool is_elsewhere(const std::string& node, const Declared& one) const {
    return std::any_of(known_.begin(), known_.end(), [&](const auto& entry) {
      const auto& it = *entry.second;
      if (it.name == one.it->name || (ours(it.name) && !names_.contains(it.name) && !used_.contains(it.name)))
        return false;
      return it.nodes.contains(node) && it.begins < one.ends && one.begins < it.ends;
    });
  }

  /// Made for a job of several nodes that does not have all of them yet.
  bool is_of_gang(const NodeView& node) const {
    const auto& gangs = facts_.memory.state.gangs;
    return !node.gang.empty() && std::any_of(gangs.begin(), gangs.end(),
                                             [&](const auto& gang) { return gang.forming && gang.label == node.gang; });
  }

  bool is_full(const PoolFacts& pool) const {
    const auto has = std::count_if(nodes_.begin(), nodes_.end(), [&](const NodeView& node) {
      return node.class_name == pool.type.name && node.phase != NodePhase::asleep;
    });
    return has >= pool.type.max_nodes;
  }

  /// Of nodes that Slurm knows; a dynamic one that does not run yet it knows not.
  void tell_slurm(const Declared& one, const slurm::Reservation* has, const Chosen& chosen) {
    slurm::Reservation wanted{.name = one.it->name,
                              .begins = one.begins,
                              .ends = one.ends,
                              .accounts = {one.it->accounts.begin(), one.it->accounts.end()},
                              .users = {one.it->users.begin(), one.it->users.end()}};
    for (const auto& [fitness, node] : chosen) {
      const auto record = records_.find(node->name);
      if (record != records_.end() && record->second->state != "FUTURE") wanted.nodes.insert(node->name);
    }
    if (wanted.nodes.empty()) {
      // Slurm has none without nodes.
      if (has != nullptr) end(one.it->name);
      return;
    }
    auto words = has == nullptr ? slurm::create_command(wanted, now_) : slurm::update_command(*has, wanted, now_);
    if (!words.empty()) step(one.it->name, std::move(words));
  }

  /// One that is declared no more, or is over.
  void let_go(const std::string& name) {
    if (!slurm_.reservations || find_known(name) != nullptr) out_.ours.push_back(name);
    if (find_known(name) != nullptr) end(name);
  }

  void end(const std::string& name) {
    if (used_.contains(name))
      out_.lines.push_back(fmt::format(
          "reservation '{}' is to go, and Slurm keeps it while jobs wait or run that use it: `squeue -R {}`", name,
          name));
    else
      step(name, slurm::delete_reservation_command(name));
  }

  void step(const std::string& name, slurm::Command words) {
    out_.steps[name] = std::move(words);
    out_.settled = false;
  }

  static std::string title(const Declared& one) {
    const auto who = [](const std::vector<std::string>& names, std::string_view what) {
      return names.empty() ? std::string()
                           : fmt::format("{}{} {}", what, names.size() == 1 ? "" : "s", join_some(names, 5));
    };
    const auto accounts = who(one.it->accounts, "account"), users = who(one.it->users, "user");
    return fmt::format("reservation '{}': {} host{} of pool '{}' from {} until {} for {}{}{}", one.it->name,
                       one.it->hosts, one.it->hosts == 1 ? "" : "s", one.pool->type.name, format_time(one.begins),
                       format_time(one.ends), accounts, accounts.empty() || users.empty() ? "" : " and ", users);
  }

  void tell(const Declared& one, std::int64_t there, std::int64_t busy, std::int64_t lacking) {
    std::string line =
        fmt::format("{}: {} of {} {} there", title(one), there, one.it->hosts, one.it->hosts == 1 ? "is" : "are");
    if (busy > 0)
      line += fmt::format(", {} {} others' jobs until {}", busy, busy == 1 ? "has" : "have",
                          lacking > 0 ? "those end" : "then");
    if (lacking > 0 && is_full(*one.pool))
      line += fmt::format("; pool '{}' has all of its {} hosts, and others' jobs are on them", one.pool->type.name,
                          one.pool->type.max_nodes);
    out_.lines.push_back(std::move(line));
  }

  const ClusterFacts& facts_;
  const SlurmLook& slurm_;
  const std::vector<NodeView>& nodes_;
  TimePoint now_;
  std::set<std::string> names_;                        ///< of those that are near
  std::set<std::string> used_;                         ///< by jobs that wait or run
  std::map<std::string, std::set<std::string>> jobs_;  ///< by node: the reservations of its jobs, "" where one has none
  std::map<std::string, const slurm::NodeRecord*> records_;
  std::map<std::string, const slurm::Reservation*> known_;
  Bookings out_;
};

}  // namespace

Duration reservation_lead(const elastic::PoolClass& pool) {
  const Duration lead = std::max<Duration>(pool.start_time + pool.start_time / 2, kLeastLead);
  if (!pool.urgent) return lead;
  return lead + kFallsAsleep + std::chrono::seconds(pool.memory_mb / kAsleepPerSecond);
}

bool asks_for_reservations(const ClusterFacts& facts, TimePoint now) {
  if (!facts.memory.reservations.empty()) return true;
  const auto all = declared(facts, now);
  return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.near(now); });
}

Bookings book_hosts(const ClusterFacts& facts, const SlurmLook& slurm, const std::vector<NodeView>& nodes,
                    TimePoint now) {
  return Booking(facts, slurm, nodes, now).run();
}

}  // namespace underway::growth
