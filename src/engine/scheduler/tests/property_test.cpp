/// @file
/// Random clusters, jobs and histories; each seed is one exact history.

#include "scheduler/placement/placer.hpp"
#include "tests/world.hpp"

#include <gtest/gtest.h>

#include "base/json/json.hpp"

#include <cmath>

namespace underway::scheduler {
namespace {

using namespace underway::scheduler::testing;

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed * 2654435761u + 17) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n)); }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(below(static_cast<std::int64_t>(choices.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

Node random_node(Chance& chance, int number) {
  Node node = make_node(fmt::format("c{}", number), 1000 * (1 + chance.below(4)), 1024 * (1 + chance.below(4)));
  node.datacenter = chance.of<std::string>({"dc1", "dc1", "dc2"});
  node.node_pool = chance.of<std::string>({"default", "default", "login"});
  node.meta["rack"] = fmt::format("r{}", chance.below(3));
  if (chance.one_in(5)) node.meta.clear();
  if (chance.one_in(4)) node.drivers["exec"] = {true, !chance.one_in(3), "", {}};
  if (chance.one_in(4)) node.reserved.ports = {7000};
  node.resources.min_dynamic_port = 20'000;
  node.resources.max_dynamic_port = 20'000 + chance.below(12);
  node.computed_class = model::compute_class(node);
  return node;
}

void add_ports(Chance& chance, model::TaskGroup& group) {
  group.networks.resize(1);
  if (chance.one_in(2)) group.networks[0].reserved_ports = {{"a", 7000 + chance.below(3)}};
  if (chance.one_in(2)) group.networks[0].dynamic_ports = {{"b"}, {"c"}};
}

Job random_job(Chance& chance, const std::string& id, JobType type) {
  const bool everywhere = type == JobType::system || type == JobType::sysbatch;
  Job job = make_job(id, everywhere ? 1 : chance.below(6), 100 + 100 * chance.below(8), 64 + 64 * chance.below(12));
  job.type = type;
  if (chance.one_in(4)) job.datacenters = {"dc1"};
  if (chance.one_in(4)) job.node_pool = chance.of<std::string>({"all", "login"});
  if (chance.one_in(6))
    job.constraints.push_back({"${attr.unique.hostname}", "=", fmt::format("c{}", chance.below(6))});
  if (chance.one_in(6)) job.constraints.push_back({"${meta.rack}", "!=", "r1"});
  if (chance.one_in(6)) job.constraints.push_back({"${attr.unique.hostname}", "regexp", "c[0-3]"});
  if (chance.one_in(5)) job.constraints.push_back({"", "distinct_hosts", "true"});
  if (chance.one_in(6) && !everywhere) job.groups[0].constraints.push_back({"${meta.rack}", "distinct_property", "2"});
  if (chance.one_in(3)) add_ports(chance, job.groups[0]);
  if (chance.one_in(8)) job.groups[0].tasks[0].driver = "exec";
  if (chance.one_in(4)) {
    job.groups.push_back(job.groups[0]);
    job.groups[1].name = "h";
    job.groups[1].count = everywhere ? 1 : chance.below(3);
    job.groups[1].networks.clear();
  }
  if (chance.one_in(8)) job.all_at_once = true;
  job.groups[0].tasks[0].env["version"] = std::to_string(chance.below(3));
  job.canonicalize();
  return job;
}

/// What every state must satisfy, worked out from the rows alone.
void check_invariants(World& world) {
  std::map<std::string, Amount> used;
  std::map<std::string, std::int64_t> ports;
  for (const auto& [id, row] : world.allocations()) {
    if (row->terminal()) continue;
    const Amount amount = amount_of(*row);
    Amount& sum = used[row->node_id];
    sum = {sum.cpu + amount.cpu, sum.memory_mb + amount.memory_mb, sum.disk_mb + amount.disk_mb};
    for (const auto& port : row->resources.ports)
      EXPECT_EQ(++ports[fmt::format("{}/{}/{}", row->node_id, port.host_ip, port.value)], 1) << "port given twice";
  }
  for (const auto& [id, node] : world.nodes()) {
    const auto usage = world.fleet().usage(id);
    ASSERT_TRUE(usage);
    EXPECT_EQ(usage->used, used[id]) << "the fleet lost count";
    EXPECT_LE(used[id].cpu, node->resources.cpu);
    EXPECT_LE(used[id].memory_mb, node->resources.memory_mb);
    EXPECT_LE(used[id].disk_mb, node->resources.disk_mb);
  }
}

/// Every new allocation is where it may be.
void check_created(World& world, const Plan& plan) {
  std::map<std::string, std::int64_t> per_host;
  for (const auto& row : plan.created) {
    const Node& node = *world.nodes().at(row.node_id);
    const Job& job = *plan.job;
    EXPECT_TRUE(node.ready());
    EXPECT_TRUE(job.node_pool == "all" || job.node_pool == node.node_pool);
    EXPECT_TRUE(job.datacenters[0] == "*" || job.datacenters[0] == node.datacenter);
    EXPECT_TRUE(node.drivers.contains(job.find_group(row.group)->tasks[0].driver));
    for (const auto& constraint : job.constraints) EXPECT_TRUE(holds(constraint, node)) << in_words(constraint);
    for (const auto& port : row.resources.ports) EXPECT_TRUE(port.value != 7000 || node.reserved.ports.empty());
  }
}

std::string fingerprint(const Plan& plan) {
  std::string out = json::encode(plan.evaluation);
  for (const auto* list : {&plan.created, &plan.stopped, &plan.updated}) {
    out += "|";
    for (const auto& row : *list) out += json::encode(row);
  }
  for (const auto& other : plan.evaluations) out += json::encode(other);
  return out;
}

/// The same state, reached in another order.
void load_shuffled(const World& world, Fleet& fleet, Chance& chance) {
  std::vector<std::function<void()>> steps;
  for (const auto& [id, row] : world.nodes())
    steps.emplace_back([&fleet, kept = row] { fleet.node_changed({}, kept); });
  for (const auto& [id, row] : world.allocations())
    steps.emplace_back([&fleet, kept = row] { fleet.allocation_changed({}, kept); });
  for (std::size_t i = steps.size(); i > 1; --i)
    std::swap(steps[i - 1], steps[static_cast<std::size_t>(chance.below(static_cast<std::int64_t>(i)))]);
  for (auto& step : steps) step();
}

void check_deterministic(World& world, const std::string& job_id, Chance& chance) {
  const Evaluation evaluation = world.new_evaluation(job_id, EvalTrigger::node_update);
  Fleet other;
  load_shuffled(world, other, chance);
  SeededIds a(7), b(7), c(7);
  const std::string first = fingerprint(world.plan_for(evaluation, world.fleet(), a));
  EXPECT_EQ(first, fingerprint(world.plan_for(evaluation, world.fleet(), b))) << "planning left something behind";
  EXPECT_EQ(first, fingerprint(world.plan_for(evaluation, other, c))) << "the plan depends on how the state came about";
}

class History {
 public:
  explicit History(std::uint64_t seed) : chance_(seed), world_(seed) {
    const auto nodes = 1 + chance_.below(7);
    for (int i = 0; i < nodes; ++i) world_.put_node(random_node(chance_, next_node_++));
  }

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      step();
      settle();
      check_invariants(world_);
      const std::string job = chance_.of<std::string>({"a", "b", "c"});
      if (world_.jobs().contains(job)) check_deterministic(world_, job, chance_);
    }
  }

 private:
  void step() {
    switch (chance_.below(9)) {
      case 0:
      case 1:
      case 2:
        return register_job();
      case 3:
        if (const std::string id = any_job(); !id.empty()) world_.stop(id);
        return;
      case 4:
        return change_node();
      case 5:
        return world_.put_node(random_node(chance_, next_node_++));
      case 6:
        if (world_.nodes().size() > 1) world_.remove_node(any_node().id);
        return;
      case 7:
        world_.start_all();
        world_.clock().advance(std::chrono::minutes(chance_.below(90)));
        return;
      default:
        return report();
    }
  }

  void register_job() {
    const std::string id = chance_.of<std::string>({"a", "b", "c"});
    const auto type = world_.jobs().contains(id)
                          ? world_.jobs().at(id)->type
                          : chance_.of<JobType>({JobType::service, JobType::service, JobType::batch, JobType::system,
                                                 JobType::sysbatch});
    check_created(world_, world_.run(random_job(chance_, id, type)));
  }

  std::string any_job() {
    std::vector<std::string> ids;
    for (const auto& [id, row] : world_.jobs()) ids.push_back(id);
    return ids.empty() ? std::string() : chance_.of(ids);
  }

  Node any_node() {
    std::vector<Row<Node>> rows;
    for (const auto& [id, row] : world_.nodes()) rows.push_back(row);
    return *chance_.of(rows);
  }

  void change_node() {
    Node node = any_node();
    node.status = chance_.of<model::NodeStatus>(
        {model::NodeStatus::ready, model::NodeStatus::down, model::NodeStatus::disconnected});
    node.eligibility = chance_.one_in(4) ? model::Eligibility::ineligible : model::Eligibility::eligible;
    if (chance_.one_in(3)) node.meta["rack"] = fmt::format("r{}", chance_.below(3));
    world_.put_node(node);
  }

  void report() {
    std::vector<Row<Allocation>> rows;
    for (const auto& [id, row] : world_.allocations()) {
      if (!row->client_terminal()) rows.push_back(row);
    }
    if (rows.empty()) return;
    world_.set_client(chance_.of(rows)->id,
                      chance_.of<ClientStatus>({ClientStatus::running, ClientStatus::failed, ClientStatus::complete}));
  }

  /// Evaluates everything, as the server does after a change; then once more, when nothing may happen.
  void settle() {
    for (const auto& [id, row] : world_.jobs()) check_created(world_, world_.again(id));
    for (const auto& [id, node] : world_.nodes()) world_.work(node.get());
    for (const auto& [id, row] : world_.jobs()) {
      const Plan plan = world_.again(id);
      EXPECT_FALSE(plan.changes_allocations()) << "job " << id << " does not come to rest: " << fingerprint(plan);
      EXPECT_TRUE(plan.evaluations.empty()) << "job " << id << " makes evaluations without end: " << fingerprint(plan);
    }
  }

  Chance chance_;
  World world_;
  int next_node_ = 0;
};

TEST(Histories, NeverOvercommitAreDeterministicAndComeToRest) {
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(seed);
    History(seed).run(14);
    if (HasFailure()) return;
  }
}

TEST(MinimalChange, MoreIsOnlyMore) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    Chance chance(seed);
    World world(seed, 1 + static_cast<int>(chance.below(8)));
    Job job = random_job(chance, "a", JobType::service);
    job.all_at_once = false;
    world.run(job);
    const auto before = world.live_names("a");
    job.groups[0].count += 1 + chance.below(5);
    const Plan plan = world.run(job);
    ASSERT_TRUE(plan.stopped.empty());
    const auto after = world.live_names("a");
    for (const auto& name : before) ASSERT_TRUE(std::find(after.begin(), after.end(), name) != after.end());
    ASSERT_EQ(after.size(), before.size() + plan.created.size());
  }
}

TEST(MinimalChange, ALostNodeMovesOnlyWhatWasThere) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    Chance chance(seed);
    World world(seed, 2 + static_cast<int>(chance.below(8)));
    world.run(make_job("a", 1 + chance.below(20), 300));
    Node node = *chance.of(std::vector<Row<Node>>{world.nodes().begin()->second, world.nodes().rbegin()->second});
    std::set<std::string> there;
    for (const auto& row : world.live("a")) {
      if (row->node_id == node.id) there.insert(row->id);
    }
    node.status = model::NodeStatus::down;
    world.put_node(node);
    const Plan plan = world.again("a");
    std::set<std::string> stopped;
    for (const auto& row : plan.stopped) stopped.insert(row.id);
    ASSERT_EQ(stopped, there);
    ASSERT_TRUE(plan.updated.empty());
    for (const auto& row : plan.created) ASSERT_NE(row.node_id, node.id);
    ASSERT_LE(plan.created.size(), there.size());
  }
}

/// Nomad's allocation-spread of a group whose allocations have these values, and a node with this one.
double spread_term(const model::Spread& spread, double weights, const std::map<std::string, std::int64_t>& used,
                   const std::optional<std::string>& value, std::int64_t count) {
  if (!value) return -1;
  const std::int64_t here = used.contains(*value) ? used.at(*value) : 0;
  if (spread.targets.empty()) {
    if (used.empty()) return 0;
    std::int64_t least = used.begin()->second, most = 0;
    for (const auto& [name, n] : used) {
      least = std::min(least, n);
      most = std::max(most, n);
    }
    const auto of_least = [&](std::int64_t difference) {
      return static_cast<double>(difference) / static_cast<double>(least);
    };
    return here != least ? of_least(least - here) : least == most ? -1 : of_least(most - least);
  }
  double desired = 100;
  bool named = false;
  for (const auto& target : spread.targets) {
    if (target.value == *value) {
      desired = static_cast<double>(target.percent);
      named = true;
    } else if (!named) {
      desired -= static_cast<double>(target.percent);
    }
  }
  desired *= static_cast<double>(count) / 100;
  if (desired <= 1e-9) return -1;
  return (desired - static_cast<double>(here + 1)) / desired * static_cast<double>(spread.weight) / weights;
}

/// The terms of affinities and spreads.
std::vector<double> further_terms(World& world, const std::vector<Allocation>& placed, const Job& job,
                                  const Node& node) {
  std::vector<double> out;
  double attraction = 0, amounts = 0;
  for (const auto& affinity : job.affinities) {
    amounts += std::abs(static_cast<double>(affinity.weight));
    if (holds({affinity.ltarget, affinity.operand, affinity.rtarget}, node))
      attraction += static_cast<double>(affinity.weight);
  }
  if (attraction != 0) out.push_back(attraction / amounts);
  double sum = 0, weights = 0;
  for (const auto& spread : job.spreads) weights += static_cast<double>(spread.weight);
  for (const auto& spread : job.spreads) {
    std::map<std::string, std::int64_t> used;
    for (const auto& row : placed) {
      const auto value = model::resolve_target(spread.attribute, *world.nodes().at(row.node_id));
      if (value) ++used[*value];
    }
    sum += spread_term(spread, weights, used, model::resolve_target(spread.attribute, node), job.groups[0].count);
  }
  if (sum != 0) out.push_back(sum);
  return out;
}

/// Nomad's score, from the formula and the rows, for every node; the highest.
std::optional<double> best_by_full_scan(World& world, const std::vector<Allocation>& placed, const Job& job) {
  const auto& group = job.groups[0];
  const auto want = group.total_resources();
  std::optional<double> best;
  for (const auto& [id, node] : world.nodes()) {
    if (!node->ready() || (job.node_pool != "all" && job.node_pool != node->node_pool)) continue;
    if (job.datacenters[0] != "*" && job.datacenters[0] != node->datacenter) continue;
    const auto driver = node->drivers.find(group.tasks[0].driver);
    if (driver == node->drivers.end() || !driver->second.healthy) continue;
    if (!std::all_of(job.constraints.begin(), job.constraints.end(),
                     [&](const auto& constraint) { return holds(constraint, *node); }))
      continue;
    double cpu = static_cast<double>(want.cpu), memory = static_cast<double>(want.memory_mb);
    std::int64_t peers = 0;
    const auto count = [&](const Allocation& row) {
      if (row.node_id != id || row.terminal()) return;
      cpu += static_cast<double>(amount_of(row).cpu);
      memory += static_cast<double>(amount_of(row).memory_mb);
      peers += row.job_id == job.id ? 1 : 0;
    };
    for (const auto& [key, row] : world.allocations()) count(*row);
    for (const auto& row : placed) count(row);
    const double free_cpu = 1 - cpu / static_cast<double>(node->resources.cpu);
    const double free_memory = 1 - memory / static_cast<double>(node->resources.memory_mb);
    const bool distinct = std::any_of(job.constraints.begin(), job.constraints.end(),
                                      [](const auto& constraint) { return is_distinct(constraint); });
    if (free_cpu < -1e-9 || free_memory < -1e-9 || (distinct && peers > 0)) continue;
    double score = std::clamp(20 - std::pow(10, free_cpu) - std::pow(10, free_memory), 0.0, 18.0) / 18;
    double terms = 1;
    if (peers > 0) {
      score -= static_cast<double>(peers + 1) / static_cast<double>(group.count);
      ++terms;
    }
    for (const double term : further_terms(world, placed, job, *node)) {
      score += term;
      ++terms;
    }
    score /= terms;
    if (!best || score > *best) best = score;
  }
  return best;
}

TEST(Ranking, FindsWhatAFullScanFinds) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(seed);
    Chance chance(seed);
    World world(seed);
    const auto nodes = 1 + chance.below(12);
    for (int i = 0; i < nodes; ++i) world.put_node(random_node(chance, i));
    for (int round = 0; round < 3; ++round) {
      Job job = random_job(chance, fmt::format("j{}", round), JobType::service);
      job.groups.resize(1);
      job.groups[0].networks.clear();
      job.groups[0].constraints.clear();
      job.groups[0].count = 1 + chance.below(8);
      job.all_at_once = false;
      if (chance.one_in(2)) job.affinities = {{"${meta.rack}", "=", "r1", chance.of<std::int64_t>({-50, 50})}};
      if (chance.one_in(3)) job.affinities.push_back({"${attr.unique.hostname}", "regexp", "c[0-3]$", 20});
      if (chance.one_in(3)) job.spreads.push_back({"${node.datacenter}", 50, {}});
      if (chance.one_in(3)) job.spreads.push_back({"${meta.rack}", 80, {{"r0", 50}, {"r1", 25}}});
      if (chance.one_in(6)) job.spreads.push_back({"${node.unique.name}", 10, {}});
      // Where a job names its node there is nothing to spread over.
      const bool pinned = std::any_of(job.constraints.begin(), job.constraints.end(),
                                      [](const auto& constraint) { return constraint.operand == "="; });
      if (pinned) job.spreads.clear();
      const Evaluation evaluation = world.new_evaluation(job.id, EvalTrigger::job_register);
      // The world's own rows are those from before the plan.
      World* before = &world;
      Situation situation;
      situation.job = std::make_shared<const Job>(job);
      SeededIds ids(seed);
      const Plan plan = schedule(situation, world.fleet(), evaluation, Context{world.clock().now(), ids});
      std::vector<Allocation> placed;
      for (const auto& row : plan.created) {
        const auto best = best_by_full_scan(*before, placed, job);
        ASSERT_TRUE(best);
        ASSERT_NEAR(row.metrics.scores.at(0).norm_score, *best, 1e-9);
        placed.push_back(row);
      }
      if (static_cast<std::int64_t>(placed.size()) < job.groups[0].count)
        ASSERT_FALSE(best_by_full_scan(*before, placed, job)) << "there was room";
      for (auto& row : placed) world.put(row);
    }
  }
}

TEST(Blocked, PlacesTheRestWhenRoomComes) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Chance chance(seed);
    World world(seed, 1 + static_cast<int>(chance.below(5)));
    world.run(make_job("hog", 100, 300));
    const auto count = 1 + chance.below(10);
    const Plan plan = world.run(make_job("late", count, 400));
    ASSERT_EQ(plan.evaluation.queued.at("g"), count);
    world.stop("hog");
    std::size_t placed = 0;
    for (const auto& [id, node] : world.nodes()) placed += world.work(node.get());
    const auto room = static_cast<std::int64_t>(world.nodes().size()) * 10;
    ASSERT_EQ(static_cast<std::int64_t>(placed), std::min(count, room));
  }
}

}  // namespace
}  // namespace underway::scheduler
