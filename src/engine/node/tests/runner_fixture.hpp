#pragma once
/// @file
/// An allocation run on fakes: what the agent does, with a clock that moves when told to.

#include "fixture.hpp"

namespace underway::node {

/// One allocation on a node of fakes.
class RunnerTest : public ::testing::Test {
 protected:
  RunnerTest() {
    options.data_dir = directory.path();
    options.secrets_in_memory = false;
    node.name = "n1";
    node.id = "00000000-0000-4000-8000-000000000001";
  }
  ~RunnerTest() override { drop(); }

  void add(StoredOrder order, AllocationState state = {}) {
    files.write_order(kAllocationId, order);
    runner =
        std::make_unique<AllocationRunner>(context, files, std::move(order), std::move(state), [this] { ++reports; });
  }
  void run(StoredOrder order) {
    add(std::move(order));
    runner->start();
    runtime.settle();
  }
  /// What SIGKILL of the agent leaves: files, and tasks that run on.
  void restart_agent() {
    drop();
    std::vector<std::string> problems;
    auto all = files.read_all(problems);
    ASSERT_EQ(problems, std::vector<std::string>{});
    ASSERT_EQ(all.size(), 1u);
    add(std::move(all[0].order), std::move(all[0].state));
    runtime.run(runner->reattach());
    runner->start();
    runtime.settle();
  }
  void drop() {
    if (!runner) return;
    runtime.run(runner->let_go());
    runner.reset();
    runtime.settle();
  }

  model::TaskState state(const std::string& task = "main") { return runner->update().task_states.at(task); }
  model::ClientStatus status() { return runner->update().client_status; }
  FakeTask& process(const std::string& task = "main") { return *drivers.running.at(task); }
  void end(const std::string& task, TaskEnd with) {
    process(task).end(std::move(with));
    runtime.settle();
  }

  TemporaryDirectory directory;
  FakeRuntime runtime;
  FakeDrivers drivers;
  Options options;
  model::Node node;
  model::StringMap host{{"PATH", "/bin"}};
  NodeStats stats;
  RunnerContext context{runtime, drivers, options, node, host, stats};
  StateFiles files{directory.path()};
  std::unique_ptr<AllocationRunner> runner;
  int reports = 0;
};

}  // namespace underway::node
