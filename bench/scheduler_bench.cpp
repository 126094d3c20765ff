/// @file
/// How many placements per second one core decides on a large cluster, in memory.
/// Usage: scheduler_bench [nodes] [allocations]

#include "scheduler/placement/placer.hpp"
#include "scheduler/schedule.hpp"

#include <fmt/format.h>

#include <charconv>
#include <ctime>
#include <random>

namespace {

using namespace underway;
using scheduler::Ask;
using scheduler::Peers;
using scheduler::Placer;
using tables::Row;

double cpu_now() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Of this thread's processor time: what else the machine does must not count.
double seconds(const std::function<void()>& work) {
  const double start = cpu_now();
  work();
  return cpu_now() - start;
}

void report(const char* what, std::size_t count, double took) {
  fmt::print("{:<62} {:>9} in {:>8.1f} ms {:>12.0f} /s\n", what, count, took * 1e3, static_cast<double>(count) / took);
}

model::Job job_of(const std::string& id, std::int64_t count) {
  model::Job job;
  job.id = id;
  job.groups.resize(1);
  model::TaskGroup& group = job.groups[0];
  group.name = "g";
  group.count = count;
  group.tasks.resize(1);
  group.tasks[0].name = "t";
  group.tasks[0].driver = "exec";
  group.tasks[0].resources.cpu = 500;
  group.tasks[0].resources.memory_mb = 1024;
  job.constraints = {{"${attr.kernel.name}", "=", "linux"}};
  job.canonicalize();
  return job;
}

class Cluster {
 public:
  Cluster(std::int64_t nodes, std::int64_t allocations) {
    for (std::int64_t i = 0; i < nodes; ++i) add_node(i);
    const auto job = std::make_shared<const model::Job>(job_of("old", allocations));
    std::mt19937_64 random(1);
    for (std::int64_t i = 0; i < allocations; ++i) {
      auto row = std::make_shared<model::Allocation>();
      row->id = ids_.uuid();
      row->job_id = "old";
      row->group = "g";
      row->job = job;
      row->node_id = node_ids_[random() % node_ids_.size()];
      row->resources.tasks["t"] = {.cpu = 500, .memory_mb = 1024};
      fleet_.allocation_changed(nullptr, row);
    }
  }

  scheduler::Fleet& fleet() { return fleet_; }
  SeededIds& ids() { return ids_; }

 private:
  void add_node(std::int64_t i) {
    auto node = std::make_shared<model::Node>();
    node->id = ids_.uuid();
    node->name = fmt::format("c{}", i);
    node->attributes = {{"kernel.name", "linux"}, {"unique.hostname", node->name}, {"cpu.arch", "amd64"}};
    node->meta["rack"] = fmt::format("r{}", i / 40);
    // Three generations of machines, so that not all nodes are alike.
    node->resources = {
        .cpu = 64'000 * (1 + i % 3), .cores = 64, .memory_mb = 131'072 * (1 + i % 3), .disk_mb = 1'000'000};
    node->networks = {{"default", "eth0", fmt::format("10.0.{}.{}", i / 250, i % 250), "10.0.0.0/16"}};
    node->drivers["exec"] = {true, true, "", {}};
    node->status = model::NodeStatus::ready;
    node->computed_class = model::compute_class(*node);
    node_ids_.push_back(node->id);
    fleet_.node_changed(nullptr, node);
  }

  scheduler::Fleet fleet_;
  SeededIds ids_{42};
  std::vector<std::string> node_ids_;
};

/// Decides and accounts for `jobs` × `count` placements, without building rows; then takes them all back.
void place(Cluster& cluster, const char* what, int jobs, std::int64_t count,
           const std::function<void(model::Job&, int)>& change) {
  auto& index = cluster.fleet().index();
  std::vector<Row<model::Job>> rows;
  for (int i = 0; i < jobs; ++i) {
    model::Job job = job_of(fmt::format("job{}", i), count);
    change(job, i);
    rows.push_back(std::make_shared<const model::Job>(std::move(job)));
  }
  std::size_t placed = 0;
  const auto run = [&] {
    for (const auto& job : rows) {
      Peers peers(index);
      Placer placer(index, peers, Ask(job, job->groups[0]), placed + 1);
      for (std::int64_t i = 0; i < count && placer.place(); ++i) ++placed;
    }
  };
  const double took = seconds(run);
  index.rollback(0);
  report(what, placed, took);
}

/// The whole evaluation: reconciliation, placement, complete rows, and the fleet following their commit.
void schedule(Cluster& cluster, const char* what, int jobs, std::int64_t count, model::JobType type) {
  std::size_t placed = 0;
  double following = 0;
  std::vector<Row<model::Allocation>> rows;
  double took = 0;
  for (int i = 0; i < jobs; ++i) {
    model::Job job = job_of(fmt::format("whole{}", i), count);
    job.type = type;
    scheduler::Situation situation;
    situation.job = std::make_shared<const model::Job>(std::move(job));
    model::Evaluation evaluation;
    evaluation.id = cluster.ids().uuid();
    std::vector<tables::Change> changes;
    took += seconds([&] {
      auto plan = scheduler::schedule(situation, cluster.fleet(), evaluation,
                                      scheduler::Context{TimePoint{std::chrono::seconds(1)}, cluster.ids()});
      changes = std::move(plan).take_changes();
    });
    std::vector<Row<model::Allocation>> fresh;
    for (auto& change : changes) {
      if (auto* put = std::get_if<tables::PutAllocation>(&change))
        fresh.push_back(std::make_shared<const model::Allocation>(std::move(put->allocation)));
    }
    following += seconds([&] {
      for (const auto& row : fresh) cluster.fleet().allocation_changed(nullptr, row);
    });
    placed += fresh.size();
    rows.insert(rows.end(), fresh.begin(), fresh.end());
  }
  report(what, placed, took);
  report("  and the fleet following the commit", placed, following);
  for (const auto& row : rows) cluster.fleet().allocation_changed(row, nullptr);
}

/// What the same costs when every placement looks at every node: the yardstick.
void full_scan(Cluster& cluster, std::int64_t count) {
  auto& index = cluster.fleet().index();
  const auto job = std::make_shared<const model::Job>(job_of("scan", count));
  const Ask ask(job, job->groups[0]);
  const double took = seconds([&] {
    for (std::int64_t i = 0; i < count; ++i) {
      scheduler::Slot best = scheduler::kNoSlot;
      double most = -1;
      for (const auto slot : index.ordered()) {
        if (!scheduler::fits(index, slot, ask)) continue;
        const double score = scheduler::fit_score(index.room(slot), ask.amount);
        if (score <= most) continue;
        most = score;
        best = slot;
      }
      if (best != scheduler::kNoSlot) index.take(best, ask.amount, {});
    }
  });
  index.rollback(0);
  report("yardstick: a full scan per placement, any constraint ignored", static_cast<std::size_t>(count), took);
}

std::int64_t argument(int argc, char** argv, int at, std::int64_t otherwise) {
  if (argc <= at) return otherwise;
  const std::string_view text = argv[at];
  std::from_chars(text.data(), text.data() + text.size(), otherwise);
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const auto nodes = argument(argc, argv, 1, 10'000), allocations = argument(argc, argv, 2, 100'000);
  Cluster cluster(nodes, allocations);
  fmt::print("scheduler: {} nodes, {} allocations, one core, processor time\n", nodes, allocations);
  const auto nothing = [](model::Job&, int) {};
  place(cluster, "decided and accounted: same shape, 100 jobs of 1000", 100, 1000, nothing);
  place(cluster, "  same shape, 10000 jobs of 10", 10'000, 10, nothing);
  place(cluster, "  same shape, 100000 jobs of 1", 100'000, 1, nothing);
  place(cluster, "  distinct_hosts, 100 jobs of 1000", 100, 1000,
        [](model::Job& job, int) { job.constraints.push_back({"", "distinct_hosts", "true"}); });
  place(cluster, "  distinct_property (rack, 40 each), 20 jobs of 5000", 20, 5000,
        [](model::Job& job, int) { job.constraints.push_back({"${meta.rack}", "distinct_property", "40"}); });
  place(cluster, "  pinned by hostname, 100000 jobs of 1", 100'000, 1, [&](model::Job& job, int i) {
    job.constraints.push_back({"${attr.unique.hostname}", "=", fmt::format("c{}", i % nodes)});
  });
  place(cluster, "  an affinity of the class and one of the node, 100 jobs of 1000", 100, 1000,
        [](model::Job& job, int) {
          job.affinities = {{"${meta.rack}", "regexp", "^r1", 50}, {"${attr.unique.hostname}", "regexp", "7$", 50}};
        });
  place(cluster, "  spread evenly over 250 racks, 100 jobs of 1000", 100, 1000,
        [](model::Job& job, int) { job.spreads = {{"${meta.rack}", 50, {}}}; });
  place(cluster, "  spread over 3 racks by targets, 100 jobs of 1000", 100, 1000,
        [](model::Job& job, int) { job.spreads = {{"${meta.rack}", 50, {{"r1", 50}, {"r2", 30}, {"r3", 20}}}}; });
  place(cluster, "  spread evenly over all nodes, 10 jobs of 1000", 10, 1000,
        [](model::Job& job, int) { job.spreads = {{"${node.unique.id}", 50, {}}}; });
  place(cluster, "  a dynamic port each, 100 jobs of 1000", 100, 1000, [](model::Job& job, int) {
    job.groups[0].networks.resize(1);
    job.groups[0].networks[0].dynamic_ports = {{"http"}};
  });
  schedule(cluster, "whole evaluations with rows: service, 100 jobs of 1000", 100, 1000, model::JobType::service);
  schedule(cluster, "whole evaluations with rows: service, 20000 jobs of 1", 20'000, 1, model::JobType::service);
  schedule(cluster, "whole evaluations with rows: system, 10 jobs on all nodes", 10, 1, model::JobType::system);
  full_scan(cluster, 2000);
}
