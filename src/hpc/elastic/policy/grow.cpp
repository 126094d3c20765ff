#include <algorithm>

#include "elastic/detail/round.hpp"
#include "elastic/policy/boots.hpp"

namespace underway::elastic::detail {
namespace {

bool has_feature(const PoolClass& type, std::string_view wanted) {
  for (std::size_t at = 0; at <= wanted.size();) {
    const std::size_t end = std::min(wanted.find('|', at), wanted.size());
    const auto one = wanted.substr(at, end - at);
    if (std::find(type.features.begin(), type.features.end(), one) != type.features.end()) return true;
    at = end + 1;
  }
  return false;
}

/// Why no node of the class would ever do; absent: they do.
std::optional<Refusal> unfit(const PoolClass& type, const Shape& shape) {
  const PendingJob& job = *shape.sample;
  const auto refusal = [&](Obstacle obstacle, std::int64_t need, std::int64_t have, std::string what = {}) {
    return Refusal{type.name, obstacle, need, have, std::move(what), 0};
  };
  const auto& serves = type.partitions;
  if (!serves.empty() && std::find(serves.begin(), serves.end(), job.partition) == serves.end())
    return refusal(Obstacle::partition, 0, 0, job.partition);
  if (type.vcpus < shape.cpus) return refusal(Obstacle::cpus, shape.cpus, type.vcpus);
  if (type.memory_mb < job.memory_mb) return refusal(Obstacle::memory, job.memory_mb, type.memory_mb);
  for (const auto& feature : job.features) {
    if (!has_feature(type, feature)) return refusal(Obstacle::features, 0, 0, feature);
  }
  if (type.opportunistic && shape.redone) return refusal(Obstacle::opportunistic, 0, 0);
  return std::nullopt;
}

Need need_of(const Shape& shape) { return {shape.cpus, shape.sample->memory_mb, shape.sample->exclusive}; }

/// Rounded up, for tasks of which `slots` share a node.
std::int64_t nodes_for(std::int64_t tasks, std::int64_t slots) { return (tasks + slots - 1) / slots; }

class Growth {
 public:
  explicit Growth(Round& round) : round_(round), supply_(*round.supply) {}

  void run() {
    hold_room_for_gangs();
    make_reserved();
    for (const auto& wanted : round_.demand.jobs) serve(wanted);
    std::erase_if(round_.state.gangs, [](const Gang& gang) { return gang.label.empty(); });
    probe();
    keep_least();
    if (rate_limited_) round_.look_again(round_.now() + std::chrono::seconds{1});
  }

 private:
  // --- jobs ---

  void serve(const Wanted& wanted) {
    Shape& shape = round_.demand.shapes[wanted.shape];
    std::int64_t left = wanted.tasks;
    const bool gang = wanted.job->gang();
    if (gang && !round_.state.gangs.empty()) left -= carry_on(wanted, shape);
    if (left <= 0) return;
    if (shape.blocked) {
      shape.explained.waiting += left;
      return;
    }
    rank(shape);
    left -= gang ? place_gangs(shape, left) : place_singles(shape, left);
    if (left > 0 && round_.demand.reached[wanted.job->partition])
      left = gang ? grow_gangs(wanted, shape, left) : grow_singles(shape, left);
    if (left == 0) return;
    shape.explained.waiting += left;
    shape.blocked = true;
    for (const std::size_t index : shape.ranking) supply_.book(index).short_of_nodes = true;
  }

  void rank(Shape& shape) {
    if (shape.ranked) return;
    shape.ranked = true;
    const Need need = need_of(shape);
    std::vector<Money> price(supply_.books().size());
    std::vector<Refusal> elsewhere;  // of classes that serve other partitions: of interest only if none serves this one
    for (std::size_t i = 0; i < price.size(); ++i) {
      const Book& book = supply_.book(i);
      if (auto refusal = unfit(*book.type, shape)) {
        auto& list = refusal->obstacle == Obstacle::partition ? elsewhere : shape.explained.refusals;
        list.push_back(std::move(*refusal));
        continue;
      }
      const std::int64_t nodes =
          shape.sample->gang() ? shape.sample->nodes_min : nodes_for(shape.tasks, book.open.slots(need));
      price[i] = book.type->hourly() * nodes;
      shape.ranking.push_back(i);
    }
    if (shape.ranking.empty() && shape.explained.refusals.empty()) shape.explained.refusals = std::move(elsewhere);
    std::sort(shape.ranking.begin(), shape.ranking.end(), [&](std::size_t a, std::size_t b) {
      const PoolClass &x = *supply_.book(a).type, &y = *supply_.book(b).type;
      return std::tuple(price[a], x.hourly(), x.vcpus, a) < std::tuple(price[b], y.hourly(), y.vcpus, b);
    });
  }

  void refuse(Shape& shape, Refusal refusal) {
    auto& known = shape.explained.refusals;
    const bool said = std::any_of(known.begin(), known.end(), [&](const Refusal& r) {
      return r.class_name == refusal.class_name && r.obstacle == refusal.obstacle;
    });
    if (!said) known.push_back(std::move(refusal));
  }

  // --- one node per task ---

  std::int64_t place_singles(Shape& shape, std::int64_t tasks) {
    const Need need = need_of(shape);
    std::int64_t placed = 0;
    for (const std::size_t index : shape.ranking) {
      if (placed == tasks) break;
      placed += supply_.book(index).open.place(need, tasks - placed);
    }
    shape.explained.fit_now += placed;
    return placed;
  }

  /// Returns how many tasks still wait. A class that is only slow keeps its share: it is not passed over for a dearer
  /// one.
  std::int64_t grow_singles(Shape& shape, std::int64_t tasks) {
    const Need need = need_of(shape);
    std::int64_t waiting = 0;
    for (const std::size_t index : shape.ranking) {
      if (tasks == 0) break;
      Book& book = supply_.book(index);
      if (const auto had = take_from_draining(book, need, tasks)) {
        shape.explained.fit_now += had;
        tasks -= had;
      }
      const std::int64_t slots = book.open.slots(need);
      std::int64_t nodes = open_for(shape, book, nodes_for(tasks, slots));
      if (tasks == 0 || nodes == 0) continue;
      supply_.promise(book, nodes);
      const std::int64_t asked = ask_for(round_, book, nodes, {});
      book.granted += asked;
      book.open.add_empty(asked);
      const std::int64_t placed = book.open.place(need, tasks);
      shape.explained.booting += placed;
      tasks -= placed;
      if (asked == nodes) continue;
      refuse(shape, {book.type->name, Obstacle::rate, nodes, asked, {}, 0});
      rate_limited_ = true;
      const std::int64_t later = std::min(tasks, (nodes - asked) * slots);
      waiting += later;
      tasks -= later;
    }
    return waiting + tasks;
  }

  /// How many of `nodes` the class may be asked for, now or in a moment.
  std::int64_t open_for(Shape& shape, const Book& book, std::int64_t nodes) {
    const ClassState& state = *book.state;
    if (state.breaker == BreakerState::open) {
      const std::int64_t until = state.opened_at + round_.policy.breaker.cooldown.count();
      refuse(shape,
             {book.type->name, Obstacle::breaker, 0, static_cast<std::int64_t>(state.failures.size()), {}, until});
      round_.look_again(from_unix_nanos(until));
      return 0;
    }
    if (backing_off(state, round_.now())) {
      refuse(shape, {book.type->name, Obstacle::backing_off, 0, state.refusals, {}, state.backoff_until});
      round_.look_again(from_unix_nanos(state.backoff_until));
      return 0;
    }
    if (state.breaker == BreakerState::half_open) {
      probes_.insert(book.type->name);
      refuse(shape, {book.type->name, Obstacle::breaker, 0, static_cast<std::int64_t>(state.failures.size()), {}, 0});
      return 0;
    }
    Headroom room = supply_.headroom(book);
    if (room.nodes < nodes) refuse(shape, std::move(room.limit));
    return std::min(room.nodes, nodes);
  }

  /// Nodes that we were emptying are taken back before others are made.
  std::int64_t take_from_draining(Book& book, const Need& need, std::int64_t tasks) {
    std::int64_t placed = 0;
    auto& draining = book.draining;
    for (auto it = draining.begin(); it != draining.end() && placed < tasks;) {
      const NodeView& node = **it;
      const bool fits =
          node.cpus_free >= (need.exclusive ? book.type->vcpus : need.cpus) && node.memory_free_mb >= need.memory_mb;
      if (!fits || round_.gone.contains(node.name)) {
        ++it;
        continue;
      }
      book.open.add(node.cpus_free, node.memory_free_mb);
      round_.out.undrain.push_back(node.name);
      placed += book.open.place(need, tasks - placed);
      it = draining.erase(it);
    }
    return placed;
  }

  // --- several nodes per task ---

  /// Room for what gangs still lack is nobody else's, whatever the order of jobs.
  void hold_room_for_gangs() {
    for (std::size_t i = 0; i < round_.state.gangs.size(); ++i) gangs_of_[round_.state.gangs[i].job].push_back(i);
    if (round_.forming.empty()) return;
    for (const auto& node : round_.tick.nodes) {
      if (node.gang.empty() || round_.gone.contains(node.name) || !round_.forming.contains(node.gang)) continue;
      ++has_[node.gang];
    }
    for (auto& gang : round_.state.gangs) {
      if (!gang.forming) continue;
      Book* book = supply_.find(gang.class_name);
      if (book == nullptr) continue;
      // Of nodes that it lost the room may be somebody else's by now.
      const std::int64_t missing = std::max<std::int64_t>(gang.nodes - has_[gang.label], 0);
      room_[gang.label] = std::min(missing, supply_.headroom(*book).nodes);
      supply_.promise(*book, room_[gang.label]);
    }
  }

  /// Gangs of this job that are forming: their missing nodes are asked for as the tokens allow. Returns their tasks.
  std::int64_t carry_on(const Wanted& wanted, Shape& shape) {
    std::int64_t tasks = 0;
    const auto known = gangs_of_.find(wanted.job->id);
    if (known == gangs_of_.end()) return 0;
    for (const std::size_t at : known->second) {
      Gang& gang = round_.state.gangs[at];
      if (!gang.forming || tasks == wanted.tasks) continue;
      ++tasks;
      Book* book = supply_.find(gang.class_name);
      if (book == nullptr) {
        gang.deadline = unix_nanos(round_.now());  // its class is gone: given up by the next tick
        continue;
      }
      const std::int64_t ready = wanted.job->nodes_min - gang.nodes;  // nodes that were there when it was begun
      const std::int64_t lost = ready - book->open.place_some(need_of(shape), ready);
      if (lost > 0 && supply_.headroom(*book).nodes >= lost) {
        supply_.promise(*book, lost);
        room_[gang.label] += lost;
        gang.nodes += lost;
      }
      boot_gang(*book, gang);
    }
    shape.explained.booting += tasks;
    return tasks;
  }

  void boot_gang(Book& book, const Gang& gang) {
    const std::int64_t asked = ask_for(round_, book, room_[gang.label], gang.label);
    room_[gang.label] -= asked;
    rate_limited_ = rate_limited_ || room_[gang.label] > 0;
  }

  std::int64_t place_gangs(Shape& shape, std::int64_t tasks) {
    const Need need = need_of(shape);
    std::int64_t placed = 0;
    for (const std::size_t index : shape.ranking) {
      while (placed < tasks && supply_.book(index).open.place_gang(need, shape.sample->nodes_min)) ++placed;
    }
    shape.explained.fit_now += placed;
    return placed;
  }

  std::int64_t grow_gangs(const Wanted& wanted, Shape& shape, std::int64_t tasks) {
    const Gang* earlier = nullptr;  // the last attempt that was given up
    if (const auto known = gangs_of_.find(wanted.job->id); known != gangs_of_.end()) {
      for (const std::size_t at : known->second) {
        if (!round_.state.gangs[at].forming) earlier = &round_.state.gangs[at];
      }
    }
    if (earlier != nullptr && earlier->not_before > unix_nanos(round_.now())) {
      refuse(shape, {earlier->class_name, Obstacle::gang_waits, wanted.job->nodes_min, earlier->attempts,
                     wanted.job->id, earlier->not_before});
      return tasks;
    }
    const std::string avoid = earlier != nullptr ? earlier->class_name : std::string();
    const std::int64_t attempts = earlier != nullptr ? earlier->attempts : 0;
    while (tasks > 0 && begin_gang(wanted, shape, avoid, attempts)) --tasks;
    return tasks;
  }

  bool begin_gang(const Wanted& wanted, Shape& shape, const std::string& avoid, std::int64_t attempts) {
    auto order = shape.ranking;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const auto rank = [&](std::size_t index) {
        const auto at = std::find(shape.ranking.begin(), shape.ranking.end(), index) - shape.ranking.begin();
        return std::pair(supply_.book(index).type->name == avoid, at);
      };
      return rank(a) < rank(b);
    });
    const Need need = need_of(shape);
    for (const std::size_t index : order) {
      Book& book = supply_.book(index);
      const std::int64_t there = std::min(book.open.fitting(need), wanted.job->nodes_min);
      const std::int64_t missing = wanted.job->nodes_min - there;
      const std::int64_t room = open_for(shape, book, missing);
      if (room < missing) {
        if (room > 0) refuse(shape, {book.type->name, Obstacle::gang, missing, room, {}, 0});
        continue;
      }
      book.open.place_some(need, there);
      supply_.promise(book, missing);
      start_gang(wanted, book, missing, attempts);
      ++shape.explained.booting;
      return true;
    }
    return false;
  }

  void start_gang(const Wanted& wanted, Book& book, std::int64_t nodes, std::int64_t attempts) {
    auto& gangs = round_.state.gangs;
    auto& of_job = gangs_of_[wanted.job->id];
    std::erase_if(of_job, [&](std::size_t at) {
      if (gangs[at].forming) return false;
      gangs[at].label.clear();  // this attempt takes its place
      return true;
    });
    Gang gang;
    gang.job = wanted.job->id;
    gang.label = fmt::format("{}/{}", gang.job, ++round_.state.gangs_begun);
    gang.class_name = book.type->name;
    gang.nodes = nodes;
    gang.attempts = attempts;
    const double asking = static_cast<double>(nodes) / round_.policy.boot_rate;  // a thousand boots take their time
    const Duration until =
        round_.policy.gang_deadline + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(asking));
    gang.deadline = unix_nanos(round_.now() + until);
    round_.look_again(round_.now() + until);
    round_.forming.insert(gang.label);
    of_job.push_back(gangs.size());
    gangs.push_back(gang);
    room_[gang.label] = nodes;
    boot_gang(book, gang);
  }

  // --- reserved nodes ---

  /// They are nobody else's, and have the room that there is before jobs that wait.
  void make_reserved() {
    for (const auto& [name, lacking] : round_.tick.reserved) {
      Book* book = supply_.find(name);
      if (book == nullptr || lacking <= 0) continue;
      const Headroom room = supply_.headroom(*book);
      if (room.nodes < lacking)
        round_.note(fmt::format("of class '{}' {} more {} reserved, and {}", name, lacking, lacking == 1 ? "is" : "are",
                                render(room.limit, unix_nanos(round_.now()))));
      const std::int64_t nodes = std::min(room.nodes, lacking);
      supply_.promise(*book, nodes);
      rate_limited_ = ask_for(round_, *book, nodes, {}) < nodes || rate_limited_;
    }
  }

  // --- nodes for nobody in particular ---

  /// A class that is tried again is tried with one node.
  void probe() {
    for (const auto& name : probes_) {
      Book& book = *supply_.find(name);
      if (supply_.headroom(book).nodes < 1 || boots_allowed(*book.state, round_.now()) < 1) continue;
      supply_.promise(book, 1);
      book.granted += ask_for(round_, book, 1, {});
      book.open.add_empty(1);
      round_.note(fmt::format("class '{}' is tried with one node", name));
    }
  }

  void keep_least() {
    for (auto& book : supply_.books()) {
      const auto warm = round_.tick.warm.find(book.type->name);
      std::int64_t lacking = book.type->min_nodes - book.counted;
      if (warm != round_.tick.warm.end()) lacking = std::max(lacking, warm->second - book.open.empty());
      lacking = std::min({lacking, boots_allowed(*book.state, round_.now()), supply_.headroom(book).nodes});
      if (lacking <= 0) continue;
      supply_.promise(book, lacking);
      const std::int64_t asked = ask_for(round_, book, lacking, {});
      book.granted += asked;
      book.open.add_empty(asked);
    }
  }

  Round& round_;
  Supply& supply_;
  std::unordered_map<std::string, std::vector<std::size_t>> gangs_of_;  ///< places in the state's list, by job
  std::map<std::string, std::int64_t> has_;                             ///< nodes of gangs that are there, by label
  std::map<std::string, std::int64_t> room_;  ///< nodes that are promised to them, and not asked for yet
  std::set<std::string> probes_;
  bool rate_limited_ = false;
};

}  // namespace

std::int64_t ask_for(Round& round, Book& book, std::int64_t count, const std::string& gang) {
  std::int64_t allowed = boots_allowed(*book.state, round.now());
  // A gang of a thousand takes a quarter of an hour of boots. It leaves others one in four of them.
  if (!gang.empty() && allowed >= 4) allowed -= allowed / 4;
  const std::int64_t asked = std::min(count, allowed);
  if (asked <= 0) return 0;
  book.state->tokens -= static_cast<double>(asked);
  book.state->booting += asked;
  book.grown += asked;
  auto& list = round.out.grow;
  auto same = list.end();
  if (gang.empty())  // a gang is asked for once
    same = std::find_if(list.begin(), list.end(),
                        [&](const Grow& g) { return g.gang.empty() && g.class_name == book.type->name; });
  if (same != list.end())
    same->count += asked;
  else
    list.push_back({book.type->name, asked, gang});
  return asked;
}

void grow(Round& round) { Growth(round).run(); }

}  // namespace underway::elastic::detail
