/// @file
/// What a decision of the elastic policy costs on a large cluster, what choosing victims does, and how the policy does
/// against Slurm without it and against its power saving, on three generated traces in the same run.
/// Usage: elastic_bench [nodes] [pending jobs] [anything: without the traces]

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <functional>
#include <random>

#include "elastic/preemption/victims.hpp"
#include "elastic/simulate/simulation.hpp"
#include "elastic/tick.hpp"
#include "elastic/trace/generator.hpp"

namespace {

using namespace underway;
using namespace std::chrono_literals;

constexpr TimePoint kNow{std::chrono::seconds{1'700'000'000}};
constexpr int kRounds = 15;

/// Of this thread's processor time: what else the machine does must not count.
double cpu_now() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Milliseconds, the median and the longest of some rounds.
std::pair<double, double> measure(const std::function<void()>& work) {
  std::vector<double> took;
  for (int i = 0; i < kRounds; ++i) {
    const double begin = cpu_now();
    work();
    took.push_back((cpu_now() - begin) * 1e3);
  }
  std::sort(took.begin(), took.end());
  return {took[took.size() / 2], took.back()};
}

void report(const std::string& what, std::pair<double, double> took, const char* target) {
  fmt::print("{:<74} {:>8.2f} ms median {:>8.2f} ms longest   target {}\n", what, took.first, took.second, target);
}

elastic::Policy large_policy(std::int64_t nodes) {
  elastic::Policy policy;
  policy.boot_burst = 1000;
  for (int i = 0; i < 8; ++i) {
    elastic::PoolClass type;
    type.name = fmt::format("class-{}", i);
    type.vcpus = 8 << (i % 4);
    type.memory_mb = type.vcpus * 4096;
    type.max_nodes = nodes / 4;
    type.cost_per_hour = fmt::format("0.{:02}", 10 + i);
    if (i % 2 == 1) type.features = {"avx512"};
    policy.classes.push_back(type);
  }
  return policy;
}

elastic::Tick large_tick(const elastic::Policy& policy, std::int64_t nodes, std::int64_t pending, int shapes) {
  std::mt19937_64 random(7);
  elastic::Tick tick;
  tick.now = kNow;
  for (std::int64_t i = 0; i < nodes; ++i) {
    const auto& type =
        policy.classes[static_cast<std::size_t>(i) * policy.classes.size() / static_cast<std::size_t>(nodes)];
    elastic::NodeView node;
    node.name = fmt::format("{}-{}", type.name, i);
    node.class_name = type.name;
    node.phase = i % 20 == 0 ? elastic::NodePhase::idle : elastic::NodePhase::busy;
    node.since = kNow - 30s;
    node.cpus_free = node.phase == elastic::NodePhase::idle ? type.vcpus : static_cast<std::int64_t>(random() % 4);
    node.memory_free_mb = node.phase == elastic::NodePhase::idle ? type.memory_mb : 4096;
    if (node.phase == elastic::NodePhase::busy) {
      node.jobs = {fmt::format("r{}", i)};
      elastic::RunningJob job;
      job.id = node.jobs[0];
      job.nodes = {node.name};
      job.cpus_per_node = type.vcpus - node.cpus_free;
      job.started = kNow - 1h;
      tick.running.push_back(std::move(job));
    }
    tick.nodes.push_back(std::move(node));
  }
  for (std::int64_t i = 0; i < pending; ++i) {
    elastic::PendingJob job;
    const auto shape = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(shapes));
    job.id = std::to_string(1'000'000 + i);
    job.partition = shape % 3 == 0 ? "long" : "batch";
    job.nodes_min = job.nodes_max = shape % 7 == 0 ? 2 + shape % 16 : 1;
    job.cpus = job.nodes_min * (1 + shape % 16);
    job.memory_mb = 1024 * (1 + shape % 9);
    if (shape % 5 == 0) job.features = {"avx512"};
    job.priority = static_cast<std::int64_t>(random() % 100'000);
    job.reason = i % 3 == 0 ? "Resources" : "Priority";
    job.submitted = kNow - std::chrono::seconds(random() % 100'000);
    tick.pending.push_back(std::move(job));
  }
  return tick;
}

void bench_tick(std::int64_t nodes, std::int64_t pending) {
  const auto policy = large_policy(nodes);
  for (const int shapes : {10, 200, 5000}) {
    const auto tick = large_tick(policy, nodes, pending, shapes);
    const auto first = elastic::decide(policy, tick, {});
    report(fmt::format("tick: {} nodes, {} pending jobs of {} shapes, first", nodes, pending, shapes),
           measure([&] { elastic::decide(policy, tick, {}); }), "50 ms");
    report(fmt::format("tick: the same, {} gangs forming", first.state.gangs.size()),
           measure([&] { elastic::decide(policy, tick, first.state); }), "50 ms");
  }
}

void bench_victims() {
  std::mt19937_64 random(11);
  for (const int hosts : {1, 20, 200}) {
    std::vector<elastic::VictimHost> there;
    std::vector<elastic::Candidate> candidates;
    for (int i = 0; i < hosts; ++i) there.push_back({fmt::format("h{}", i), 0, 0, {}, {}});
    for (int i = 0; i < 1000; ++i) {
      elastic::Candidate job;
      job.job = fmt::format("j{}", i);
      job.hosts = {fmt::format("h{}", i % hosts)};
      if (i % 10 == 0 && hosts > 1) job.hosts.push_back(fmt::format("h{}", (i + 1) % hosts));
      job.cpus = 1 + static_cast<std::int64_t>(random() % 16);
      job.memory_mb = 512 + static_cast<std::int64_t>(random() % 16384);
      job.suspend = std::chrono::milliseconds(500 + random() % 60'000);
      candidates.push_back(std::move(job));
    }
    elastic::UrgentNeed need;
    need.job = "urgent";
    need.priority = 1;
    need.nodes = hosts == 1 ? 1 : hosts / 4;
    need.cpus = hosts == 1 ? 2000 : hosts == 20 ? 128 : 16;
    need.memory_mb = need.cpus * 700;
    elastic::Victims chosen;
    const auto took = measure([&] { chosen = elastic::choose_victims(need, there, candidates, {}); });
    report(fmt::format("victims: 1000 candidates on {} hosts, {} chosen for {} nodes, {:.2f} % over the bound", hosts,
                       chosen.jobs.size(), need.nodes,
                       100.0 * static_cast<double>(chosen.cost - chosen.bound) /
                           static_cast<double>(std::max<std::int64_t>(chosen.bound, 1))),
           took, "10 ms");
  }
}

void bench_traces() {
  struct Kind {
    const char* name;
    double median, jobs, bursts;
  };
  for (const auto& kind : {Kind{"steady", 2400, 70, 0}, Kind{"bursty", 1200, 60, 4}, Kind{"short", 180, 1200, 2}}) {
    elastic::TraceSettings generated;
    generated.days = 14;
    generated.jobs_per_day = kind.jobs;
    generated.median_run = kind.median;
    generated.bursts_per_day = kind.bursts;
    const auto trace = elastic::generate_trace(generated);
    elastic::SimulationSettings settings;
    settings.nodes = 32;
    settings.cost_per_hour = "0.40";
    elastic::PoolClass type;
    type.name = "cloud";
    type.vcpus = 16;
    type.memory_mb = 65536;
    type.max_nodes = 64;
    type.cost_per_hour = "0.40";
    type.start_time = 60s;
    settings.policy.classes = {type};
    settings.suspend_time = 5min;
    elastic::SimulationReport simulated;
    const double begin = cpu_now();
    simulated = elastic::simulate(trace, settings);
    const double took = cpu_now() - begin;
    fmt::print("\ntrace '{}': {} jobs in 14 days, 32 static and 64 elastic nodes; simulated five times in {:.2f} s\n{}",
               kind.name, trace.jobs.size(), took, elastic::chart(simulated, 100));
  }
}

std::int64_t number(const char* text, std::int64_t otherwise) {
  std::int64_t value = otherwise;
  const std::string_view all(text);
  std::from_chars(all.data(), all.data() + all.size(), value);
  return value;
}

}  // namespace

int main(int count, char** words) {
  bench_tick(count > 1 ? number(words[1], 10'000) : 10'000, count > 2 ? number(words[2], 100'000) : 100'000);
  bench_victims();
  if (count <= 3) bench_traces();
}
