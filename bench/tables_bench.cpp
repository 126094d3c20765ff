/// Tables: how fast changes apply and load, and what an allocation and a waiter weigh.
/// Usage: tables_bench [allocations]

#include "store/memory_store.hpp"
#include "tables/tables.hpp"

#include "base/json/json.hpp"
#include "base/random.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <time.h>

#include <random>

namespace {

using namespace underway;
using tables::Change;
/// Processor time: the bench has one thread, and a busy machine should not show.
struct Clock {
  static double now() {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  }
};
constexpr std::int64_t kNodes = 10'000, kJobs = 1'000, kBatch = 1'024;

double seconds_since(double start) { return Clock::now() - start; }
/// Bytes that are allocated now.
double heap() {
  const auto info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

model::Job job(std::int64_t i) {
  model::Job j;
  j.id = j.name = fmt::format("service-{}", i);
  j.groups.resize(1);
  j.groups[0].name = "group";
  j.groups[0].tasks.resize(1);
  j.groups[0].tasks[0].name = "task";
  j.groups[0].tasks[0].driver = "exec";
  return j;
}

/// As the scheduler places it and a node reports it: one task, one port, running, three events.
model::Allocation running(std::int64_t i, const std::vector<std::string>& nodes, const std::string& eval,
                          IdSource& ids) {
  model::Allocation a;
  a.id = ids.uuid();
  a.eval_id = eval;
  a.job_id = fmt::format("service-{}", i % kJobs);
  a.group = "group";
  a.name = model::allocation_name(a.job_id, a.group, i / kJobs);
  a.node_id = nodes[static_cast<std::size_t>(i) % nodes.size()];
  a.node_name = fmt::format("node-{}", i % kNodes);
  a.resources.tasks["task"] = {.cpu = 100, .memory_mb = 300};
  a.resources.ports.push_back({"http", 20'000 + i % 12'000, 0, "10.0.0.1"});
  a.client_status = model::ClientStatus::running;
  a.task_states["task"].state = model::TaskRunState::running;
  for (const char* type : {"Received", "Task Setup", "Started"})
    a.task_states["task"].events.push_back({type, 1'700'000'000'000'000'000 + i, "Task started by client", {}});
  a.metrics.nodes_evaluated = 14;
  a.metrics.scores.push_back({a.node_id, 0.5, {{"binpack", 0.5}}});
  a.create_time = a.modify_time = 1'700'000'000'000'000'000 + i;
  return a;
}

class Bench {
 public:
  explicit Bench(std::int64_t count) : count_(count) {}

  void run() {
    fmt::print("rates are per second of processor time\n");
    fmt::print("sizeof(Allocation) {} of which AllocMetric {}\n", sizeof(model::Allocation),
               sizeof(model::AllocMetric));
    prepare();
    place();
    update();
    load();
    wait();
  }

 private:
  void commit(std::vector<Change> changes) {
    store::Transaction transaction;
    transaction.then = tables_.apply(std::move(changes), store_.revision() + 1);
    store_.commit(std::move(transaction), [](const store::Store::CommitResult&) {});
    store_.step();
    tables_.publish();
  }

  void prepare() {
    std::vector<Change> changes;
    for (std::int64_t i = 0; i < kJobs; ++i) changes.emplace_back(tables::PutJob{job(i), {}});
    for (std::int64_t i = 0; i < kNodes; ++i) {
      model::Node n;
      n.id = nodes_.emplace_back(ids_.uuid());
      n.name = fmt::format("node-{}", i);
      changes.emplace_back(tables::PutNode{std::move(n)});
    }
    commit(std::move(changes));
  }

  /// Applies alone, with the operations thrown away: the store's share would hide the tables'.
  void place() {
    const double before = heap();
    double applying = 0;
    std::size_t bytes = 0;
    tables::Revision revision = store_.revision();
    for (std::int64_t done = 0; done < count_; done += kBatch) {
      const std::string eval = ids_.uuid();
      std::vector<Change> changes;
      for (std::int64_t i = done; i < std::min(done + kBatch, count_); ++i)
        changes.emplace_back(tables::PutAllocation{running(i, nodes_, eval, ids_)});
      const auto start = Clock::now();
      const auto operations = tables_.apply(std::move(changes), ++revision);
      applying += seconds_since(start);
      for (const auto& operation : operations) bytes += std::get<store::Put>(operation).value.size();
    }
    const double n = static_cast<double>(count_);
    fmt::print("place {} allocations: {:.0f} / s (encoding included), {:.0f} bytes of JSON each\n", count_,
               n / applying, static_cast<double>(bytes) / n);
    const double total = (heap() - before) / n;
    rows_and_indexes(total);
  }

  /// The rows' own share: copies of them in a plain vector.
  void rows_and_indexes(double total) {
    const std::size_t sample = static_cast<std::size_t>(std::min<std::int64_t>(count_, 100'000));
    const auto all = tables_.allocations();
    const double before = heap();
    std::vector<std::shared_ptr<const model::Allocation>> copies;
    copies.reserve(sample);
    for (std::size_t i = 0; i < sample; ++i) copies.push_back(std::make_shared<const model::Allocation>(*all[i]));
    const double row = (heap() - before) / static_cast<double>(sample) - sizeof(copies[0]);
    fmt::print("memory per allocation: {:.0f} bytes, of which the row {:.0f}, the indexes {:.0f}\n", total, row,
               total - row);
  }

  void update() {
    std::mt19937_64 random(2);
    const auto all = tables_.allocations();
    const std::int64_t updates = std::min<std::int64_t>(count_, 200'000);
    double applying = 0;
    tables::Revision revision = tables_.revision();
    for (std::int64_t done = 0; done < updates; done += kBatch) {
      std::vector<Change> changes;
      for (std::int64_t i = 0; i < kBatch; ++i) {
        auto row = *tables_.find_allocation(all[random() % all.size()]->id);
        row.task_states["task"].restarts += 1;
        changes.emplace_back(tables::PutAllocation{std::move(row)});
      }
      const auto start = Clock::now();
      tables_.apply(std::move(changes), ++revision);
      applying += seconds_since(start);
    }
    fmt::print("update {} allocations at random: {:.0f} / s\n", updates, static_cast<double>(updates) / applying);
  }

  void load() {
    const auto all = tables_.allocations();
    const std::size_t sample = std::min<std::size_t>(all.size(), 100'000);
    store::MemoryStore store(store::MemoryStore::Mode::stepped);
    tables::Tables source;
    std::vector<Change> changes;
    for (std::size_t i = 0; i < sample; ++i) changes.emplace_back(tables::PutAllocation{*all[i]});
    store::Transaction transaction;
    transaction.then = source.apply(std::move(changes), 1);
    store.commit(std::move(transaction), [](const store::Store::CommitResult&) {});
    store.step();
    tables::Tables loaded;
    const auto start = Clock::now();
    loaded.load(store);
    fmt::print("load {} allocations: {:.0f} / s\n", sample, static_cast<double>(sample) / seconds_since(start));
  }

  void wait() {
    constexpr int kWaiters = 10'000;
    std::vector<std::unique_ptr<tables::Tables::Waiter>> waiters;
    waiters.reserve(kWaiters);
    int woken = 0;
    const double before = heap();
    for (int i = 0; i < kWaiters; ++i)
      waiters.push_back(
          tables_.wait({{tables::Topic::allocations, "node:" + nodes_[static_cast<std::size_t>(i) % nodes_.size()]}},
                       [&woken] { ++woken; }));
    fmt::print("memory per waiter, each on a scope of its own: {:.0f} bytes\n", (heap() - before) / kWaiters);
    const auto start = Clock::now();
    for (int i = 0; i < 1'000; ++i) {
      auto row = *tables_.allocations_on_node(nodes_[static_cast<std::size_t>(i)]).front();
      tables_.apply({tables::PutAllocation{std::move(row)}}, tables_.revision() + 1);
      tables_.publish();
    }
    fmt::print("wake {} of {}: {:.1f} us each, with the change\n", woken, kWaiters, seconds_since(start) * 1e6 / 1'000);
  }

  const std::int64_t count_;
  SeededIds ids_{1};
  std::vector<std::string> nodes_;
  store::MemoryStore store_{store::MemoryStore::Mode::stepped};
  tables::Tables tables_;
};

}  // namespace

int main(int argc, char** argv) { Bench(argc > 1 ? std::stoll(argv[1]) : 1'000'000).run(); }
