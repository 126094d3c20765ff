/// A change of a system job on a large cluster, and registrations of all sizes, durable: through the Writer, the
/// scheduler and SQLite, as the server does it, without the network.
/// Usage: rollout_bench [nodes] [directory on the disk to measure]

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "async/loop.hpp"
#include "base/json/json.hpp"
#include "link/frame.hpp"
#include "server/job/deployment_decisions.hpp"
#include "server/node/orders.hpp"
#include "server/testing/desk.hpp"
#include "server/writer.hpp"
#include "store/sqlite_store.hpp"

namespace {

using namespace underway;
using SteadyClock = std::chrono::steady_clock;
using server::testing::make_job;
using server::testing::make_node;

double since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

void report(std::string_view what, std::size_t count, double seconds) {
  fmt::print("{:<64} {:>7} in {:>9.1f} ms {:>11.0f} /s\n", what, count, seconds * 1e3,
             static_cast<double>(count) / seconds);
}

/// The server's heart over a store on the disk.
class Machinery {
 public:
  explicit Machinery(const std::string& directory)
      : store_(directory + "/s.db"),
        writer_((tables_.follow(&fleet_), loop_.executor()), store_, tables_, fleet_, clock_, ids_, true) {}

  /// Returns when the decision, and what was scheduled because of it, is durable.
  template <server::Request R>
  void run(R request) {
    loop_.run_until_done(apply(writer_, std::move(request)));
    finish();
  }
  const tables::Tables& tables() const { return tables_; }

  void register_job(model::Job job) { run(server::RegisterJob{job, {}, {}}); }
  void join(std::size_t nodes) {
    server::testing::PutChanges put;
    for (std::size_t i = 0; i < nodes; ++i) {
      auto node = make_node(static_cast<int>(i + 1), 64'000, 262'144);
      node.status = model::NodeStatus::ready;
      node.computed_class = model::compute_class(node);
      put.changes.push_back(tables::PutNode{std::move(node)});
    }
    run(std::move(put));
  }
  /// All nodes tell that what they shall run does, and is well, `batch` nodes in a decision as one commit takes them.
  void report_well(const std::string& job, std::size_t batch) {
    std::vector<std::pair<std::string, std::string>> reports;
    for (const auto& row : tables_.allocations_of_job("default", job)) {
      if (!row->terminal() && !row->health.healthy) reports.emplace_back(row->node_id, row->id);
    }
    for (std::size_t begin = 0; begin < reports.size(); begin += batch) {
      const std::vector part(reports.begin() + static_cast<std::ptrdiff_t>(begin),
                             reports.begin() + static_cast<std::ptrdiff_t>(std::min(reports.size(), begin + batch)));
      loop_.run_until_done(tell(part));
      finish();
    }
  }

 private:
  /// Until everything that was to be scheduled is, and durable.
  void finish() {
    while (pending()) {
      loop_.context().restart();
      loop_.context().run_one();
    }
    loop_.run_until_done(settle(writer_));
  }
  template <server::Request R>
  static async::awaitable<void> apply(server::Writer& writer, R request) {
    co_await writer.apply(std::move(request));
  }
  static async::awaitable<void> settle(server::Writer& writer) { co_await writer.settled(); }
  async::awaitable<void> tell(std::vector<std::pair<std::string, std::string>> reports) {
    const auto all_of_them = [reports](const server::Tables& t, const server::Context& c) {
      server::Decision<server::Nothing> all;
      for (const auto& [node, id] : reports) {
        auto one = decide(
            t, server::UpdateAllocations{node, {server::testing::report(id, model::ClientStatus::running, true)}}, c);
        std::move(one.changes.begin(), one.changes.end(), std::back_inserter(all.changes));
      }
      return all;
    };
    co_await writer_.apply(server::testing::asked(all_of_them));
  }
  bool pending() const {
    const auto rows = tables_.pending_evaluations();
    return std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row->wait_until == 0; });
  }

  async::Loop loop_;
  store::SqliteStore store_;
  tables::Tables tables_;
  scheduler::Fleet fleet_;
  SystemClock clock_;
  SystemIds ids_;
  server::Writer writer_;
};

model::Job system_job(const std::string& version, bool watched, std::size_t nodes) {
  model::Job job = make_job("slurmd", 1, model::JobType::system);
  job.groups[0].tasks[0].env["VERSION"] = version;
  if (watched) job.update.emplace().max_parallel = static_cast<std::int64_t>(nodes);
  return job;
}

/// A change everywhere at once: durable, then computed and encoded for every node.
void change_everywhere(const std::string& directory, std::size_t nodes, bool watched) {
  Machinery machinery(directory);
  machinery.join(nodes);
  std::vector<server::Orders> orders;
  server::Dependents dependents;
  const auto send_all = [&] {
    std::size_t bytes = 0;
    for (auto& order : orders) {
      if (const auto message = order.next(machinery.tables(), dependents))
        bytes += link::encode(link::Notification{"allocations", json::to_value(*message, json::Encoding::compact)})
                     .data.size();
    }
    return bytes;
  };
  for (const auto& node : machinery.tables().nodes()) orders.emplace_back(node->id);
  const char* how = watched ? "watched" : "not watched";
  auto start = SteadyClock::now();
  machinery.register_job(system_job("a", watched, nodes));
  report(fmt::format("system job, {}: registered, placed, durable", how), nodes, since(start));
  send_all();
  machinery.report_well("slurmd", 256);
  start = SteadyClock::now();
  machinery.register_job(system_job("b", watched, nodes));
  const double durable = since(start);
  report(fmt::format("system job, {}: changed, replaced, durable", how), nodes, durable);
  const std::size_t bytes = send_all();
  const double told = since(start);
  report(fmt::format("system job, {}: changed, every node's orders encoded", how), nodes, told);
  fmt::print("{:<64} {:>7.1f} MiB\n", "  bytes to the nodes", static_cast<double>(bytes) / 1048576);
  if (!watched) return;
  start = SteadyClock::now();
  machinery.report_well("slurmd", 256);
  report("system job, watched: every node tells that it is well, durable", nodes, since(start));
}

void registrations(const std::string& directory, std::size_t nodes) {
  Machinery machinery(directory);
  machinery.join(nodes);
  int number = 0;
  for (const auto& [tasks, times] : {std::pair{1, 200}, {100, 50}, {10'000, 5}}) {
    std::vector<double> waits;
    for (int i = 0; i < times; ++i) {
      model::Job job = make_job(fmt::format("job-{}", ++number), tasks);
      job.groups[0].tasks[0].resources = {.cpu = 10, .memory_mb = 16};
      const auto start = SteadyClock::now();
      machinery.register_job(std::move(job));
      waits.push_back(since(start));
    }
    std::sort(waits.begin(), waits.end());
    const double median = waits[waits.size() / 2];
    report(fmt::format("service of {}: registered, placed, durable (median of {})", tasks, times),
           static_cast<std::size_t>(tasks), median);
  }
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::size_t nodes = 10'000;
  if (argc > 1) std::from_chars(argv[1], argv[1] + std::string_view(argv[1]).size(), nodes);
  std::string directory = fs::absolute(fs::path(argc > 2 ? argv[2] : ".") / "rollout-bench-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) return 1;
  fmt::print("{} nodes; SQLite in {}\n", nodes, directory);
  int part = 0;
  const auto in_part = [&](auto run) {
    const std::string path = directory + "/" + std::to_string(++part);
    fs::create_directory(path);
    run(path);
  };
  in_part([&](const std::string& path) { change_everywhere(path, nodes, false); });
  in_part([&](const std::string& path) { change_everywhere(path, nodes, true); });
  in_part([&](const std::string& path) { registrations(path, nodes); });
  std::error_code ignored;
  fs::remove_all(directory, ignored);
}
