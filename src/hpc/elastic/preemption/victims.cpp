#include "elastic/preemption/victims.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "elastic/detail/cover.hpp"

namespace underway::elastic {
namespace {

constexpr std::int64_t kSteps = 60'000;        ///< of all searches together: about 5 ms
constexpr int kRounds = 6;                     ///< of pricing jobs on several hosts
constexpr std::int64_t kStepsPerHost = 2'000;  ///< at least

bool has_all(const std::vector<std::string>& features, const std::vector<std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& feature) {
    return std::find(features.begin(), features.end(), feature) != features.end();
  });
}

/// The account that paid for a host; null: no such host.
using OwnerOf = std::unordered_map<std::string_view, const std::string*>;

OwnerOf owners_of(const std::vector<VictimHost>& hosts) {
  OwnerOf out;
  for (const auto& host : hosts) out.emplace(host.name, &host.owner);
  return out;
}

std::string why_spared(const Candidate& candidate, const UrgentNeed& need, const OwnerOf& owners,
                       const Promises& promises) {
  if (!candidate.suspendable) return "it cannot be suspended";
  if (candidate.suspensions >= promises.max_suspensions)
    return fmt::format("it was suspended {} times, and is promised no more", candidate.suspensions);
  if (candidate.asleep + need.expected > promises.max_asleep || candidate.asleep >= promises.max_asleep)
    return fmt::format("it has slept for {}, and is promised at most {}", human_duration(candidate.asleep),
                       human_duration(promises.max_asleep));
  bool on_own = false, on_needs = !need.account.empty();
  for (const auto& name : candidate.hosts) {
    const auto found = owners.find(name);
    const std::string owner = found == owners.end() ? std::string() : *found->second;
    on_own = on_own || (!owner.empty() && owner == candidate.account);
    on_needs = on_needs && owner == need.account;
  }
  if (on_needs && candidate.account != need.account) return {};
  if (on_own && candidate.account != need.account)
    return fmt::format("it runs on nodes of its account '{}'", candidate.account);
  if (candidate.priority >= need.priority)
    return fmt::format("its priority is {}, that of the urgent job {}", candidate.priority, need.priority);
  return {};
}

/// A host on which the need would fit if enough jobs slept.
struct Place {
  const VictimHost* host = nullptr;
  std::int64_t cpus = 0, memory_mb = 0;  ///< what is lacking
  std::vector<std::size_t> candidates;   ///< of those that may sleep
};

class Choosing {
 public:
  Choosing(const UrgentNeed& need, const std::vector<VictimHost>& hosts, const std::vector<Candidate>& candidates,
           const Promises& promises)
      : need_(need) {
    std::unordered_map<std::string_view, std::size_t> by_name;
    for (const auto& host : hosts) {
      if (!has_all(host.features, need.features)) continue;
      by_name.emplace(host.name, places_.size());
      places_.push_back({&host, need.cpus - host.cpus_free, need.memory_mb - host.memory_free_mb, {}});
    }
    suitable_ = places_.size();
    const OwnerOf owners = owners_of(hosts);
    for (const auto& candidate : candidates) {
      if (!why_spared(candidate, need, owners, promises).empty()) {
        ++spared_;
        continue;
      }
      bool here = false;
      for (const auto& name : candidate.hosts) {
        const auto found = by_name.find(name);
        if (found == by_name.end()) continue;
        places_[found->second].candidates.push_back(jobs_.size());
        here = true;
      }
      if (here) jobs_.push_back(&candidate);
    }
    std::erase_if(places_, [&](const Place& place) { return !reachable(place); });
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].cpus > 0 || places_[i].memory_mb > 0)
        lacking_.push_back(i);
      else
        ++free_;
    }
  }

  Victims run() {
    if (static_cast<std::int64_t>(places_.size()) < need_.nodes) return none();
    return jobs_.size() <= kExactCandidates ? every_combination() : by_hosts();
  }

 private:
  bool reachable(const Place& place) const {
    std::int64_t cpus = 0, memory = 0;
    for (const std::size_t index : place.candidates) {
      cpus += jobs_[index]->cpus;
      memory += jobs_[index]->memory_mb;
    }
    return cpus >= place.cpus && memory >= place.memory_mb;
  }

  Victims none() const {
    Victims out;
    out.why = fmt::format(
        "job {} needs {} with {} processors and {} MiB of memory: {} of {} suitable hosts could have that if {} "
        "jobs slept; {} jobs may not be suspended",
        need_.job, need_.nodes == 1 ? "a host" : fmt::format("{} hosts", need_.nodes), need_.cpus, need_.memory_mb,
        places_.size(), suitable_, jobs_.size(), spared_);
    return out;
  }

  // --- few ---

  Victims every_combination() {
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    std::size_t best_set = 0;
    for (std::size_t set = 0; set < (std::size_t{1} << jobs_.size()); ++set) {
      std::int64_t cost = 0;
      for (std::size_t i = 0; i < jobs_.size(); ++i) cost += (set >> i & 1) != 0 ? jobs_[i]->cost() : 0;
      if (cost < best && covers([&](std::size_t i) { return (set >> i & 1) != 0; }) >= need_.nodes) {
        best = cost;
        best_set = set;
      }
    }
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if ((best_set >> i & 1) != 0) chosen.push_back(i);
    }
    return result(chosen, best);
  }

  template <class Sleeps>
  bool covered(const Place& place, Sleeps sleeps) const {
    std::int64_t cpus = place.cpus, memory = place.memory_mb;
    for (const std::size_t index : place.candidates) {
      if (!sleeps(index)) continue;
      cpus -= jobs_[index]->cpus;
      memory -= jobs_[index]->memory_mb;
    }
    return cpus <= 0 && memory <= 0;
  }
  template <class Sleeps>
  std::int64_t covers(Sleeps sleeps) const {
    return free_ +
           std::count_if(lacking_.begin(), lacking_.end(), [&](std::size_t i) { return covered(places_[i], sleeps); });
  }

  // --- many ---

  /// Each host by itself, exactly or nearly so; then the cheapest hosts. Jobs on several hosts make hosts depend on
  /// each other. Their cost is shared out among their hosts: however that is done, the cheapest hosts at such prices
  /// are a bound, and those prices are best under which only hosts that are chosen pay.
  Victims by_hosts() {
    const bool shared = share_out();
    const int rounds = shared ? kRounds : 1;
    const std::int64_t steps = std::max(kSteps / static_cast<std::int64_t>(places_.size()), kStepsPerHost) / rounds;
    std::vector<std::size_t> best;
    std::int64_t bound = 0;
    for (int round = 0; round < rounds; ++round) {
      const auto chosen = cheapest_hosts(steps, bound);
      keep_cheaper(sleepers_of(chosen), best, round == 0);
      if (shared) reprice(chosen);
    }
    if (shared) keep_cheaper(one_by_one(), best, false);
    return result(best, bound);
  }

  /// Evenly, to begin with. Returns whether any job has several hosts.
  bool share_out() {
    covers_.resize(places_.size());
    slots_.resize(jobs_.size());
    for (std::size_t i = 0; i < places_.size(); ++i) {
      for (const std::size_t index : places_[i].candidates) {
        slots_[index].emplace_back(i, shares_.size());
        shares_.push_back(jobs_[index]->cost() / static_cast<std::int64_t>(jobs_[index]->hosts.size()));
      }
    }
    return std::any_of(slots_.begin(), slots_.end(), [](const auto& slots) { return slots.size() > 1; });
  }

  std::vector<std::size_t> cheapest_hosts(std::int64_t steps, std::int64_t& bound) {
    std::vector<std::pair<std::int64_t, std::size_t>> order;  // cost and place
    std::vector<std::int64_t> bounds;
    std::size_t first = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      covers_[i] = cover(places_[i], {}, steps, &shares_[first]);
      first += places_[i].candidates.size();
      order.emplace_back(covers_[i].cost, i);
      bounds.push_back(covers_[i].bound);
    }
    std::sort(order.begin(), order.end());
    std::sort(bounds.begin(), bounds.end());
    std::int64_t sum = 0;
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < static_cast<std::size_t>(need_.nodes); ++i) {
      sum += bounds[i];
      chosen.push_back(order[i].second);
    }
    bound = std::max(bound, sum);
    return chosen;
  }

  /// Half-way to where the hosts that are chosen, and use the job, pay for it.
  void reprice(const std::vector<std::size_t>& chosen) {
    std::vector<std::int64_t> users(jobs_.size(), 0);
    std::vector<bool> is_chosen(places_.size(), false);
    for (const std::size_t place : chosen) {
      is_chosen[place] = true;
      for (const std::size_t index : covers_[place].items) ++users[index];
    }
    for (std::size_t index = 0; index < jobs_.size(); ++index) {
      if (slots_[index].size() < 2 || users[index] == 0) continue;
      for (const auto& [place, slot] : slots_[index]) {
        const auto& items = covers_[place].items;
        const bool pays = is_chosen[place] && std::find(items.begin(), items.end(), index) != items.end();
        shares_[slot] = (shares_[slot] + (pays ? jobs_[index]->cost() / users[index] : 0)) / 2;
      }
    }
  }

  void keep_cheaper(std::vector<std::size_t> jobs, std::vector<std::size_t>& best, bool first) const {
    prune(jobs);
    if (first || cost_of(jobs) < cost_of(best)) best = std::move(jobs);
  }

  /// Those of the place's candidates that are not asleep yet, with their whole cost or what `shares` says of it.
  detail::Cover cover(const Place& place, const std::unordered_set<std::size_t>& asleep, std::int64_t steps,
                      const std::int64_t* shares) const {
    std::vector<detail::CoverItem> items;
    std::vector<std::size_t> indices;
    std::int64_t cpus = place.cpus, memory = place.memory_mb;
    for (std::size_t i = 0; i < place.candidates.size(); ++i) {
      const std::size_t index = place.candidates[i];
      const Candidate& job = *jobs_[index];
      if (!asleep.empty() && asleep.contains(index)) {
        cpus -= job.cpus;
        memory -= job.memory_mb;
        continue;
      }
      items.push_back({shares != nullptr ? shares[i] : job.cost(), job.cpus, job.memory_mb});
      indices.push_back(index);
    }
    detail::Cover cover = detail::cheapest_cover(items, cpus, memory, steps);
    for (auto& item : cover.items) item = indices[item];
    return cover;
  }

  std::vector<std::size_t> sleepers_of(const std::vector<std::size_t>& places) const {
    std::unordered_set<std::size_t> set;
    for (const std::size_t place : places) set.insert(covers_[place].items.begin(), covers_[place].items.end());
    std::vector<std::size_t> out(set.begin(), set.end());
    std::sort(out.begin(), out.end());
    return out;
  }

  /// The host that costs least besides what sleeps already, again and again.
  std::vector<std::size_t> one_by_one() const {
    std::unordered_set<std::size_t> asleep;
    std::vector<bool> used(places_.size(), false);
    std::vector<detail::Cover> now(places_.size());
    std::vector<bool> known(places_.size(), false);
    for (std::int64_t n = 0; n < need_.nodes; ++n) {
      std::size_t best = places_.size();
      for (std::size_t i = 0; i < places_.size(); ++i) {
        if (used[i]) continue;
        if (!known[i]) now[i] = cover(places_[i], asleep, kStepsPerHost, nullptr);
        known[i] = true;
        if (best == places_.size() || now[i].cost < now[best].cost) best = i;
      }
      used[best] = true;
      for (const std::size_t index : now[best].items) {
        asleep.insert(index);
        if (jobs_[index]->hosts.size() < 2) continue;
        for (std::size_t i = 0; i < places_.size(); ++i) {  // what it frees elsewhere changes their prices
          const auto& there = places_[i].candidates;
          if (std::find(there.begin(), there.end(), index) != there.end()) known[i] = false;
        }
      }
    }
    std::vector<std::size_t> out(asleep.begin(), asleep.end());
    std::sort(out.begin(), out.end());
    return out;
  }

  std::int64_t cost_of(const std::vector<std::size_t>& jobs) const {
    std::int64_t cost = 0;
    for (const std::size_t index : jobs) cost += jobs_[index]->cost();
    return cost;
  }

  /// Wakes whoever is not needed, the dearest first.
  void prune(std::vector<std::size_t>& jobs) const {
    std::unordered_set<std::size_t> asleep(jobs.begin(), jobs.end());
    std::sort(jobs.begin(), jobs.end(), [&](std::size_t a, std::size_t b) {
      const std::int64_t x = jobs_[a]->cost(), y = jobs_[b]->cost();
      return x != y ? x > y : a < b;
    });
    for (const std::size_t index : jobs) {
      asleep.erase(index);
      if (covers([&](std::size_t i) { return asleep.contains(i); }) < need_.nodes) asleep.insert(index);
    }
    jobs.assign(asleep.begin(), asleep.end());
  }

  Victims result(const std::vector<std::size_t>& chosen, std::int64_t bound) const {
    Victims out;
    out.found = true;
    const std::unordered_set<std::size_t> asleep(chosen.begin(), chosen.end());
    for (const auto& place : places_) {
      if (static_cast<std::int64_t>(out.hosts.size()) == need_.nodes) break;
      if (covered(place, [&](std::size_t i) { return asleep.contains(i); })) out.hosts.push_back(place.host->name);
    }
    for (const std::size_t index : chosen) out.jobs.push_back(jobs_[index]->job);
    std::sort(out.jobs.begin(), out.jobs.end());
    out.cost = cost_of(chosen);
    out.bound = std::min(bound, out.cost);
    return out;
  }

  const UrgentNeed& need_;
  std::vector<Place> places_;
  std::vector<std::size_t> lacking_;    ///< places where somebody has to sleep
  std::int64_t free_ = 0;               ///< the others
  std::vector<const Candidate*> jobs_;  ///< that may sleep, and are on suitable hosts
  std::vector<detail::Cover> covers_;
  std::vector<std::int64_t> shares_;  ///< of jobs' costs, candidate by candidate, place by place
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> slots_;  ///< by job: its places, and its share there
  std::size_t suitable_ = 0, spared_ = 0;
};

}  // namespace

std::int64_t Candidate::cost() const {
  const std::int64_t span = std::chrono::duration_cast<std::chrono::milliseconds>(lost + suspend + restart).count();
  return std::max<std::int64_t>(span, 0) * std::max<std::int64_t>(cpus, 1) *
         static_cast<std::int64_t>(std::max<std::size_t>(hosts.size(), 1));
}

std::string spared(const Candidate& candidate, const UrgentNeed& need, const std::vector<VictimHost>& hosts,
                   const Promises& promises) {
  return why_spared(candidate, need, owners_of(hosts), promises);
}

Victims choose_victims(const UrgentNeed& need, const std::vector<VictimHost>& hosts,
                       const std::vector<Candidate>& candidates, const Promises& promises) {
  return Choosing(need, hosts, candidates, promises).run();
}

}  // namespace underway::elastic
